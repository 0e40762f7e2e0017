"""Annotations that do not nest, with each other or with Python frames. Times in microseconds."""

import json
import random
from collections import Counter

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


def idle_until(at, calls):
    """Return events with a device that is idle from 10 until shortly after a launch, beside calls of the host."""
    return [*calls, launch(0, 1), kernel("k1", 2, 8, 1), launch(at, 2), kernel("k2", at + 9, 10, 2)]


def not_issued(lake):
    """Return by activity the time in which the next operation was not launched."""
    query = "SELECT host_activity, idle_us FROM idle_causes WHERE cause = 'launch not issued'"
    return dict(lake.rows(query))


@in_one_lake
def test_a_frame_in_which_a_range_begins_has_no_idle_time_after_its_end(tmp_path):
    calls = [
        host("python_function", "main", 5, 300), host("python_function", "__enter__", 20, 30),
        host("user_annotation", "load_batch", 30, 200), host("python_function", "__exit__", 220, 30),
    ]  # fmt: skip
    (tmp_path / "frames.json").write_text(json.dumps({"traceEvents": idle_until(300, calls)}))
    lake = yield tmp_path / "frames.json"
    # Idle before the launch: 10-300. __enter__ 20-30, load_batch 30-220, __exit__ 220-250, main the rest.
    assert not_issued(lake) == {"main": 60, "__enter__": 10, "load_batch": 190, "__exit__": 30}


@in_one_lake
def test_of_calls_that_cross_the_latest_to_have_started_of_those_that_run_has_the_idle_time(tmp_path):
    chance = random.Random(11)
    spans = [(start, start + chance.choice([3, 40, 700])) for start in chance.sample(range(5, 4000), 300)]
    calls = [host("user_annotation", f"s{start}", start, end - start) for start, end in spans]
    (tmp_path / "chance.json").write_text(json.dumps({"traceEvents": idle_until(5000, calls)}))
    lake = yield tmp_path / "chance.json"
    latest = (max((start for start, end in spans if start <= at < end), default=None) for at in range(10, 5000))
    assert not_issued(lake) == Counter(f"s{start}" if start else None for start in latest)
