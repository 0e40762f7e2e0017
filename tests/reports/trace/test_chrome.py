"""The small Chrome trace of a pass: valid, exact, and a trace that tracelake reads again."""

import gzip
import json
from collections import defaultdict
from decimal import Decimal

import pytest

import tracelake
from tracelake.ingest.one import Ingested
from tracelake.synthetic.gpu import gpu_config, gpu_trace, write_gpu

from ...support import data_file


@pytest.fixture(scope="module")
def s1(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chrome")
    write_gpu(folder / "s1.json")
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    lake = tracelake.open(folder / "lake")
    lake.ingest(folder / "s1.json", model=folder / "config.json")
    return lake


def read(path):
    data = path.read_bytes()
    content = gzip.decompress(data) if path.suffix == ".gz" else data
    return json.loads(content, parse_float=Decimal)["traceEvents"]


def named(events):
    """Return the ranges and kernels of a trace, each with the names of its process and its thread."""
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    threads = {
        (event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    return [
        (processes[event["pid"]], threads[event["pid"], event["tid"]], event) for event in events if event["ph"] == "X"
    ]


def drawn_by_perfetto(events):
    """Return each complete event that Perfetto shows, by thread: it drops one that overlaps another without nesting."""
    shown, open_ends = defaultdict(list), defaultdict(list)
    for event in sorted(
        (event for event in events if event["ph"] == "X"), key=lambda event: (event["ts"], -event["dur"])
    ):
        thread = event["pid"], event["tid"]
        ends = open_ends[thread]
        while ends and ends[-1] <= event["ts"]:
            ends.pop()
        if not ends or event["ts"] + event["dur"] <= ends[-1]:
            ends.append(event["ts"] + event["dur"])
            shown[thread].append(event)
    return shown


def test_it_holds_the_kernels_of_the_chosen_pass_and_a_range_for_each_layer(s1, tmp_path):
    path = tmp_path / "small.json.gz"
    assert s1.write_perfetto("s1", path).events == len(read(path))
    assert {event["ph"] for event in read(path)} == {"M", "X"}
    threads = defaultdict(list)
    for process, thread, event in named(read(path)):
        threads[process, thread].append(event)
    # 136 kernels of layers, the embedding, the head and the sampling.
    assert len(threads.pop(("device 0", "stream 7"))) == 139
    assert {line: [event["name"] for event in events] for line, events in threads.items()} == {
        ("device 0: passes and layers", "passes"): ["pass 3"],
        ("device 0: passes and layers", "layers"): [
            "prologue", "layer 0 FULL_ATTN", "layer 1 FULL_ATTN", "layer 2 C4", "layer 3 C128", "layer 4 C4",
            "layer 5 C128", "epilogue", "gap",
        ],
    }  # fmt: skip
    [layer] = [event for _, _, event in named(read(path)) if event["name"] == "layer 2 C4"]
    # The layer's wall time of the recipe: 12 ms of kernels and 24 pauses of 10 us between its 25 kernels.
    assert (layer["ts"], layer["dur"]) == (198300, 12240)
    assert layer["args"] == {"pass": 3, "layer": 2, "type": "C4", "sum_ms": 12}


@pytest.fixture(scope="module")
def two_devices(tmp_path_factory):
    """The same pass on two devices, one of them 1 us later; and on the second a stream whose kernels overlap."""
    folder = tmp_path_factory.mktemp("two-devices")
    trace = gpu_trace()
    first = [event for event in trace["traceEvents"] if event["cat"] == "kernel"]
    second = [{**event, "pid": 1, "ts": event["ts"] + 1, "args": {**event["args"], "device": 1}} for event in first]
    clones = [
        {**event, "tid": 9, "name": "copy", "ts": event["ts"] + shift, "args": {"device": 1, "stream": 9}}
        for event in second[-139:-136]
        for shift in (0, Decimal("0.5"))
    ]
    trace["traceEvents"] += [*second, *clones]
    (folder / "s1.json").write_text(json.dumps(trace, default=float))
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    lake = tracelake.open(folder / "lake")
    lake.ingest(folder / "s1.json", model=folder / "config.json")
    return lake


def test_perfetto_draws_all_ranges_of_all_devices_each_on_a_thread_of_its_own_device(two_devices, tmp_path):
    # Perfetto takes a plain id as one for the whole file: begin and end events of two devices with one id would meet.
    two_devices.write_perfetto("s1", tmp_path / "small.json", 3)
    events = read(tmp_path / "small.json")
    assert not any("id" in event for event in events)
    drawn = [event for thread in drawn_by_perfetto(events).values() for event in thread]
    assert len(drawn) == sum(event["ph"] == "X" for event in events)
    ranges = [(process, thread, event) for process, thread, event in named(events) if event["cat"] in ("pass", "layer")]
    for device in (0, 1):
        found = {
            (event["name"], int(event["ts"] * 1000), int(event["dur"] * 1000))
            for process, _, event in ranges
            if process == f"device {device}: passes and layers"
        }
        expected = two_devices.rows(
            """
            SELECT
                CASE range WHEN 'pass' THEN 'pass 3' WHEN 'layer' THEN format('layer {} {}', layer_id, layer_type)
                    ELSE range END, start_ns, end_ns - start_ns
            FROM perfetto_ranges WHERE pass_id = 3 AND device = $1
            """,
            [device],
        )
        assert len(expected) == 10
        assert found == set(expected)


def test_kernels_that_overlap_on_a_stream_are_drawn_beside_each_other_and_stay_of_that_stream(two_devices, tmp_path):
    two_devices.write_perfetto("s1", tmp_path / "small.json", 4)
    kernels = [(thread, event) for _, thread, event in named(read(tmp_path / "small.json")) if event["name"] == "copy"]
    assert {thread for thread, _ in kernels} == {"stream 9", "stream 9, overlapping 1"}
    assert {event["args"]["stream"] for _, event in kernels} == {9}


def test_some_layers_of_a_pass_hold_their_kernels_alone(s1, tmp_path):
    s1.write_perfetto("s1", tmp_path / "layers.json", layers=(2, 3))
    events = named(read(tmp_path / "layers.json"))
    ranges = [event["name"] for process, _, event in events if process == "device 0: passes and layers"]
    assert ranges == ["pass 3", "layer 2 C4", "layer 3 C128"]
    kernels = [event for process, _, event in events if process == "device 0"]
    assert {event["args"]["layer"] for event in kernels} == {2, 3}
    assert len(kernels) == 25 + 22


def test_read_again_it_gives_the_same_pass(s1, tmp_path):
    s1.write_perfetto("s1", tmp_path / "again.json")
    (tmp_path / "config.json").write_text(json.dumps(gpu_config()))
    again = tracelake.open(tmp_path / "lake")
    [result] = again.ingest(tmp_path / "again.json", model=tmp_path / "config.json")
    assert isinstance(result, Ingested)
    assert (result.rejected, result.unmatched) == (0, 0)
    columns = "layer_id, layer_type, start_ns, end_ns, sum_us, kernel_count"
    assert again.rows(f"SELECT {columns} FROM layers ORDER BY layer_id") == s1.rows(
        f"SELECT {columns} FROM layers WHERE pass_id = 3 ORDER BY layer_id"
    )


@pytest.mark.parametrize("name", ["kineto/deepseek-v3_train_h800.json.gz", "jax/tpu_inference_k1.trace.json.gz"])
def test_read_again_it_has_the_device_operations_and_nothing_of_the_host(tmp_path, name):
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(data_file(name), trace="first")
    lake.write_perfetto("first", tmp_path / "small.json")
    lake.ingest(tmp_path / "small.json", trace="again")
    columns = "k.device, coalesce(k.stream, 0), k.start_ns, k.dur_ns, k.name"
    kernels = f"SELECT {columns} FROM kernels AS k JOIN traces USING (trace_id) WHERE trace = $1 ORDER BY ALL"
    first, again = (lake.rows(kernels, [trace]) for trace in ("first", "again"))
    assert again
    assert set(again) <= set(first)
    [(launches, passes)] = lake.rows(
        "SELECT count(launch_id) + count(op_id), (SELECT count(*) FROM passes JOIN traces USING (trace_id) "
        "WHERE trace = 'again') FROM kernels JOIN traces USING (trace_id) WHERE trace = 'again'"
    )
    # Neither has kernels that mark its layers.
    assert (launches, passes) == (0, 0)


@pytest.mark.parametrize("name", ["vllm_gpt-oss_decode_mi300x", "vllm_gpt-oss_prefill_tp_b200"])
def test_times_of_a_real_trace_survive_to_the_nanosecond(tmp_path, name):
    lake = tracelake.open(tmp_path / "lake")
    layers = 24 if "decode" in name else 36
    lake.ingest(data_file(f"kineto/{name}.json.gz"), trace="first", num_layers=layers)
    lake.write_perfetto("first", tmp_path / "small.json")
    lake.ingest(tmp_path / "small.json", trace="again", num_layers=layers)
    query = (
        # Which layer a copy behind the last one is of only the host knows, which the small trace lacks.
        "SELECT rank, hardware, layer_id, l.start_ns, l.end_ns, round(1000 * (l.sum_us - l.memory_us)), kernel_count "
        "FROM layers AS l JOIN traces "
    )
    query += "USING (trace_id, rank) WHERE trace = $1 ORDER BY layer_id"
    first = lake.rows(query, ["first"])
    assert len(first) == layers
    assert lake.rows(query, ["again"]) == first
