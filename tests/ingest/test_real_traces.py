"""Real traces, event for event: what Python's json and decimal arithmetic read is what the lake holds."""

import gc
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tracelake.engine.storage.layout import Layout
from tracelake.ingest.land import Ingested, ingest_one

from ..support import (
    Reading,
    comparable,
    content_of,
    data_file,
    data_files,
    is_event,
    new_lake,
    python_reads,
    start_and_end,
    stored,
)

PROFILES = ("kineto/*.json.gz", "jax/*.json.gz", "ascend/trace_view.json")
FILES = data_files(*PROFILES, "malformed/*.json")
# Whole elements of the files that break off, counted by hand.
TRUNCATED = {"simple-partial-trailing-comma.json": 6, "simple-partial-whitespace.json": 6}
# The empty object that ends the array of a JAX trace is neither a row nor rejected.
CLOSED = {"tpu_inference_k1.trace.json.gz"}
# By hand, from the files: an end event without a begin event, or the other way round.
UNMATCHED = {
    "end-event-with-empty-stack.json": 1,
    "not-enough-end-events.json": 2,
    "only-begin-events.json": 3,
    "too-many-end-events.json": 2,
}


@pytest.fixture(scope="module", autouse=True)
def no_search_for_cycles() -> Iterator[None]:
    """Millions of objects stay for a while, none of them in a cycle."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module", params=FILES)
def read(request: Any, tmp_path_factory: Any) -> tuple[Path, Ingested, list[dict[str, Any]], Reading]:
    """One file, read by the lake and by Python."""
    path = data_file(request.param)
    lake = new_lake(tmp_path_factory.mktemp("real") / "lake")
    result = ingest_one(lake, path)
    return path, result, stored(lake, result.trace_id), python_reads(content_of(path))


def test_every_element_of_the_array_is_a_row_but_for_the_empty_one_that_closes_it(read):
    path, result, rows, reading = read
    assert len(rows) == result.events
    assert (reading.events[-1] == {}) == (path.name in CLOSED)
    assert result.events + (path.name in CLOSED) == len(reading.events)
    assert result.rejected == 0
    assert result.repaired == 0
    assert result.unmatched == UNMATCHED.get(path.name, 0)
    assert result.truncated == (path.name in TRUNCATED) == (not reading.whole)
    assert len(reading.events) == TRUNCATED.get(path.name, len(reading.events))


def test_event_id_is_the_place_in_the_array(read):
    _, _, rows, reading = read
    assert [row["event_id"] for row in rows] == [nth for nth, event in enumerate(reading.events) if is_event(event)]
    wrong = [
        (row["event_id"], key, row[key], event.get(key))
        for row, event in pairs(rows, reading)
        for key in ("name", "ph", "pid", "tid", "id")
        if row[key] != event.get(key)
    ]
    assert wrong == []


def test_start_and_end_are_the_decimal_text_rounded_once_each(read):
    _, _, rows, reading = read
    wrong = [
        (row["event_id"], event.get("ts"), event.get("dur"), row["start_ns"], row["end_ns"])
        for row, event in pairs(rows, reading)
        if event["ph"] != "B"  # a begin event gets the end of its partner: test_begin_and_end
        if (row["start_ns"], row["end_ns"]) != start_and_end(event)
        or row["dur_ns"] != (None if row["end_ns"] is None else row["end_ns"] - row["start_ns"])
    ]
    assert wrong == []


def test_arguments_are_all_there_and_so_are_fields_without_a_column(read):
    _, _, rows, reading = read
    columns = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args"}
    wrong: list[Any] = []
    for row, event in pairs(rows, reading):
        args = None if row["args"] is None else floats(row["args"])
        if event["ph"] != "B" and args != comparable(event.get("args")):
            wrong.append((row["event_id"], row["args"], event.get("args")))
        extra = {key: value for key, value in event.items() if key not in columns}
        if floats(row["extra"] or "{}") != comparable(extra):
            wrong.append((row["event_id"], row["extra"], extra))
    assert wrong == []


def test_columns_taken_from_arguments_say_the_same_as_the_arguments(read):
    _, _, rows, reading = read
    names = {
        "correlation": ("correlation",),
        "external_id": ("External id",),
        "device": ("device", "Device Id"),
        "stream": ("stream", "Stream Id"),
    }
    wrong: list[Any] = []
    for row, event in pairs(rows, reading):
        if event["ph"] == "X" and event.get("cat") not in (None, "python_function"):
            args = event.get("args") or {}
            for column, keys in names.items():
                said = next((args[key] for key in keys if key in args), None)
                if row[column] != whole_number(said):
                    wrong.append((row["event_id"], column, row[column], said))
            dims = None if row["input_dims"] is None else json.loads(row["input_dims"])
            if comparable(dims) != comparable(args.get("Input Dims")):
                wrong.append((row["event_id"], "input_dims", dims))
    assert wrong == []


def test_kernel_time_summed_as_decimals_is_the_sum_of_dur_ns(read):
    # Exact where the profiler writes at most three places, as all these do; JAX has more and no such category.
    _, _, rows, reading = read
    kernels = [event for event in reading.events if event.get("cat") in ("kernel", "Kernel") and is_event(event)]
    durations = sum((Decimal(event["dur"]) for event in kernels), Decimal(0))
    assert sum(row["dur_ns"] for row in rows if row["category"] == "kernel") == durations * 1000


# Counted for the golden cases by the authors of the figures: events, and kernels by stream.
GOLDEN = {
    "sglang_qwen3-8b_prefill_mi300x": (60315, {3: 525, 2: 2}),
    "sglang_qwen3-8b_decode_mi300x": (2058, {3: 553, 2: 2}),
    "vllm_gpt-oss_decode_mi300x": (1993, {0: 425}),
    "vllm_gpt-oss_prefill_tp_b200": (24656, {7: 768}),
    "hf_qwen1.5-0.5b_h100": (18221, {7: 1465}),
    "deepseek-v3_train_h800": (14240, {7: 907, 27: 40, 23: 16}),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_cases_hold_the_published_numbers_of_events_and_kernels(name, tmp_path):
    lake: Layout = new_lake(tmp_path / "lake")
    result = ingest_one(lake, data_file(f"kineto/{name}.json.gz"))
    kernels = [
        row["stream"]
        for row in stored(lake, result.trace_id, "event_id, category, stream")
        if row["category"] == "kernel"
    ]
    assert (result.events, dict(Counter(kernels))) == GOLDEN[name]


def pairs(rows: list[dict[str, Any]], reading: Reading) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(row, reading.events[row["event_id"]]) for row in rows]


def floats(text: str) -> Any:
    """Return JSON as `comparable` does."""
    return json.loads(text, parse_int=float)


def whole_number(text: str | None) -> int | None:
    """Return the number a text stands for; addresses, as AMD writes streams, are hexadecimal."""
    if text is None or not (text.lstrip("-").isdecimal() or text.startswith("0x")):
        return None
    number = int(text, 0)
    return number if -(2**63) <= number < 2**63 else None
