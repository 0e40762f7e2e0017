"""Keys: no two rows of a public relation agree in its key, and relations that share key columns join with USING."""

import functools
import json

import pytest

import tracelake
from tracelake.engine.sql import keys, modules
from tracelake.reports.trace.layers import types_table
from tracelake.synthetic.gpu import gpu_config, write_gpu

from ..lakes import in_one_lake
from ..support import data_files

#: Relations with a row for each thing of their kind: joining them keeps every row of what has their key in its own.
HOMES = ("traces", "events", "kernels", "time_breakdown", "passes", "layers", "steps", "gaps", "collectives")
#: Pairs that do not join so, and why.
APART = {
    ("kernels", "kernel_duplicates"): "has the operations that are no kernels, because they count elsewhere",
    ("kernels", "offloaded_operations"): "has the same of SparseCores",
    ("kernels", "ascend_kernels"): "has these rows too",
    ("kernels", "window_kernels"): "has these rows too",
    ("passes", "pass_windows"): "has a row for the whole device, pass -1",
    ("steps", "msprof_breakdown"): "has the steps that the profiler's table numbers",
    ("steps", "rank_steps"): "has a trace without steps as one",
    ("time_breakdown", "steps"): "has steps of the host, device -1, where a trace has no device operation",
    ("time_breakdown", "step_states"): "has them too",
    ("time_breakdown", "perfetto_marks"): "has findings, which are of no device, at -1",
    ("time_breakdown", "step_trace_times"): "has the profiler's own sums, of tables without operations too",
}
#: Small, and each of another kind; the other traces take their time.
FEW = ("deepseek", "k1", "cpu_only", "trace_view")


def some(name):
    few = any(part in str(name.values[0]) for part in FEW)
    return name if few else pytest.param(*name.values, id=name.id, marks=[*name.marks, pytest.mark.slow])


TRACES = [
    some(name) for name in data_files("kineto/*.gz", "jax/*.gz", "ascend/*.csv", "ascend/*.json", "ascend/*/*.csv")
]
OF_TRACES = [entry for entry in keys.keyed() if "trace_id" in entry.key and entry.kind != "TABLE"]


@pytest.fixture(scope="module")
def keys_in(real_lake):
    """Return what gives the lake of a trace, with a table of the keys of all rows for each relation: `keys_of_passes`.

    Each relation is computed once; the tests ask of its keys alone, many times.
    """

    @functools.cache
    def with_tables(name):
        lake = real_lake(name)
        for entry in OF_TRACES:
            columns = ", ".join(f'"{column}"' for column in entry.key)
            lake.rows(f"CREATE TEMP TABLE keys_of_{entry.name} AS SELECT {columns} FROM {entry.name}")
        return lake

    return with_tables


@pytest.mark.parametrize("name", TRACES)
def test_every_relation_keeps_its_key(keys_in, name):
    lake = keys_in(name)
    breached = {}
    for entry in OF_TRACES:
        [(count,)] = lake.rows(keys.breaches(entry).replace(f"FROM {entry.name} ", f"FROM keys_of_{entry.name} "))
        if count:
            breached[entry.name] = count
    assert breached == {}


def test_every_relation_keeps_its_key_where_a_config_gives_the_types_of_layers(tmp_path):
    write_gpu(tmp_path / "typed.json")
    (tmp_path / "config.json").write_text(json.dumps(gpu_config()))
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(tmp_path / "typed.json", model=tmp_path / "config.json")
        assert {entry.name: n for entry in OF_TRACES if (n := lake.rows(keys.breaches(entry))[0][0])} == {}
        assert len(types_table(lake.store, lake.resolve("typed"), 4).rows) == 3


@pytest.mark.parametrize("name", TRACES)
def test_relations_that_share_key_columns_join_and_keep_every_row(keys_in, name):
    lake = keys_in(name)
    lost = {}
    for home in (modules.module(home) for home in HOMES):
        for entry in OF_TRACES:
            if entry is home or not set(home.key) <= set(entry.key) or (home.name, entry.name) in APART:
                continue
            columns = ", ".join(home.key)
            [(rows, joined)] = lake.rows(
                f"SELECT (SELECT count(*) FROM keys_of_{entry.name}), "
                f"(SELECT count(*) FROM keys_of_{entry.name} JOIN keys_of_{home.name} USING ({columns}))"
            )
            if rows != joined:
                lost[home.name, entry.name] = (rows, joined)
    assert lost == {}


