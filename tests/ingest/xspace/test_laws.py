"""Laws of the XSpace reader: every event is a row wherever batches end, a damaged file is never more than its parts."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracelake.engine.errors import InputError
from tracelake.ingest.xspace import chains, lines
from tracelake.ingest.xspace import names as descriptions
from tracelake.ingest.xspace.columns import PADDING
from tracelake.ingest.xspace.events import Line as Clock
from tracelake.ingest.xspace.events import event_table
from tracelake.ingest.xspace.names import Names
from tracelake.ingest.xspace.planes import Described, Plane
from tracelake.synthetic import xspace
from tracelake.synthetic.xspace import Event, Line, plane, space, tpu_space

from ...support import ingest_bytes, nanoseconds, new_lake, stored

slowly = settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
COLUMNS = "event_id, ph, name, pid, tid, start_ns, end_ns, args"


#: Within eight minutes, in which doubles of microseconds are right to a tenth of a picosecond.
PS = 4 * 10**14
HALVES = st.integers(-PS // 1000, PS // 1000).map(lambda ns: ns * 1000 + 500)
OFFSETS, DURATIONS = st.integers(-PS, PS) | HALVES, st.integers(0, PS // 4)


@given(st.lists(st.tuples(OFFSETS, DURATIONS), min_size=1), st.integers(-PS // 4000, PS // 4000))
@settings(deadline=None, max_examples=40)
def test_start_and_end_are_those_of_the_decimal_microseconds_of_a_chrome_trace(times, start_ns):
    held = [xspace.message(4, xspace.number(1, 1), xspace.number(2, at), xspace.number(3, long)) for at, long in times]
    starts, ends, at = [], [], 0
    for one in held:
        body = len(one) - 2
        starts.append(at + 2)
        ends.append(at + 2 + body)
        at += len(one)
    names = Names(Plane("/host:CPU", events={1: Described("a", {})}))
    data = np.frombuffer(b"".join(held) + PADDING, np.uint8)
    table, _ = event_table(data, np.array(starts), np.array(ends), Clock("1", "main", start_ns), names)

    def decimal(ps: int) -> str:
        return f"{ps / 1e6:.17g}"

    assert table.column("reason").null_count == len(times)
    for nth, (offset, long) in enumerate(times):
        ps = start_ns * 1000 + offset
        assert table.column("start_ns")[nth].as_py() == nanoseconds(decimal(ps))
        assert table.column("end_ns")[nth].as_py() == nanoseconds(decimal(ps), decimal(max(long, 1)))


@pytest.mark.parametrize(("events", "size"), [(1, 400), (3, 150), (65536, 40)])
def test_rows_do_not_depend_on_where_batches_end(tmp_path, monkeypatch, events, size):
    layout = new_lake(tmp_path / "lake")
    whole = stored(layout, ingest_bytes(layout, tpu_space(), "a.xplane.pb").trace_id, COLUMNS)
    monkeypatch.setattr(descriptions, "EVENTS_AT_ONCE", events)
    monkeypatch.setattr(lines, "BYTES_AT_ONCE", size)
    other = new_lake(tmp_path / "other")
    assert stored(other, ingest_bytes(other, tpu_space(), "a.xplane.pb").trace_id, COLUMNS) == whole
    assert [row["event_id"] for row in whole] == list(range(18))


FIRST_PLANE = plane(
    "/host:CPU", [Line("main", 1, [Event(f"call {nth % 3}", nth * 1000, 900, {"n": nth}) for nth in range(40)])]
)
WHOLE = space(
    FIRST_PLANE,
    plane("/device:TPU:0", [Line("XLA Ops", 2, [Event("op", nth * 1000, 900) for nth in range(40)])]),
)


@given(st.integers(1, len(WHOLE) - 1))
@slowly
def test_a_file_cut_anywhere_gives_whole_planes_and_says_that_it_is_cut(at):
    with tempfile.TemporaryDirectory() as folder:
        layout = new_lake(Path(folder) / "lake")
        try:
            result = ingest_bytes(layout, WHOLE[:at], "a.xplane.pb")
        except InputError:
            return
        assert result.truncated == (at != FIRST)
        events = [row for row in stored(layout, result.trace_id, "ph, pid") if row["ph"] == "X"]
        # Names come behind events: without them no event of a plane can be stored.
        assert sum(row["pid"] == "701" for row in events) == (40 if at >= FIRST else len(events))
        assert result.events + result.rejected >= 42 * (at >= FIRST)


#: Where the second plane begins.
FIRST = len(space(FIRST_PLANE))


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
@slowly
def test_a_damaged_file_is_read_as_far_as_it_can_be_or_refused_in_a_sentence(changes):
    content = bytearray(WHOLE)
    for at, value in changes:
        content[at] = value
    with tempfile.TemporaryDirectory() as folder:
        layout = new_lake(Path(folder) / "lake")
        try:
            result = ingest_bytes(layout, bytes(content), "a.xplane.pb")
        except InputError:
            return
        ids = [row["event_id"] for row in stored(layout, result.trace_id, "event_id")]
        assert len(ids) == len(set(ids)) == result.events


@given(
    st.lists(st.binary(max_size=300) | st.just(b"\x22\x02\x08\x01" * 60) | st.just(bytes(20_000)), max_size=40),
    st.booleans(),
)
@slowly
def test_events_found_from_many_places_are_those_found_one_after_the_other(bodies, cut):
    text = b"".join(xspace.message(4, body) for body in bodies) + (b"\x22\x05ab" if cut else b"\0\0\0")
    data = np.frombuffer(text, np.uint8)
    ends = np.cumsum([len(xspace.message(4, body)) for body in bodies], dtype=int).tolist()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_FEW", 64), ("_STRETCH", 64), ("_WINDOW", 1 << 12)):
            patch.setattr(chains, name, value)
        starts, end = chains.events_from(data, 0)
    assert starts.tolist() == [0, *ends][: len(bodies)]
    assert end == ([0, *ends])[-1]
    assert [text[at:stop] for at, stop in zip(chains.bodies(data, starts).tolist(), ends, strict=True)] == bodies
