"""A trace in Perfetto's format, read back by protobuf: all that the tables say, where they say, and nothing else."""

import json
import shutil
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracelake
from tracelake.engine.errors import UsageError
from tracelake.reports.perfetto import trace as drawing
from tracelake.reports.perfetto import wire
from tracelake.reports.perfetto.tracks import Line
from tracelake.synthetic.gpu import gpu_config, gpu_trace
from tracelake.synthetic.prefill import HBM_GBPS, LAYERS, MODEL, PEAK_TFLOPS, PRODUCTS, prefill_trace
from tracelake.synthetic.ranks import Rank, write_ranks

from ...perfetto_files import read
from ...support import data_file
from ..test_names_are_text import ACTS

HOSTILE = "k\x1b[31m\u202e<script>alert(1)</script>"


def on_second_device(event):
    """Return what device 1 does, launched by another thread: the same, half a microsecond later."""
    args = dict(event["args"], correlation=event["args"].get("correlation", 0) + 100_000)
    if event["cat"] == "kernel":
        return {**event, "pid": 1, "ts": event["ts"] + 0.5, "args": {**args, "device": 1}}
    args |= {"External id": event["args"].get("External id", 0) + 100_000}
    return {**event, "tid": 2, "ts": event["ts"] + 0.25, "args": args}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Two traces of two devices: passes with layers and halves on one, launches and work that is known on the other."""
    folder = tmp_path_factory.mktemp("perfetto")
    halves = gpu_trace()
    first = [event for event in halves["traceEvents"] if event["cat"] == "kernel"]
    second = [{**event, "pid": 1, "ts": event["ts"] + 1, "args": {**event["args"], "device": 1}} for event in first]
    # On a stream of its own each kernel begins before the one before it has ended.
    crossing = [
        {**event, "tid": 9, "name": HOSTILE, "ts": event["ts"] + shift, "args": {"device": 1, "stream": 9}}
        for event in second[-139:-136]
        for shift in (0, 50)
    ]
    calls = [
        {"ph": "X", "cat": "python_function", "name": name, "pid": 5, "tid": 6, "ts": ts, "dur": dur}
        for name, ts, dur in (
            ("main", 0, 100), ("step", 10, 40), (HOSTILE, 10, 40), ("leaf", 50, 0),
            ("crosses", 90, 20), ("next", 110, 5),
        )
    ]  # fmt: skip
    moment = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 5, "tid": 6, "ts": 12.5, "s": "t"}
    halves["traceEvents"] += [*second, *crossing, *calls, moment]
    (folder / "halves.json").write_text(json.dumps(halves))
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    work = prefill_trace()
    work["traceEvents"] += [on_second_device(event) for event in work["traceEvents"]]
    work["traceEvents"] = [event for event in work["traceEvents"] if event["name"] != "aten::argmax"]
    (folder / "work.json").write_text(json.dumps(work))
    early = [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": ts, "dur": 2, "args": {"device": 0}}
        for ts in (-10, 5)
    ]
    (folder / "early.json").write_text(json.dumps({"traceEvents": early}))
    opened = tracelake.open(folder / "lake")
    opened.ingest(folder / "early.json")
    opened.ingest(folder / "halves.json", model=folder / "config.json")
    opened.ingest(folder / "work.json", model=MODEL)
    opened.ingest(*write_ranks(folder, [Rank(), Rank(clock_us=5000), Rank(clock_us=-700)], steps=3), run="three")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def files(lake, tmp_path_factory):
    """Each trace written whole and read back."""
    folder = tmp_path_factory.mktemp("files")
    found = {}
    for name in ("halves", "work"):
        written = lake.write_perfetto(name, folder / f"{name}.pftrace")
        found[name] = read(written.path)
        values = sum(map(len, found[name].counters.values()))
        assert written.events == len(found[name].slices) + len(found[name].moments) + values
    return found


def rows(lake, trace, query):
    return lake.rows(query.replace("$trace", f"(SELECT trace_id FROM traces WHERE trace = '{trace}')"))


@pytest.mark.parametrize("trace", ["halves", "work"])
def test_every_pass_layer_and_half_is_on_the_track_of_its_device_and_inside_its_parent(lake, files, trace):
    devices = (0, 1)
    for device in devices:
        drawn = defaultdict(list)
        for found in files[trace].on(f"device {device}", "passes"):
            above = found.around and found.around.name
            drawn[found.category].append((found.start_ns, found.end_ns, found.name.split()[0], above))
        condition = f"WHERE trace_id = $trace AND device = {device}"
        passes = rows(lake, trace, f"SELECT start_ns, end_ns, pass_id FROM passes {condition} ORDER BY ALL")
        layers = rows(lake, trace, f"SELECT start_ns, end_ns, pass_id FROM layers {condition} ORDER BY ALL")
        halves = rows(
            lake, trace,
            f"SELECT h.start_ns, h.end_ns, half, l.layer_id FROM layer_halves AS h "
            f"JOIN layers AS l USING (trace_id, device, pass_id, layer_id) {condition} AND half <> 'full' ORDER BY ALL",
        )  # fmt: skip
        parts = rows(
            lake, trace, f"SELECT start_ns, end_ns, part FROM pass_parts {condition} AND part <> 'between' ORDER BY ALL"
        )
        assert len(layers) == {"halves": 5 * 6, "work": LAYERS}[trace]
        assert sorted(drawn["pass"]) == [(start, end, "pass", None) for start, end, _ in passes]
        assert sorted(drawn["layer"]) == [(start, end, "layer", f"pass {of}") for start, end, of in layers]
        assert sorted((one[:3], one[3].split()[1]) for one in drawn["half"]) == [
            (one[:3], str(one[3])) for one in halves
        ]
        outside = [one for kind in ("prologue", "epilogue", "gap") for one in drawn[kind]]
        assert sorted(outside) == [(start, end, part, None) for start, end, part in parts]
    assert len(files["halves"].on("device 0", "passes")) > len(files["halves"].on("device 0", "steps")) > 0


@pytest.mark.parametrize("trace", ["halves", "work"])
def test_steps_idle_time_and_findings_are_where_the_tables_say(lake, files, trace):
    for device in (0, 1):
        condition = f"WHERE trace_id = $trace AND device = {device} ORDER BY ALL"
        for track, query in (
            ("steps", "SELECT start_ns, end_ns, step_id FROM (FROM steps WHERE start_ns IS NOT NULL)"),
            ("idle", "SELECT start_ns, end_ns, cause FROM gaps"),
        ):
            expected = rows(lake, trace, f"{query} {condition}")
            found = files[trace].on(f"device {device}", track)
            assert expected
            assert sorted((one.start_ns, one.end_ns) for one in found) == [row[:2] for row in expected]
            assert Counter(one.args.get("step_id") if track == "steps" else one.name for one in found) == Counter(
                row[2] for row in expected
            )
    expected = rows(lake, trace, "SELECT title, evidence FROM findings WHERE trace_id = $trace")
    found = files[trace].on("findings")
    assert Counter((one.name, one.args["evidence"]) for one in found) == Counter(expected)
    [(start, end)] = rows(lake, trace, "SELECT start_ns, end_ns FROM traces WHERE trace_id = $trace")
    assert {(one.start_ns, one.end_ns) for one in found} == {(start, end)}


@pytest.mark.parametrize("trace", ["halves", "work"])
def test_every_operation_is_on_its_stream_and_every_call_on_its_thread(lake, files, trace):
    kernels = rows(
        lake, trace, "SELECT kernel_id, device, stream, start_ns, end_ns FROM kernels WHERE trace_id = $trace"
    )
    found = {
        one.args["event_id"]: one
        for one in files[trace].slices
        if one.track[0].startswith("device") and one.track[1].startswith("stream")
    }
    assert len(found) == len(kernels) > 500
    for kernel_id, device, stream, start_ns, end_ns in kernels:
        one = found[kernel_id]
        assert one.track[0] == f"device {device}"
        assert one.track[1].split(",")[0] == f"stream {stream}"
        assert (one.start_ns, one.end_ns, one.around) == (start_ns, end_ns, None)
    calls = rows(
        lake, trace,
        "SELECT event_id, start_ns, end_ns FROM events WHERE trace_id = $trace AND lane <> 'device' AND ph = 'X'",
    )  # fmt: skip
    hosts = {one.args["event_id"]: one for one in files[trace].slices if one.track[0].startswith("process")}
    assert {number: (one.start_ns, one.end_ns) for number, one in hosts.items()} == {
        number: (start, end) for number, start, end in calls
    }


def test_calls_lie_in_calls_and_what_crosses_another_is_beside_it(files):
    thread = files["halves"].on("process (5)", "thread (6)")
    around = {one.name: (one.around and one.around.name, "overlapping" in one.track[-1]) for one in thread}
    hostile = next(name for name in around if name.startswith("k"))
    assert around == {
        "main": (None, False), "step": ("main", False), hostile: ("step", False), "leaf": ("main", False),
        "crosses": (None, True), "next": (None, False),
    }  # fmt: skip
    [moment] = files["halves"].moments
    assert (moment.name, moment.start_ns, moment.track[-1]) == ("[memory]", 12_500, "thread (6)")
    # Six kernels on a stream, two at a time.
    tracks = Counter(one.track for one in files["halves"].on("device 1", "stream 9"))
    assert tracks == {("device 1", "stream 9"): 3, ("device 1", "stream 9, overlapping 1"): 3}


def test_names_are_text(files):
    texts = [text for one in files["halves"].slices for text in (one.name, *map(str, one.args.values()), *one.track)]
    assert not any(ACTS.search(text) for text in texts)
    assert any(r"k\x1b[31m\u202e<script>" in text for text in texts)


def test_an_arrow_leads_from_every_launch_to_each_of_its_operations(lake, files):
    ends = defaultdict(list)
    for one in files["work"].slices:
        for flow in one.flows:
            ends[flow].append(one)
    found = set()
    for launch, kernel in ends.values():
        assert launch.name == "cudaLaunchKernel"
        assert launch.start_ns < kernel.start_ns
        found.add((launch.args["event_id"], kernel.args["event_id"]))
    launched = rows(lake, "work", "SELECT launch_id, kernel_id FROM kernels WHERE trace_id = $trace")
    assert len(launched) > 500
    assert found == set(launched)
    assert not any(one.flows for one in files["halves"].slices)


def test_the_area_below_the_counters_is_the_work(lake, files):
    for device in (0, 1):
        area = {}
        for unit in ("TFLOP/s", "GB/s"):
            track = f"device {device}", f"achieved {unit}"
            values = files["work"].counters[track]
            assert files["work"].units[track] == unit
            assert values[-1][1] == 0
            area[unit] = sum(value * (after - at) for (at, value), (after, _) in pairwise(values))
        # TFLOP/s times ns is kFLOP, GB/s times ns is bytes.
        [(flop, bytes_)] = rows(
            lake, "work",
            "SELECT sum(group_flop), sum(coalesce(group_bytes, bytes)) FROM kernel_roofline "
            f"WHERE trace_id = $trace AND device = {device} AND kernel_id = group_id",
        )  # fmt: skip
        assert area["TFLOP/s"] * 1e3 == pytest.approx(flop, rel=1e-6)
        assert area["GB/s"] == pytest.approx(bytes_, rel=1e-6)
    # By the recipe products bound by FLOP reach 60 % of the peak.
    values = [value for _, value in files["work"].counters["device 0", "achieved TFLOP/s"]]
    assert sum(value == pytest.approx(PRODUCTS * PEAK_TFLOPS, rel=1e-3) for value in values) == 4 * LAYERS
    first = files["work"].counters["device 0", "achieved GB/s"][0][1]
    assert first == pytest.approx(HBM_GBPS / 2, rel=0.05)


def test_queue_depths_are_those_of_the_table(lake, files):
    depths = rows(
        lake, "work",
        "SELECT device, stream, start_ns, depth FROM queue_depth WHERE trace_id = $trace ORDER BY start_ns",
    )  # fmt: skip
    expected = defaultdict(list)
    for device, stream, at, depth in depths:
        expected[f"device {device}", f"queue depth, stream {stream}"].append((at, depth))
    found = {track: values for track, values in files["work"].counters.items() if track[1].startswith("queue")}
    assert found == expected
    assert len(found) == 2


def test_a_layer_comes_with_its_pass_and_opens_at_the_layer(lake, tmp_path):
    written = lake.write_perfetto("halves", tmp_path / "layer.pftrace.gz", at={"pass": 3, "layer": 2})
    # The layer's time of the recipe; on device 1 it is 1 us later.
    assert (written.start_ns, written.end_ns) == (198_300_000, 210_540_000 + 1000)
    found = read(written.path)
    assert {one.name for one in found.on("device 0", "passes") if one.category == "pass"} == {"pass 3"}
    kernels = [one for one in found.slices if one.track[1:2] == ("stream 7",)]
    # 136 kernels of layers, the embedding, the head and the sampling, on each device.
    assert Counter(one.track[0] for one in kernels) == {"device 0": 139, "device 1": 139}
    layers = lake.write_perfetto("halves", tmp_path / "layers.pftrace", 3, layers=(2, 3))
    kernels = read(layers.path).on("device 0", "stream 7")
    assert {one.args["layer_id"] for one in kernels} == {2, 3}
    assert len(kernels) == 25 + 22


def test_an_operation_opens_at_its_time_and_comes_with_the_call_that_launched_it(lake, tmp_path):
    [(kernel, launch, start, end)] = rows(
        lake, "work",
        "SELECT kernel_id, launch_id, start_ns, end_ns FROM kernels WHERE trace_id = $trace AND device = 1 "
        "ORDER BY start_ns LIMIT 1 OFFSET 20",
    )  # fmt: skip
    written = lake.write_perfetto("work", tmp_path / "kernel.pftrace", at={"kernel": kernel})
    assert (written.start_ns, written.end_ns) == (start, end)
    assert {kernel, launch} <= {one.args.get("event_id") for one in read(written.path).slices}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at": {"layer": 99}}, "layer 99: the pass has layers 0 to 5"),
        ({"at": {"kernel": 10**9}}, "kernel 1000000000: the trace has none"),
        ({"at": {"tile": 1}}, "tile: expected one of pass, layer, step, gap, kernel"),
        ({"at": {"step": 0, "gap": 0}}, "give one of step, gap"),
        ({"pass_id": 9}, "has no pass 9"),
        # The first kernels and steps are of pass 0.
        ({"pass_id": 1, "at": {"pass": 3, "layer": 2}}, "pass 3: outside of pass 1"),
        ({"pass_id": 4, "at": {"kernel": 5}}, "kernel 5: outside of pass 4"),
        ({"pass_id": 4, "at": {"step": 0}}, "step 0: outside of pass 4"),
        ({"pass_id": 3, "layers": (2, 3), "at": {"layer": 5}}, "layer 5: outside of layers 2, 3 of pass 3"),
        ({"format": "chrome", "ranks": True}, "Chrome's format has one pass"),
        ({"format": "json"}, "format json: expected perfetto or chrome"),
    ],
)
def test_what_a_trace_has_not_is_said(lake, tmp_path, given, said):
    with pytest.raises(UsageError, match=said):
        lake.write_perfetto("halves", tmp_path / "x.pftrace", **given)
    assert not (tmp_path / "x.pftrace").exists()


def test_ranks_stand_side_by_side_on_the_first_ones_clock(lake, tmp_path):
    written = lake.write_perfetto("three", tmp_path / "ranks.pftrace", ranks=True)
    assert written.unaligned == ()
    ends = defaultdict(list)
    flows = Counter()
    for one in read(written.path).slices:
        if "AllReduce" in str(one.args.get("full_name", one.name)) and one.track[2].startswith("stream"):
            ends[one.track[0]].append(one.end_ns)
        flows.update(one.flows)
    assert sorted(ends) == ["rank 0: rank0", "rank 1: rank1", "rank 2: rank2"]
    # Made so that all leave an all-reduce at once; their clocks are 5 ms ahead and 0.7 ms behind.
    first, second, third = (ends[name] for name in sorted(ends))
    # Three steps, all of them of every rank, whenever its own clock began.
    assert len(first) == 3
    assert second == pytest.approx(first, abs=2)
    assert third == pytest.approx(first, abs=2)
    assert set(flows.values()) == {2}


def test_a_trace_before_time_0_is_moved_to_0(lake, tmp_path):
    written = lake.write_perfetto("early", tmp_path / "early.pftrace")
    kernels = [one for one in read(written.path).slices if one.name == "gemm"]
    assert [(one.start_ns, one.end_ns) for one in kernels] == [(0, 2000), (15_000, 17_000)]
    assert (written.start_ns, written.end_ns) == (0, 17_001)


def test_a_trace_is_the_same_in_stretches_and_with_names_forgotten(lake, files, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "_SORTED", 1000)
    monkeypatch.setattr(wire, "MOST_NAMES", 5)
    again = read(lake.write_perfetto("work", tmp_path / "again.pftrace").path)
    assert [vars(one) for one in again.slices if not one.around] == [
        vars(one) for one in files["work"].slices if not one.around
    ]
    assert Counter(one.place for one in again.slices) == Counter(one.place for one in files["work"].slices)


class Drawn:
    """Packets as Perfetto plays them."""

    def __init__(self):
        self.tracks = 0
        self.open = defaultdict(list)
        self.slices = []

    def track(self, name, parent):
        self.tracks += 1
        return self.tracks

    def begin(self, track, at, number):
        self.slices.append([number, at, None, self.open[track][-1][0] if self.open[track] else None])
        self.open[track].append(self.slices[-1])

    def end(self, track, at):
        self.open[track].pop()[2] = at


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=30), st.booleans())
def test_no_two_slices_of_a_track_cross_and_each_keeps_its_times(spans, nests):
    spans = sorted(((start, start + dur) for start, dur in spans), key=lambda span: (span[0], -span[1]))
    drawn = Drawn()
    line = Line(drawn, "line", 0)
    for number, (start, end) in enumerate(spans):
        drawn.begin(line.add(start, end, None, None, nests=nests), start, number)
    line.close()
    assert [(start, end) for _, start, end, _ in drawn.slices] == spans
    around = {number: above for number, _, _, above in drawn.slices if above is not None}
    assert all(
        spans[above][0] <= spans[number][0] and spans[number][1] <= spans[above][1] for number, above in around.items()
    )
    assert nests or not around


@pytest.mark.parametrize(
    ("name", "devices"), [("jax/tpu_inference_k1.trace.json.gz", {0, 1}), ("ascend/trace_view.json", {0}),
        pytest.param("kineto/gpu_only_mi210.json.gz", {1}, marks=pytest.mark.slow),
        pytest.param("kineto/vllm_gpt-oss_prefill_tp_b200.json.gz", {0}, marks=pytest.mark.slow)],
)  # fmt: skip
def test_real_traces_have_every_operation_call_and_layer(real_lake, tmp_path, name, devices):
    path = data_file(name)
    lake = real_lake(name)
    [(trace_id,)] = lake.rows("SELECT trace_id FROM traces")
    found = read(lake.write_perfetto(trace_id, tmp_path / "x.pftrace").path)
    drawn = {one.args["event_id"]: (one.start_ns, one.end_ns) for one in found.slices if "event_id" in one.args}
    assert drawn == {
        number: (start, max(start, end))
        for number, start, end in lake.rows(
            "SELECT event_id, start_ns, end_ns FROM events "
            "WHERE dur_ns IS NOT NULL AND lane IN ('device', 'host', 'python')"
        )
    }
    streams = Counter(one.track[0] for one in found.slices if "stream" in one.track[-1] and "," not in one.track[-1])
    assert set(streams) == {f"device {device}" for device in devices}, path
    layers = lake.rows("SELECT device, start_ns, end_ns FROM layers ORDER BY ALL")
    assert layers == sorted(
        (int(one.track[0].split()[1]), one.start_ns, one.end_ns) for one in found.slices if one.category == "layer"
    )
    assert all(one.around.category == "pass" for one in found.slices if one.category == "layer")


def test_perfettos_own_trace_processor_reads_it(lake, tmp_path):
    binary = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if binary is None:
        pytest.skip("needs trace_processor_shell on the PATH; the package would download it")
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    path = lake.write_perfetto("work", tmp_path / "work.pftrace").path
    with TraceProcessor(trace=str(path), config=TraceProcessorConfig(bin_path=binary)) as processor:
        [counted] = processor.query(
            "SELECT (SELECT count(*) FROM slice) AS slices, (SELECT count(*) FROM flow) AS flows"
        )
        [faults] = processor.query("SELECT coalesce(sum(value), 0) AS n FROM stats WHERE severity = 'error'")
    assert faults.n == 0
    assert counted.slices == len(read(path).slices)
    assert counted.flows == rows(lake, "work", "SELECT count(launch_id) FROM kernels WHERE trace_id = $trace")[0][0]
