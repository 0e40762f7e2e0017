"""Laws of the layer views: traces and ranks do not mix, order is no matter, parts sum to the whole."""

import json
import re
import shutil

import pytest

from tracelake.engine.sql import module_files, modules
from tracelake.lake import Lake
from tracelake.synthetic.gpu import gpu_config, gpu_trace

from ...lakes import Own, in_one_lake, ingest_at_once, set_at_once
from ...lint_sql import read_header
from ..captures import Capture, as_text, captured, open_lake, rows

EVENTS = gpu_trace()["traceEvents"]
SETTINGS = {"config": json.dumps(gpu_config())}
KEYS = {
    "anchors": "anchor_index",
    "passes": "pass_id",
    "layers": "pass_id, layer_id",
    "layer_halves": "pass_id, layer_id, half",
    "layer_kernels": "pass_id, layer_id, position",
    "pass_parts": "pass_id, part",
}


#: Each view of a file of its own, and the file.
FILES = {
    entry.name: entry.path
    for entry in modules.modules()
    if (entry.folder, entry.kind, entry.path.stem) == ("layers", "VIEW", entry.name)
}


def contents(lake, view, where="TRUE", columns="* EXCLUDE (trace_id, rank, device)"):
    return rows(lake, f"SELECT {columns} FROM {view} WHERE {where} ORDER BY {KEYS[view]}")


def on_device(device, events=EVENTS):
    return [{**event, "args": {**event.get("args", {}), "device": device}} for event in events]


@pytest.fixture(scope="module")
def lake():
    return open_lake([Capture("one", EVENTS, SETTINGS)])


@pytest.fixture(scope="module")
def full_lake():
    """The same trace under other ids and ranks, one of them short of a pass, one with two devices."""
    return open_lake([
        Capture("one", EVENTS, SETTINGS),
        Capture("two", EVENTS, SETTINGS, rank=0),
        Capture("two_again", EVENTS, SETTINGS, rank=1),
        Capture("short", [event for event in EVENTS if event["ts"] < 240000], SETTINGS),
        Capture("unknown", EVENTS, {"anchor": "no_such_kernel"}),
        Capture("devices", [*EVENTS, *on_device(1, EVENTS[1:])], SETTINGS),
    ])  # fmt: skip


@pytest.mark.parametrize("view", KEYS)
@pytest.mark.parametrize(
    "where", ["trace_id = $one", "trace_id = $two", "rank = 1", "trace_id = $devices AND device = 0"]
)
def test_a_trace_rank_or_device_reads_the_same_beside_others_as_alone(lake, full_lake, view, where):
    assert contents(full_lake, view, where) == contents(lake, view)


def test_two_devices_of_one_file_have_the_same_layers(full_lake):
    where = "trace_id = $devices AND device = {}"
    assert contents(full_lake, "layers", where.format(1)) == contents(full_lake, "layers", where.format(0))


@pytest.fixture(scope="module")
def backwards():
    return open_lake([Capture("one", EVENTS[::-1], SETTINGS)])


@pytest.mark.parametrize("view", KEYS)
def test_the_order_of_events_in_the_file_does_not_matter(lake, backwards, view):
    # A kernel's id is its place in the file: the n-th from the end is the n-th.
    columns = "* EXCLUDE (trace_id, rank, device)"
    if any(column == "kernel_id" for column, *_ in rows(lake, f"DESCRIBE {view}")):
        columns += f" REPLACE ({len(EVENTS) - 1} - kernel_id AS kernel_id)"
    assert contents(backwards, view, columns=columns) == contents(lake, view)


@pytest.mark.parametrize("view", KEYS)
def test_keys_are_unique(full_lake, view):
    doubles = f"SELECT trace_id FROM {view} GROUP BY trace_id, rank, device, {KEYS[view]} HAVING count(*) > 1"
    assert rows(full_lake, doubles) == []


@pytest.mark.parametrize("anchor", ["mhc_post_tilelang", "flash_fwd_mla_combine", "RMSNorm", "AllReduce"])
@in_one_lake
def test_every_kernel_of_the_stream_is_in_one_layer_or_one_part(tmp_path, anchor):
    lake = yield captured(tmp_path, Capture("one", EVENTS, {**SETTINGS, "anchor": anchor}))
    whole = rows(lake, "SELECT count(*), sum(dur_ns) / 1000.0 FROM kernels")
    parts = rows(
        lake,
        "SELECT sum(kernel_count), sum(sum_us) FROM (SELECT kernel_count, sum_us FROM layers "
        "UNION ALL SELECT kernel_count, sum_us FROM pass_parts)",
    )
    assert parts == whole


@pytest.mark.parametrize("view", ["layer_halves", "layer_kernels"])
def test_halves_and_kernels_sum_to_their_layer(full_lake, view):
    measure = "dur_us" if view == "layer_kernels" else "sum_us"
    odd = rows(
        full_lake,
        "SELECT layers.layer_id FROM layers JOIN "
        f"(SELECT trace_id, rank, device, pass_id, layer_id, sum({measure}) AS s FROM {view} GROUP BY ALL) AS p "
        "ON p.trace_id = layers.trace_id AND p.pass_id = layers.pass_id "
        "AND p.layer_id = layers.layer_id AND p.device = layers.device "
        "AND p.rank IS NOT DISTINCT FROM layers.rank WHERE s <> sum_us",
    )
    assert odd == []


