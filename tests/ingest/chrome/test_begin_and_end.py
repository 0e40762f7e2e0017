"""Begin and end events: a begin event gets the time of its end, as a stack for each thread would have it."""

import json
from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tracelake.lake import Lake

from ...support import ingest_bytes, new_lake, pieces_of, stored, trace_bytes
from ..test_laws import empty_lake, slowly


@st.composite
def begins_and_ends(draw: Any) -> list[dict[str, Any]]:
    """Events of two threads, in and out of order, some ends without a name, some times equal."""
    found = []
    for _ in range(draw(st.integers(1, 30))):
        event = {
            "ph": draw(st.sampled_from("BE")),
            "pid": 1,
            "tid": draw(st.integers(0, 1)),
            "ts": draw(st.integers(0, 12)),
        }
        if event["ph"] == "B" or draw(st.integers(0, 4)):
            event["name"] = draw(st.sampled_from(["load", "step", "save"]))
        found.append(event)
    return sorted(found, key=lambda event: event["ts"]) if draw(st.booleans()) else found


def by_stacks(events: list[dict[str, Any]]) -> tuple[dict[int, int], int]:
    """Return the end event of each begin event that has one, and how many of both have no partner."""
    threads = defaultdict(list)
    for nth, event in enumerate(events):
        threads[event["tid"]].append((event["ts"], nth, event))
    partner, alone = {}, 0
    for found in threads.values():
        named = all("name" in event for _, _, event in found if event["ph"] == "E")
        stacks = defaultdict(list)
        for _, nth, event in sorted(found, key=lambda item: item[:2]):
            stack = stacks[event["name"] if named else None]
            if event["ph"] == "B":
                stack.append(nth)
            elif stack:
                partner[stack.pop()] = nth
            else:
                alone += 1
        alone += sum(map(len, stacks.values()))
    return partner, alone


@given(begins_and_ends())
@settings(slowly, max_examples=30)
def test_partners_are_those_that_a_stack_for_each_thread_finds(events):
    partner, alone = by_stacks(events)
    with empty_lake() as lake, pieces_of(400):
        result = ingest_bytes(lake, trace_bytes(events))
        rows = stored(lake, result.trace_id)
    assert [row["event_id"] for row in rows] == list(range(len(events)))
    ends = {row["event_id"]: row["end_ns"] for row in rows if row["end_ns"] is not None}
    assert ends == {begin: events[end]["ts"] * 1000 for begin, end in partner.items()}
    assert result.unmatched == alone


def test_a_begin_event_carries_the_arguments_of_both_and_the_end_event_stays_a_row(tmp_path):
    events = [
        {"ph": "B", "pid": 1, "tid": 1, "ts": 1.5, "name": "step", "args": {"loss": 1, "lr": 2}},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 4, "args": {"loss": 3, "tokens": 4}},
    ]
    lake = new_lake(tmp_path / "lake")
    begin, end = stored(lake, ingest_bytes(lake, trace_bytes(events)).trace_id)
    assert (begin["start_ns"], begin["dur_ns"], begin["end_ns"]) == (1500, 2500, 4000)
    assert json.loads(begin["args"]) == {"loss": 3, "lr": 2, "tokens": 4}
    assert (end["ph"], end["start_ns"], end["end_ns"], json.loads(end["args"])) == (
        "E",
        4000,
        None,
        {"loss": 3, "tokens": 4},
    )


def test_ends_with_names_close_their_own_begins_when_the_file_does_not_nest_them(tmp_path):
    # beta and gamma begin and end in the same order: one stack would give beta gamma's end.
    events = [
        {"ph": ph, "pid": 1, "tid": 1, "ts": ts, "name": name}
        for ph, ts, name in [("B", 0, "beta"), ("B", 1, "gamma"), ("E", 5, "beta"), ("E", 9, "gamma")]
    ]
    lake = new_lake(tmp_path / "lake")
    rows = stored(lake, ingest_bytes(lake, trace_bytes(events)).trace_id)
    assert [(row["name"], row["end_ns"]) for row in rows[:2]] == [("beta", 5000), ("gamma", 9000)]


def test_an_end_before_any_begin_takes_nothing_from_what_follows(tmp_path):
    events = [
        {"ph": ph, "pid": 1, "tid": 1, "ts": ts}
        for ph, ts in [("E", 0), ("B", 1), ("B", 2), ("E", 3), ("E", 4), ("E", 5)]
    ]
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, trace_bytes(events))
    ends = [row["end_ns"] for row in stored(lake, result.trace_id)]
    assert ends == [None, 4000, 3000, None, None, None]
    assert result.unmatched == 2


def test_a_kernel_that_begins_and_ends_is_one_of_a_device(tmp_path):
    kernel = {"cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
    events = [{**kernel, "ph": ph, "ts": 100 * nth + after} for nth in range(3) for ph, after in (("B", 0), ("E", 50))]
    with Lake(tmp_path / "lake") as lake:
        (tmp_path / "pairs.json").write_bytes(trace_bytes([{**kernel, "ph": "X", "ts": 300, "dur": 50}, *events]))
        lake.ingest(tmp_path / "pairs.json")
        assert lake.rows("SELECT count(*), sum(dur_ns), min(device), max(stream) FROM kernels") == [(4, 200_000, 0, 7)]
        assert lake.rows("SELECT window_us, compute_us FROM time_breakdown") == [(350, 200)]
        assert lake.rows("SELECT value FROM health WHERE \"check\" = 'no_duration'") == [(0,)]
