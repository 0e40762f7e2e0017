"""Annotations that do not nest: NVTX ranges have a stack per domain, or none. Times in microseconds."""

import json
import random

from ...lakes import Files, in_one_lake
from .test_regions import host, kernel, launch


def written(folder, name, scopes, launches):
    """Write a trace of annotations and launches, each of a kernel of 10 that is named after the launch's time."""
    events = [host("user_annotation", called, start, end - start) for called, start, end in scopes]
    for number, at in enumerate(launches, 1):
        events += [launch(at, number), kernel(f"at_{at}", 100_000 + number * 10, 10, number)]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def paths_of(lake, name):
    query = "SELECT path, calls, inclusive_us FROM regions WHERE trace_id = $1 ORDER BY path"
    return lake.rows(query, [lake.ids[name]])


@in_one_lake
def test_a_range_that_crosses_the_end_of_another_moves_no_launch_into_what_is_over(tmp_path):
    steps = [0, 1000, 2000]
    work = [scope for at in steps for scope in (("forward", at + 100, at + 399), ("backward", at + 400, at + 800))]
    ranges = {
        "alone": [],
        "into the next": [("prefetch", at + 300, at + 700) for at in steps],
        "beyond it": [("prefetch", at + 300, at + 900) for at in steps],
        "into the next step": [("prefetch", at + 750, at + 1150) for at in steps],
        "around": [("epoch", 50, 2900)],
    }
    launches = [at + offset for at in steps for offset in (120, 220, 320, 420, 520, 620, 720)]
    lake = yield Files(*(written(tmp_path, name, work + more, launches) for name, more in ranges.items()))
    # In each of three steps three launches of 10 in the forward pass, four in the backward pass.
    right = [("backward", 12, 120), ("forward", 9, 90)]
    assert {name: paths_of(lake, name) for name in ranges if name != "around"} == dict.fromkeys(
        [name for name in ranges if name != "around"], right
    )
    assert paths_of(lake, "around") == [
        ("epoch", 21, 210), ("epoch=>backward", 12, 120), ("epoch=>forward", 9, 90)
    ]  # fmt: skip


@in_one_lake
def test_an_end_one_microsecond_late_is_rounding(tmp_path):
    lake = yield written(tmp_path, "rounded", [("outer", 0, 100), ("inner", 50, 101)], [60])
    assert lake.rows("SELECT path FROM regions ORDER BY path") == [("outer",), ("outer=>inner",)]


@in_one_lake
def test_a_launch_is_in_no_annotation_that_is_not_running(tmp_path):
    chance = random.Random(7)
    starts = [chance.randrange(5000) for _ in range(150)]
    scopes = [(f"s{nth}", start, start + chance.randrange(1, 400)) for nth, start in enumerate(starts)]
    times = {name: (start, end) for name, start, end in scopes}
    lake = yield written(tmp_path, "many", scopes, chance.sample(range(5400), 300))
    found = lake.rows("SELECT name, path FROM _device_ops WHERE path IS NOT NULL")
    assert len(found) > 100
    # Up to the microsecond of rounding.
    assert [
        (name, scope)
        for name, path in found
        for scope in path.split("=>")
        if not times[scope][0] <= int(name.removeprefix("at_")) <= times[scope][1] + 1
    ] == []