def test_one_pass_is_chosen_per_device(full_lake):
    found = rows(full_lake, "SELECT count(*) FILTER (chosen) FROM passes GROUP BY trace_id, rank, device")
    assert found == [(1,)] * 6


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    """A folder with a lake of one trace for every seventh kernel as the last, and the traces' ids."""
    folder = tmp_path_factory.mktemp("cuts")
    paths = []
    for end in [*range(20, len(EVENTS), 7), len(EVENTS) - 1]:
        paths.append(folder / f"{end:03}.json")
        paths[-1].write_text(as_text(f"{end:03}", EVENTS[: end + 1]))
    with Lake(folder / "lake") as made:
        ids = ingest_at_once(made, {path: {} for path in paths})
    return folder / "lake", dict(zip((path.stem for path in paths), ids, strict=True))


@pytest.mark.parametrize(
    "anchor",
    [{}, {"anchor": "mhc_post_tilelang"}, {"anchor": "flash_fwd_mla_combine", "anchor_role": "inside"}],
)
def test_a_capture_that_ends_anywhere_keeps_its_complete_passes_as_they_are(lake, cuts, tmp_path, anchor):
    # Without an anchor those of the profile are tried.
    folder, ids = cuts
    complete = "SELECT DISTINCT trace_id, pass_id FROM passes WHERE complete"
    layers = "SELECT * EXCLUDE (trace_id, series) FROM layers"
    with Lake(shutil.copytree(folder, tmp_path / "lake")) as made:
        set_at_once(made, dict.fromkeys(ids.values(), SETTINGS | anchor))
        own = Own(made, ids)
        found = rows(own, f"{layers} SEMI JOIN ({complete}) AS p USING (trace_id, pass_id)")
        assert set(found) == set(rows(lake, layers))
        partial = "SELECT trace_id FROM passes WHERE NOT complete GROUP BY trace_id HAVING count(*) > 1"
        assert rows(own, partial) == []


@pytest.mark.parametrize("view", FILES)
def test_the_header_describes_the_columns_that_are_there(lake, view):
    header, _ = read_header(module_files.statements(FILES[view].read_text())[-1])
    described = [(name, kind) for name, kind, _, _ in header.columns]
    # Of nested types the outer one is documented.
    found = [(row[0], re.sub(r"^(STRUCT|MAP)\(.*\)", r"\1", row[1])) for row in rows(lake, f"DESCRIBE {view}")]
    assert described == found


@in_one_lake
def test_an_anchor_that_only_a_profile_knows_stands_where_that_says(tmp_path, lake):
    # Without a config the kernel has no category; that it ends a half is in the profile.
    own = yield captured(tmp_path, Capture("named", EVENTS, {"anchor": "mhc_post_tilelang", "num_layers": 6}))
    assert rows(own, "SELECT role, blocks_per_layer FROM anchor_candidates WHERE chosen") == [("end", 2)]
    whole = "SELECT pass_id, layer_id, start_ns, end_ns, kernel_count FROM layers ORDER BY pass_id, layer_id"
    assert rows(own, whole) == rows(lake, whole)


@in_one_lake
def test_a_capture_that_begins_inside_a_pass_numbers_the_passes_behind_it_alike(tmp_path, lake):
    # By its config, whose profile has no category for what opens and ends a pass.
    whole = "SELECT start_ns, end_ns, layer_id, kernel_count FROM layers WHERE pass_id >= 1 ORDER BY start_ns"
    [(begin,)] = rows(lake, "SELECT start_ns FROM layers WHERE pass_id = 0 AND layer_id = 3")
    events = [event for event in EVENTS if event["ph"] != "X" or event["ts"] * 1000 >= begin]
    own = yield captured(tmp_path, Capture("begun", events, SETTINGS))
    assert rows(own, "SELECT complete, layer_count FROM passes ORDER BY pass_id")[:2] == [(False, 3), (True, 6)]
    assert rows(own, whole) == rows(lake, whole)
    assert rows(own, "SELECT layer_id FROM layers WHERE pass_id = 0 ORDER BY start_ns") == [(3,), (4,), (5,)]


def test_a_capture_that_ends_within_a_layer_keeps_that_layers_kernels(lake, cuts, tmp_path):
    # The second pass shows the layers of the first. Until its first half ends, a pass may be the end of the last one.
    folder, ids = cuts
    placed = "SELECT start_ns, pass_id, layer_id, half FROM layer_kernels"
    whole = rows(lake, placed)
    halves = [[start for start, *at in whole if at == [pass_id, 0, "attn"]] for pass_id in range(5)]
    with Lake(shutil.copytree(folder, tmp_path / "lake")) as made:
        set_at_once(made, dict.fromkeys(ids.values(), SETTINGS | {"anchor": "mhc_post_tilelang"}))
        for end, one in ids.items():
            last = EVENTS[int(end)]["ts"] * 1000
            if last > min(halves[1]) and not any(min(half) <= last < max(half) for half in halves):
                expected = {row for row in whole if row[0] <= last}
                assert set(rows(Own(made, {end: one}), placed)) == expected, end


@in_one_lake
def test_only_the_layer_within_which_a_capture_ends_is_not_complete(tmp_path, lake):
    assert rows(lake, "SELECT count(*) FILTER (NOT is_whole), count(*) FROM layers") == [(0, 30)]
    [(end,)] = rows(lake, "SELECT end_ns FROM layer_halves WHERE pass_id = 3 AND layer_id = 2 AND half = 'attn'")
    events = [event for event in EVENTS if event["ph"] != "X" or event["ts"] * 1000 < end]
    own = yield captured(tmp_path, Capture("ended", events, SETTINGS))
    found = rows(own, "SELECT pass_id, layer_id FROM layers WHERE NOT is_whole")
    assert (found, rows(own, "SELECT count(*) FROM layers")) == ([(3, 2)], [(21,)])
