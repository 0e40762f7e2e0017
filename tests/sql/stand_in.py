"""A lake in memory for the tests of the SQL: `kernels` and `traces` straight from a trace file."""

import functools
import gzip
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from tracelake.engine import modules

SQL = Path(__file__).resolve().parents[2] / "sql"
DATA = Path(os.environ.get("TRACELAKE_TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))

KINETO_FILES = {
    "G1": "sglang_qwen3-8b_prefill_mi300x",
    "G2": "sglang_qwen3-8b_decode_mi300x",
    "G3": "vllm_gpt-oss_decode_mi300x",
    "G5": "vllm_gpt-oss_prefill_tp_b200",
    "G6": "hf_qwen1.5-0.5b_h100",
}
LANES = {"python_function": "python", "user_annotation": "host", "gpu_user_annotation": "device"}
CATEGORIES = (
    ("mhc_post", ("mhc_post", "mhc_fused_post_pre")),
    ("communication", ("all_reduce", "allreduce", "nccl")),
    ("sampling", ("sampling_kernel",)),
    ("embedding", ("embedding_kernel", "vectorized_gather")),
    ("attention", ("unified_attention", "reduce_segments", "fmha", "paged_attention", "flash_fwd", "mla_fp8")),
    ("norm", ("rmsnorm", "rms_norm")),
    ("gemm", ("cijk_", "nvjet", "gemm")),
    ("rope", ("rotary",)),
    ("kv_store", ("reshape_and_cache", "store_kvcache")),
    ("activation", ("act_and_mul", "silu")),
)
TABLES = """
CREATE TABLE kernels (
    trace_id VARCHAR, rank INTEGER, device INTEGER, stream BIGINT, kernel_id BIGINT,
    start_ns BIGINT, dur_ns BIGINT, end_ns BIGINT, name VARCHAR, display_name VARCHAR,
    category VARCHAR, kind VARCHAR, launch_id BIGINT, launch_kernels BIGINT, launch_ns BIGINT,
    launch_pid VARCHAR, launch_tid VARCHAR, input_dims VARCHAR
);
CREATE TABLE events (
    trace_id VARCHAR, lane VARCHAR, event_id BIGINT, category VARCHAR, name VARCHAR, pid VARCHAR,
    tid VARCHAR, device INTEGER, start_ns BIGINT, dur_ns BIGINT, end_ns BIGINT
);
CREATE VIEW device_processes AS
SELECT DISTINCT trace_id, pid, TRY_CAST(pid AS INTEGER) AS device FROM events WHERE lane = 'device';
CREATE TABLE traces (
    trace_id VARCHAR, trace VARCHAR, rank INTEGER, model VARCHAR, profile VARCHAR,
    num_layers INTEGER, anchor VARCHAR, anchor_role VARCHAR, blocks_per_layer INTEGER,
    config VARCHAR, origin_ns BIGINT, format VARCHAR
);
CREATE TABLE autograd_calls (
    trace_id VARCHAR, event_id BIGINT, pid VARCHAR, tid VARCHAR, name VARCHAR, start_ns BIGINT,
    end_ns BIGINT, is_backward BOOLEAN, sequence BIGINT
);
CREATE TABLE autograd_links (trace_id VARCHAR, function_id BIGINT, op_id BIGINT);
CREATE TABLE direction_rules (
    priority INTEGER, subject VARCHAR, pattern VARCHAR, direction VARCHAR, comment VARCHAR
);
CREATE TABLE ascend_kernels (
    trace_id VARCHAR, rank INTEGER, device INTEGER, kernel_id BIGINT, start_ns BIGINT,
    end_ns BIGINT, dur_ns BIGINT, source VARCHAR, op_type VARCHAR, comm_role VARCHAR,
    counted BOOLEAN, dup_reason VARCHAR, step_id INTEGER
);
CREATE TABLE ascend_marks (
    priority INTEGER, pattern VARCHAR, mark VARCHAR, min_rows BIGINT, comment VARCHAR
);
CREATE TABLE profiles (
    profile VARCHAR, anchor_pattern VARCHAR, role VARCHAR, blocks_per_layer INTEGER,
    half_labels VARCHAR, default_layers INTEGER, config_field VARCHAR, model_types VARCHAR,
    priority INTEGER, comment VARCHAR
);
CREATE TABLE anchor_roles (
    category VARCHAR, role VARCHAR, blocks_per_layer INTEGER, comment VARCHAR
);
CREATE TABLE lines (
    trace_id VARCHAR, rank INTEGER, device INTEGER, pid VARCHAR, tid VARCHAR, process VARCHAR,
    thread VARCHAR, role VARCHAR
);
CREATE TABLE program_layer_limits (program_limit VARCHAR, value DOUBLE, meaning VARCHAR);
CREATE TABLE pass_marks (mark VARCHAR, weight DOUBLE, comment VARCHAR);
CREATE TABLE step_rules (
    priority INTEGER, step_source VARCHAR, pattern VARCHAR, stage VARCHAR,
    requests_pattern VARCHAR, tokens_pattern VARCHAR, comment VARCHAR
);
"""
REFERENCE = (
    "profiles", "anchor_roles", "pass_marks", "step_rules", "ascend_marks", "direction_rules", "program_layer_limits",
)  # fmt: skip


@dataclass(frozen=True)
class Capture:
    """A trace and what its user said of it."""

    trace_id: str
    events: Sequence[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    rank: int | None = None


def kineto_events(case: str) -> list[dict[str, Any]]:
    """Read the timed events of a golden case; skip the test where the traces are absent."""
    path = DATA / "kineto" / f"{KINETO_FILES[case]}.json.gz"
    if not path.exists():
        pytest.skip(f"golden case {case} needs the trace {path}")
    with gzip.open(path) as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    return [event for event in events if event.get("ph") == "X" and "ts" in event]


def open_lake(captures: Iterable[Capture], *, backwards: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection with the captures' kernels and all views of sql/layers."""
    # For planning, which takes most of the time here; engine/store.py says why.
    lake = duckdb.connect(config={"threads": 1, "disabled_optimizers": "projection_pullup"})
    lake.execute(TABLES)
    for table in REFERENCE:
        rows_of = f"read_csv('{SQL / 'lookup' / table}.csv', header = TRUE)"
        lake.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {rows_of}")
    listed = registered(captures, lake)
    for table, rows_of in (("kernels", kernel_rows), ("events", event_rows)):
        found = [row for capture in listed for row in rows_of(capture)]
        if backwards:
            found.reverse()
        marks = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in column_types(lake, table))
        if found:
            lake.execute(f"INSERT INTO {table} SELECT {marks}", [list(column) for column in zip(*found, strict=True)])
    for statement in scalar_macros():
        lake.execute(statement)
    stored = {entry.name for entry in modules.modules() if entry.materialised}
    for name, statement in views().items():
        lake.execute(statement.replace("CREATE VIEW", "CREATE TABLE", 1) if name in stored else statement)
    return lake


def registered(captures: Iterable[Capture], lake: duckdb.DuckDBPyConnection) -> list[Capture]:
    """Write the captures' rows of `traces` and return the captures."""
    listed = list(captures)
    for capture in listed:
        settings = {
            "trace_id": capture.trace_id, "trace": capture.trace_id, "rank": capture.rank,
            "origin_ns": min(nanoseconds(event["ts"]) for event in capture.events), "format": "kineto",
            **capture.settings,
        }  # fmt: skip
        marks = ", ".join("?" for _ in settings)
        lake.execute(
            f"INSERT INTO traces ({', '.join(settings)}) VALUES ({marks})",
            list(settings.values()),
        )
    return listed


def kernel_rows(capture: Capture) -> list[tuple[Any, ...]]:
    """Return the device operations of a capture as rows of `kernels`."""
    launches = {
        event["args"]["correlation"]: (launch_id, event)
        for launch_id, event in enumerate(capture.events)
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    operations = [
        (kernel_id, event)
        for kernel_id, event in enumerate(capture.events)
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    ]
    shares = Counter(event["args"].get("correlation") for _, event in operations)
    found = []
    for kernel_id, event in operations:
        start = nanoseconds(event["ts"])
        end = nanoseconds(event["ts"] + event["dur"])
        category = category_of(event["name"])
        kind = "communication" if category == "communication" else "compute"
        kind = kind if event["cat"] == "kernel" else "memory"
        args = event["args"]
        launch = (None, None, None, None, None)
        if (correlation := args.get("correlation")) in launches:
            launch_id, call = launches[correlation]
            launch = (launch_id, shares[correlation], nanoseconds(call["ts"]), str(call["pid"]), str(call["tid"]))
        found.append((
            capture.trace_id, capture.rank, args["device"], args["stream"], kernel_id, start,
            end - start, end, event["name"], event["name"][:40], category, kind, *launch, None,
        ))  # fmt: skip
    return found


def event_rows(capture: Capture) -> list[tuple[Any, ...]]:
    """Return what layers are found by, module frames and annotations, as rows of `events`."""
    found = []
    for event_id, event in enumerate(capture.events):
        lane = LANES.get(event.get("cat"))
        if lane is None or (lane == "python" and not event["name"].startswith("nn.Module: ")):
            continue
        start = nanoseconds(event["ts"])
        end = nanoseconds(event["ts"] + event["dur"])
        found.append((
            capture.trace_id, lane, event_id, event["cat"], event["name"], str(event["pid"]), str(event["tid"]),
            None, start, end - start, end,
        ))  # fmt: skip
    return found


def device_events(events: Sequence[dict[str, Any]]) -> list[int]:
    """Return the places of all kernels in the list of events, sorted by start; copies are no kernels."""
    kernels = [(event["ts"], place) for place, event in enumerate(events) if event.get("cat") == "kernel"]
    return [place for _, place in sorted(kernels)]


def nanoseconds(microseconds: Decimal | int) -> int:
    """Return exact nanoseconds."""
    return int((Decimal(microseconds) * 1000).to_integral_value())


def category_of(name: str) -> str:
    """Return a category by substring, enough for anchors and norms."""
    lower = name.lower()
    hits = (category for category, words in CATEGORIES if any(word in lower for word in words))
    return next(hits, "other")


def column_types(lake: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """Return the types of a table's columns, in order."""
    return [row[1] for row in lake.execute(f"DESCRIBE {table}").fetchall()]


@functools.cache
def views(folder: str = "layers") -> dict[str, str]:
    """Return the folder's views and their texts, each after those it reads; views that need more are left out."""
    texts = {entry.name: entry.sql for entry in modules.modules() if entry.folder == folder and entry.kind == "VIEW"}
    reads = {name: relations_read(name, text) for name, text in texts.items()}
    known = {
        "kernels",
        "traces",
        "events",
        "lines",
        "device_processes",
        "ascend_kernels",
        "autograd_calls",
        "autograd_links",
        *REFERENCE,
    }
    found = {}
    # Sorted, for the workers of a run must find tests in one order.
    for name in TopologicalSorter({name: sorted(reads[name]) for name in reads}).static_order():
        if name in texts and reads[name] <= known:
            known.add(name)
            found[name] = texts[name]
    return found


@functools.cache
def scalar_macros(folder: str = "layers") -> list[str]:
    """Return the texts of the folder's macros that give a value, each after those it calls."""
    texts = {entry.name: entry.sql for entry in modules.modules() if entry.folder == folder and entry.kind == "MACRO"}
    macros = {name: text for name, text in texts.items() if "AS TABLE" not in text}
    return sorted(macros.values(), key=lambda text: sum(f"{name}(" in text for name in macros))


def relations_read(name: str, text: str) -> set[str]:
    """Return the relations, and the macros that give one, that the view of this name reads."""
    tree = sqlglot.parse_one(text, "duckdb")
    local = {cte.alias for cte in tree.find_all(exp.CTE)} | {name, ""}
    macros = {call.this.name for call in tree.find_all(exp.Table) if isinstance(call.this, exp.Anonymous)}
    return ({table.name for table in tree.find_all(exp.Table)} | macros) - local


def sql_of(name: str) -> str:
    """Return the statement that creates a relation of the product."""
    entry = modules.module(name)
    assert entry is not None
    return entry.sql


def rows(lake: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    """Return a query's rows."""
    return lake.execute(query).fetchall()
