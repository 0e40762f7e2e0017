"""Copies and fills of memory are part of the layer that they run in, and never decide what a layer is."""

import gzip
import json
import re
from collections import defaultdict
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelake.synthetic.gpu import gpu_config, gpu_trace

from ...lakes import Own, in_one_lake
from ...support import DATA
from ..captures import KINETO_FILES, Capture, captured, open_lake, rows
from .test_layers_from_the_host import KERNELS, Model

S1 = gpu_trace()["traceEvents"]
S1_KERNELS = [event for event in S1 if event["cat"] == "kernel"]
S1_SETTINGS = {"config": json.dumps(gpu_config())}
#: What copies must leave as it is.
LIMITS = "pass_id, layer_id, stream, start_ns, end_ns, wall_us, gap_after_us, pitch_us, kernel_count, comm_count"


def copy(ts, dur, stream, **ids):
    return {
        "cat": "gpu_memcpy", "name": "Memcpy DtoD", "pid": 0, "tid": stream, "ts": ts, "dur": dur,
        "args": {"device": 0, "stream": stream, **ids},
    }  # fmt: skip


class CopyingModel(Model):
    """A model whose layers copy memory: on the layer's stream after its attention, on stream 9 after all else."""

    def __init__(self, *, copies=True):
        super().__init__()
        self.copies = copies

    def copy(self, stream, *, after=0):
        self.correlation += 1
        self.events += self.copies * [
            {"cat": "cuda_runtime", "name": "copy", "pid": 1, "tid": self.launch_tid, "ts": self.now, "dur": 1,
             "args": {"correlation": self.correlation}},
            copy(self.now + 1000 + after, 3, stream, correlation=self.correlation),
        ]  # fmt: skip
        self.now += 10

    def layer(self):
        for name in KERNELS[:2]:
            self.launch(name)
        self.copy(1)
        for name in KERNELS[2:]:
            self.launch(name)
        self.copy(9, after=500)


def test_what_a_layer_launches_is_its_own_on_any_stream_and_moves_no_limit():
    model, plain = CopyingModel(), CopyingModel(copies=False)
    for one in (model, plain):
        one.call()
        one.call()
    model.copy(1)  # by nobody's layer
    lake, alone = apart(open_lake([Capture("copying", model.events), Capture("plain", plain.events)]))
    assert limits(lake) == limits(alone)
    # Five kernels of 5 us and two copies of 3 us, the later one after the layer: busy is what lies within the layer.
    found = rows(lake, "SELECT DISTINCT kernel_count, memory_count, memory_us, sum_us, busy_us FROM layers")
    assert found == [(5, 2, 6.0, 31.0, 28.0)]
    assert rows(
        lake,
        "SELECT DISTINCT k.stream FROM layer_kernels JOIN kernels AS k USING (trace_id, kernel_id) "
        "WHERE k.kind = 'memory' ORDER BY 1",
    ) == [(1,), (9,)]
    # The copy after the last call is in its epilogue, beside the product of the head.
    query = "SELECT kernel_count, memory_count, sum_us FROM pass_parts WHERE part = 'epilogue' ORDER BY pass_id DESC"
    assert rows(lake, query)[0] == (1, 1, 8.0)


@in_one_lake
def test_a_layer_of_copies_alone_is_none(tmp_path):
    model = Model()
    model.call()
    device_1 = [copy(event["ts"], 3, 4, correlation=event["args"]["correlation"]) for event in model.events
                if event["cat"] == "kernel"]  # fmt: skip
    for event in device_1:
        event["args"]["device"] = 1
    lake = yield captured(tmp_path, Capture("toy", model.events + device_1))
    assert rows(lake, "SELECT DISTINCT device FROM layers") == [(0,)]


@in_one_lake
def test_a_copy_before_the_next_pass_is_no_idle_time(tmp_path):
    # Between the passes the device waits 900 us, then copies for 3, then waits 90 and begins.
    model = Model()
    model.call()
    model.now += 900
    model.events.append(copy(model.now + 1000, 3, 1))
    model.now += 93
    model.call()
    query = "SELECT part, kernel_count, memory_count FROM pass_parts WHERE part <> 'gap' ORDER BY pass_id, start_ns"
    lake = yield model.written(tmp_path)
    assert rows(lake, query) == [("prologue", 1, 0), ("epilogue", 1, 0), ("prologue", 1, 1), ("epilogue", 1, 0)]
    assert rows(lake, "SELECT wall_us FROM pass_parts WHERE part = 'gap'") == [(905.0,)]


