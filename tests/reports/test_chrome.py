"""The small Chrome trace of a pass: valid, exact, and a trace that tracelake reads again."""

import gzip
import json
from collections import defaultdict
from decimal import Decimal

import pytest

import tracelake
from tracelake.ingest.one import Ingested
from tracelake.synthetic import s1_config, write_s1

from ..support import data_file


@pytest.fixture(scope="module")
def s1(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chrome")
    write_s1(folder / "s1.json")
    (folder / "config.json").write_text(json.dumps(s1_config()))
    lake = tracelake.open(folder / "lake")
    lake.ingest(folder / "s1.json", model=folder / "config.json")
    return lake


def read(path):
    data = path.read_bytes()
    content = gzip.decompress(data) if path.suffix == ".gz" else data
    return json.loads(content, parse_float=Decimal)["traceEvents"]


def test_it_holds_the_kernels_of_the_chosen_pass_and_a_range_for_each_layer(s1, tmp_path):
    path = tmp_path / "small.json.gz"
    assert s1.write_perfetto("s1", path) == len(read(path))
    phases = defaultdict(list)
    for event in read(path):
        phases[event["ph"]].append(event)
    # 136 kernels of layers, the embedding, the head and the sampling.
    assert len(phases["X"]) == 139
    begins = [event["name"] for event in phases["b"]]
    assert begins == [
        "pass 3", "prologue", "layer 0 FULL_ATTN", "layer 1 FULL_ATTN", "layer 2 C4", "layer 3 C128", "layer 4 C4",
        "layer 5 C128", "epilogue", "gap",
    ]  # fmt: skip
    [layer] = [event for event in phases["b"] if event["name"] == "layer 2 C4"]
    assert (layer["ts"], layer["args"]) == (198300, {"pass": 3, "layer": 2, "type": "C4", "sum_ms": 12})


def test_every_begin_has_its_end_and_no_track_has_two_ranges_at_once(s1, tmp_path):
    s1.write_perfetto("s1", tmp_path / "small.json")
    open_ranges = {}
    for event in sorted(read(tmp_path / "small.json"), key=lambda event: (event.get("ts", 0), event["ph"] == "b")):
        track = (event["pid"], event.get("cat"), event.get("id"))
        if event["ph"] == "b":
            assert track not in open_ranges
            open_ranges[track] = event["name"]
        elif event["ph"] == "e":
            assert open_ranges.pop(track) == event["name"]
    assert open_ranges == {}


def test_some_layers_of_a_pass_hold_their_kernels_alone(s1, tmp_path):
    s1.write_perfetto("s1", tmp_path / "layers.json", layers=(2, 3))
    events = read(tmp_path / "layers.json")
    assert [event["name"] for event in events if event["ph"] == "b"] == ["pass 3", "layer 2 C4", "layer 3 C128"]
    assert {event["args"]["layer"] for event in events if event["ph"] == "X"} == {2, 3}
    assert sum(event["ph"] == "X" for event in events) == 25 + 22


def test_read_again_it_gives_the_same_pass(s1, tmp_path):
    s1.write_perfetto("s1", tmp_path / "again.json")
    (tmp_path / "config.json").write_text(json.dumps(s1_config()))
    again = tracelake.open(tmp_path / "lake")
    [result] = again.ingest(tmp_path / "again.json", model=tmp_path / "config.json")
    assert isinstance(result, Ingested)
    assert (result.rejected, result.unmatched) == (0, 0)
    columns = "layer_id, layer_type, start_ns, end_ns, sum_us, kernel_count"
    assert again.rows(f"SELECT {columns} FROM layers ORDER BY layer_id") == s1.rows(
        f"SELECT {columns} FROM layers WHERE pass_id = 3 ORDER BY layer_id"
    )


@pytest.mark.parametrize("name", ["vllm_gpt-oss_decode_mi300x", "vllm_gpt-oss_prefill_tp_b200"])
def test_times_of_a_real_trace_survive_to_the_nanosecond(tmp_path, name):
    lake = tracelake.open(tmp_path / "lake")
    layers = 24 if "decode" in name else 36
    lake.ingest(data_file(f"kineto/{name}.json.gz"), trace="first", num_layers=layers)
    lake.write_perfetto("first", tmp_path / "small.json")
    lake.ingest(tmp_path / "small.json", trace="again", num_layers=layers)
    query = (
        "SELECT rank, hardware, layer_id, l.start_ns, l.end_ns, l.sum_us, kernel_count FROM layers AS l JOIN traces "
    )
    query += "USING (trace_id, rank) WHERE trace = $1 ORDER BY layer_id"
    first = lake.rows(query, ["first"])
    assert len(first) == layers
    assert lake.rows(query, ["again"]) == first