def test_relations_of_models_keep_their_keys(tmp_path):
    with tracelake.open(tmp_path / "lake") as lake:
        lake.add_scenarios(
            {
                "scenario": f"{model}-{phase}-{batch}-{kv_len}", "study": "s", "model": model, "hardware": "h100_sxm",
                "phase": phase, "batch": batch, "seq_len": 1 if phase == "decode" else 512, "kv_len": kv_len,
            }
            for model in ("qwen3-8b", "deepseek-v3")
            for phase in ("decode", "prefill")
            for batch in (1, 8)
            for kv_len in (128, 4096)
        )  # fmt: skip
        for entry in keys.keyed():
            if "trace_id" not in entry.key and entry.folder == "model":
                assert lake.rows(keys.breaches(entry)) == [(0,)], entry.name
        assert lake.rows("SELECT count(*) FROM phase_roofline WHERE study = 's'") == [(16,)]


def test_lookup_tables_have_a_primary_key(tmp_path):
    with tracelake.open(tmp_path / "lake") as lake:
        for entry in keys.keyed():
            if entry.kind == "TABLE":
                assert lake.rows(keys.breaches(entry)) == [(0,)], entry.name


def test_a_breach_is_seen(tmp_path):
    with tracelake.open(tmp_path / "lake") as lake:
        entry = modules.Module(
            "twice", "core", tmp_path, "VIEW", "", (), "", frozenset(), "", key=("a", "b"), optional=frozenset("b")
        )
        for rows, count in (
            ("(1, 1), (1, 2)", 0), ("(1, 1), (1, 1)", 1), ("(NULL, 1)", 1), ("(1, NULL), (2, NULL)", 0),
            ("(1, NULL), (1, NULL)", 1),
        ):  # fmt: skip
            query = keys.breaches(entry).replace("FROM twice", f"FROM (VALUES {rows}) AS twice (a, b)")
            assert lake.rows(query) == [(count,)]


def kernel(name, start, pid, **args):
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": pid,
        "tid": "stream 7",
        "ts": start,
        "dur": 5,
        "args": args,
    }


@in_one_lake
def test_devices_without_a_number_are_numbered_in_order_of_appearance(tmp_path):
    events = [
        kernel("b", 10, "GPU b"),
        kernel("a", 20, "GPU a"),
        kernel("b", 30, "GPU b"),
        kernel("c", 40, 7, device=5),
    ]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    lake = yield tmp_path / "t.json"
    assert lake.rows("SELECT name, device FROM kernels ORDER BY start_ns") == [("b", 0), ("a", 1), ("b", 0), ("c", 5)]
    assert lake.rows("SELECT pid, device FROM device_processes ORDER BY device") == [
        ("GPU b", 0), ("GPU a", 1), ("7", 5),
    ]  # fmt: skip


@in_one_lake
def test_devices_without_a_number_do_not_take_another_s(tmp_path):
    events = [kernel("b", 10, "GPU b"), kernel("zero", 20, 0), kernel("a", 30, "GPU a")]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    lake = yield tmp_path / "t.json"
    assert lake.rows("SELECT name, device FROM kernels ORDER BY start_ns") == [("b", 1), ("zero", 0), ("a", 2)]


@in_one_lake
def test_layers_of_a_device_without_a_number_have_their_groups(tmp_path):
    """Group columns were 0.0 for every layer type where the device was not numbered."""
    events = []
    for turn in range(3):
        begin = turn * 20_000
        events.append(kernel("embedding_gather", begin, "GPU x"))
        for layer in range(12):
            start = begin + 10 + layer * 20
            events += [kernel("flash_fwd_kernel", start, "GPU x"), kernel("nvjet_ffn_gemm", start + 10, "GPU x")]
        events.append(kernel("argmax_sample", begin + 300, "GPU x"))
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    lake = yield tmp_path / "t.json"
    table = types_table(lake.lake.store, lake.id, 0)
    shares = {column.name: value for column, value in zip(table.columns, table.rows[0], strict=True)}
    assert (shares["layers"], shares["attention_pct"], shares["gemm_pct"]) == (12, 50, 50)
