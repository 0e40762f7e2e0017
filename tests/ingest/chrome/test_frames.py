"""The short way of Python frames gives the rows that the long way gives, and is taken where it can be."""

import contextlib
import json
from collections import Counter

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelake.ingest.chrome import frames
from tracelake.ingest.lanes import LaneWriter
from tracelake.ingest.slots import Slot

from ...support import Number, ingest_bytes, new_lake, pieces_of, python_reads, stored, trace_bytes
from ..credentials import token
from ..strange_traces import Pairs, events, expected_rows, rendered, row_of, times, words
from ..test_laws import empty_lake, slowly
from ..test_secrets import everything_in

SECRET = token("gh" + "p_", 36, 5)
KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"device": 0}}


def frame(nth, **other):
    args = {"Python parent id": nth // 2, "Python id": nth, "Ev Idx": nth}
    known = {"name": f"module.py({nth % 9}): f", "pid": 416, "tid": 417, "ts": 2915995407005.055 + nth, "dur": 0.125}
    return {"ph": "X", "cat": "python_function", **known, "args": args} | other


@pytest.fixture
def written(monkeypatch):
    """Count pieces written the short way, those that were refused there, and those taken back."""
    seen = Counter()
    write, undo = LaneWriter.write, LaneWriter.undo

    def counted_write(self, query, lane):
        seen["tried"] += 1
        rows = write(self, query, lane)
        seen["written"] += rows is not None
        return rows

    def counted_undo(self, lane):
        seen["undone"] += 1
        undo(self, lane)

    monkeypatch.setattr(LaneWriter, "write", counted_write)
    monkeypatch.setattr(LaneWriter, "undo", counted_undo)
    return seen


def rows_of(folder, content, size=2000):
    lake = new_lake(folder)
    with pieces_of(size):
        result = ingest_bytes(lake, content)
    return lake, result, stored(lake, result.trace_id)


def test_a_run_of_frames_goes_straight_to_its_file(tmp_path, written):
    content = trace_bytes([*map(frame, range(200)), *[KERNEL] * 50])
    _, result, rows = rows_of(tmp_path / "lake", content)
    assert result.events == 250
    assert [row["event_id"] for row in rows] == list(range(250))
    assert [row["start_ns"] for row in rows[:200]] == [2915995407005055 + 1000 * nth for nth in range(200)]
    assert {row["dur_ns"] for row in rows[:200]} == {125}
    assert written["written"] > 10
    assert (written["tried"], written["undone"]) == (written["written"], 0)


#: What makes a frame one for the long way.
ODD = [
    {"id": 5}, {"s": "t"}, {"unknown": 1}, {"ph": "B"}, {"ph": "i"}, {"cat": "PYTHON_FUNCTION"}, {"cat": "cpu_op"},
    {"ts": None}, {"ts": "text"}, {"ts": 5.12345}, {"ts": -5}, {"ts": 2**51}, {"ts": 2**43 + 0.5}, {"ts": 1e300},
    {"dur": None}, {"dur": 2**53}, {"dur": -0.5}, {"args": {"note": SECRET}}, {"args": {SECRET: 1}},
    {"name": f"log {SECRET}"}, {"pid": SECRET}, {"tid": SECRET}, {"pid": None}, {"tid": 140234567890123},
]  # fmt: skip
PLAIN = [
    {"ts": 0, "dur": 0}, {"ts": 1695835535000000, "dur": 7}, {"ts": 2**43 - 1 + 0.999}, {"dur": 0.001},
    {"name": None}, {"name": "a\"b\n\u00e9"}, {"args": {"note": "x", "list": [1]}}, {"args": "text"}, {"args": None},
]  # fmt: skip


@pytest.mark.parametrize("other", ODD + PLAIN, ids=str)
def test_a_frame_that_is_not_like_the_others_is_the_row_that_the_long_way_gives(tmp_path, monkeypatch, written, other):
    events = [frame(nth, **(other if nth in (30, 31, 50) else {})) for nth in range(80)]
    content = trace_bytes([*events, KERNEL])
    lake, short, rows = rows_of(tmp_path / "lake", content)
    if SECRET in str(other):
        assert SECRET not in everything_in(lake.root)
    assert written["written"] >= 2
    monkeypatch.setattr(frames, "likely", lambda *_: False)
    _, long, expected = rows_of(tmp_path / "long", content)
    assert rows == expected
    assert (short.events, short.rejected, short.redacted) == (long.events, long.rejected, long.redacted)


@pytest.mark.parametrize(("other", "plain"), [(one, False) for one in ODD] + [(one, True) for one in PLAIN], ids=str)
def test_what_is_not_plain_leaves_no_file(tmp_path, other, plain):
    slot = Slot(10_000, opening=frames.HEAD)
    with duckdb.connect() as connection:
        writer = LaneWriter(connection, tmp_path, 0)
        slot.fill(b",".join(json.dumps(event).encode() for event in (frame(1), frame(2, **other), frame(3))))
        rows = None
        with contextlib.suppress(duckdb.InvalidInputException):
            rows = writer.write(frames.query(slot.path, 5), frames.LANE)
    slot.close()
    assert rows == (3 if plain else None)
    assert len(list(tmp_path.rglob("*.parquet"))) == plain


def test_pieces_whose_number_was_foretold_wrongly_are_written_again(tmp_path, written):
    # What separates two events stands inside of one: only the count of the rows shows that it does not.
    nested = {"args": {"list": [{"x": 1}, {"ph": 1}]}}
    content = trace_bytes([frame(nth, **(nested if nth in (50, 120) else {})) for nth in range(200)])
    content = content.replace(b'}, {"ph"', b'},\n  {"ph"')
    _, result, rows = rows_of(tmp_path / "lake", content)
    assert result.events == 200
    assert [row["event_id"] for row in rows] == list(range(200))
    assert written["undone"] > 0


def test_the_short_way_is_given_up_where_it_fails_again_and_again(tmp_path, written):
    content = trace_bytes([frame(nth, **({"tid": 140234567890123} if nth % 3 == 1 else {})) for nth in range(400)])
    _, result, _ = rows_of(tmp_path / "lake", content)
    assert result.events == 400
    # A few more were under way.
    assert written["written"] == 0
    assert 4 <= written["tried"] <= 6


@pytest.mark.parametrize(("events", "expected", "border"), [
    ([frame(1), frame(2)], True, None),
    ([frame(1)], True, None),
    ([KERNEL], False, None),
    ([frame(1), frame(2), KERNEL, KERNEL], False, 2),
    ([KERNEL, frame(1), frame(2)], False, 1),
    ([KERNEL, frame(1), KERNEL], False, None),
    ([frame(1), KERNEL, frame(2)], True, None),  # a guess
    ([{**KERNEL, "args": {"note": '"python_function"'}}, frame(1)], False, 1),
])  # fmt: skip
def test_where_a_piece_begins_and_ends_with_a_frame_the_rest_are_likely_to_be_frames(events, expected, border):
    texts = [json.dumps(event).encode() for event in events]
    separators = [b'},\n{"ph":', b'},{"ph":']
    slot = Slot(5000)
    try:
        slot.fill(b",\n".join(texts))
        end = slot.start + len(b",\n".join(texts))
        assert frames.likely(slot, end, separators) is expected
        assert frames.count(slot, end, separators) == len(events)
        at = None if border is None else slot.start + len(b",\n".join(texts[:border]))
        assert frames.border(slot, end, separators) == at
    finally:
        slot.close()


def test_frames_are_cut_from_what_stands_before_and_behind_them(tmp_path, written):
    runs = [[{**KERNEL, "ts": nth}] * 20 + [frame(100 * nth + more) for more in range(12)] for nth in range(8)]
    _, result, rows = rows_of(tmp_path / "lake", trace_bytes([event for run in runs for event in run]), size=3600)
    assert [row["event_id"] for row in rows] == list(range(8 * 32))
    assert result.events == 8 * 32
    # Cut by their size alone, no piece would hold frames alone.
    assert written["written"] >= 6
    assert written["undone"] == 0


@st.composite
def runs(draw):
    """Runs of frames, in which one may be strange, with strange events between them."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        begins, count = draw(st.integers(0, 10**12)), draw(st.integers(5, 40))
        alike = [
            ("ph", "X"),
            ("cat", "python_function"),
            ("pid", Number(1)),
            ("tid", Number(1)),
            ("dur", Number("0.5")),
        ]
        run = [
            [*alike, ("name", f"f {nth}"), ("ts", Number(f"{begins + nth}.{nth:03d}")), ("args", Pairs([("id", nth)]))]
            for nth in range(count)
        ]
        for nth in draw(st.lists(st.integers(0, count - 1), max_size=1)):
            strange = {"name": words, "ts": times.map(Number), "dur": times.map(Number), "args": events(), "new": words}
            key = draw(st.sampled_from(sorted(strange)))
            run[nth] = [*(pair for pair in run[nth] if pair[0] != key), (key, draw(strange[key]))]
        found += [Pairs(pairs) for pairs in run] + draw(st.lists(events(), max_size=2))
    return found


@given(runs(), st.integers(300, 3000))
@slowly
def test_runs_of_frames_are_the_rows_that_python_reads_whatever_the_size_of_the_pieces(elements, size):
    content = b'{"traceEvents": [' + ",\n  ".join(map(rendered, elements)).encode("utf-8", "replace") + b"]}"
    reading = python_reads(content)
    rows = expected_rows(reading.events)
    with empty_lake() as lake, pieces_of(size):
        result = ingest_bytes(lake, content)
        assert [row_of(row) for row in stored(lake, result.trace_id)] == rows
        assert (result.events, result.rejected) == (len(rows), len(reading.events) - len(rows))