@pytest.fixture(scope="module")
def without_copies():
    return limits(open_lake([Capture("one", S1, S1_SETTINGS)]))


def apart(lake):
    """Return what answers questions about each of a lake's captures alone."""
    return [Own(lake, {name: trace_id}) for name, trace_id in lake.ids.items()]


def limits(lake):
    return rows(lake, f"SELECT {LIMITS} FROM layers ORDER BY 1, 2")


@settings(max_examples=2, deadline=None)
@given(st.lists(st.lists(st.integers(0, len(S1_KERNELS) - 1), min_size=1, max_size=40), min_size=4, max_size=8))
def test_copies_anywhere_on_the_stream_are_in_one_layer_or_part_each_and_change_no_limit(without_copies, examples):
    stream = S1_KERNELS[0]["args"]["stream"]
    captures = [
        Capture(f"example_{nth}", S1 + [copy(S1_KERNELS[place]["ts"] + 1, 2, stream) for place in places], S1_SETTINGS)
        for nth, places in enumerate(examples)
    ]
    for lake in apart(open_lake(captures)):
        check_copies(lake, without_copies)


def check_copies(lake, without_copies):
    assert limits(lake) == without_copies
    whole = rows(lake, "SELECT count(*) FILTER (kind <> 'memory'), count(*) FILTER (kind = 'memory'), sum(dur_ns) "
                 "FROM kernels")  # fmt: skip
    measures = "kernel_count, memory_count, sum_us"
    parts = rows(
        lake,
        "SELECT sum(kernel_count), sum(memory_count), CAST(round(1000 * sum(sum_us)) AS BIGINT) FROM "
        f"(SELECT {measures} FROM layers UNION ALL SELECT {measures} FROM pass_parts)",
    )
    assert parts == whole
    for finer in ("layer_halves", "layer_kernels"):
        counted = "sum(memory_count), sum(sum_us)" if finer != "layer_kernels" else (
            "count(*) FILTER (kind = 'memory'), sum(dur_us)"
        )  # fmt: skip
        gathered = rows(lake, f"SELECT pass_id, layer_id, {counted} FROM {finer} GROUP BY 1, 2 ORDER BY 1, 2")
        expected = rows(lake, "SELECT pass_id, layer_id, memory_count, sum_us FROM layers ORDER BY 1, 2")
        assert [row[:3] for row in gathered] == [row[:3] for row in expected]
        assert [row[3] for row in gathered] == pytest.approx([row[3] for row in expected])


@pytest.mark.parametrize(("case", "copies", "total"), [("G5", 144, "764.732"), ("G6", 168, "143.047")])
def test_copies_of_a_layer_are_those_launched_within_its_modules_frame(real_lake, case, copies, total):
    lake = real_lake(f"kineto/{KINETO_FILES[case]}.json.gz")
    with gzip.open(DATA / "kineto" / f"{KINETO_FILES[case]}.json.gz") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    frames, launches = [], {}
    for event in events:
        if event.get("cat") == "python_function" and re.search(r"(DecoderLayer|TransformerBlock)_\d+$", event["name"]):
            frames.append((event["ts"], event["ts"] + event["dur"], int(event["name"].rpartition("_")[2])))
        elif event.get("cat") in ("cuda_runtime", "cuda_driver"):
            launches[event["args"].get("correlation")] = event["ts"]
    found: dict[int, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    for event in events:
        if event.get("cat") in ("gpu_memcpy", "gpu_memset"):
            launch = launches.get(event["args"]["correlation"], Decimal(-1))
            for layer in {layer for start, end, layer in frames if start <= launch < end}:
                found[layer][0] += 1
                found[layer][1] += event["dur"]
    assert sum(count for count, _ in found.values()) == copies
    assert sum(us for _, us in found.values()) == Decimal(total)
    answer = lake.rows("SELECT layer_id, memory_count, memory_us FROM layers JOIN passes USING (trace_id, pass_id) "
                       "WHERE passes.complete ORDER BY 1")  # fmt: skip
    assert answer == [(layer, count, pytest.approx(float(us))) for layer, (count, us) in sorted(found.items())]
