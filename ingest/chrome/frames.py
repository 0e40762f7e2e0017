"""The fast path for pieces that contain only Python frames: most of a trace recorded with stacks.

A frame has eight fields, and none of its arguments has a column. Such a piece is written from the parser directly to
its file, while others are first held as a table. The query fails at the first event that is not a plain frame: one
with a field more or less, with a time that its double may not represent, or with arguments that may hold a credential.
The piece then takes the normal path, which decides. The number of its first event is known only when the earlier ones
have been counted, so it is predicted by counting separators, and verified afterwards.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection

from ...engine import secrets
from ...engine.schema import EVENT_COLUMNS
from ...engine.sql.modules import quoted
from ..credentials import suspected
from ..slots import Slot
from .parse import HEAD_ROWS, LARGEST_EVENT

#: The lane of frames.
LANE = "python"
_CATEGORY = "python_function"
_MARK = f'"{_CATEGORY}"'.encode()
#: Bytes at the ends of a piece that show whether its first and last events are frames.
_END_BYTES = 4096
#: Bytes searched for separators at once.
_COUNT_BYTES = 1 << 20
#: Below these µs, fractions are exact to the nanosecond (see `parse`), and start plus duration is a valid time.
_FRACTION_LIMIT, _TIME_LIMIT = 2**43, 2**51

_KINDS = dict.fromkeys(("ph", "cat", "name", "pid", "tid", "args"), "x") | dict.fromkeys(("ts", "dur"), 0.5)
#: The beginning of such a piece's array: see `parse.head`.
HEAD = f"[{json.dumps(_KINDS | {'args': []})},{json.dumps({'args': 1})},".encode()


def likely(slot: Slot, end: int, separators: Collection[bytes]) -> bool:
    """Whether the first and last events of a piece are frames, in which case usually all are."""
    return all(_ends(slot, end, separators))


def border(slot: Slot, end: int, separators: Collection[bytes]) -> int | None:
    """Return where a piece with frames at one end has other events, between two events; None if nowhere."""
    first, last = _ends(slot, end, separators)
    if first == last:
        return None
    if last:
        return 1 + max((slot.find_last(one, slot.find(_MARK, slot.start, end)) for one in separators), default=-1)
    behind = slot.find_last(_MARK, end)
    return 1 + min((at for one in separators if (at := slot.find(one, behind, end)) >= 0), default=-1)


def _ends(slot: Slot, end: int, separators: Collection[bytes]) -> tuple[bool, bool]:
    first = slot.copy(slot.start, min(end, slot.start + _END_BYTES))
    last = slot.copy(max(slot.start, end - _END_BYTES), end)
    begins = min((at for one in separators if (at := first.find(one)) >= 0), default=len(first))
    return 0 <= first.find(_MARK) < begins, last.rfind(_MARK) > max(map(last.rfind, separators), default=-1)


def count(slot: Slot, end: int, separators: Collection[bytes]) -> int:
    """Return the apparent number of events in a piece, from its separators."""
    found = 1
    for begin in range(slot.start, end, _COUNT_BYTES):
        for separator in separators:
            found += slot.copy(begin, min(end, begin + _COUNT_BYTES + len(separator) - 1)).count(separator)
    return found


def query(path: str, base: int) -> str:
    """Return the SELECT of a piece's rows; it begins with `HEAD`, and its first event is number `base` of the trace."""
    given = {
        "event_id": f"{base} + nth",
        "ph": "'X'",
        "category": quoted(_CATEGORY),
        "name": "name",
        "pid": "pid",
        "tid": "tid",
        "start_ns": "start_ns",
        "dur_ns": "dur_ns",
        "end_ns": "start_ns + dur_ns",
        "args": "args",
    }
    columns = ", ".join(f"{given.get(name, f'NULL::{kind}')} AS {name}" for name, kind in EVENT_COLUMNS.items())
    return f"SELECT {columns} FROM ({_rows()})".replace("{path}", quoted(path))


@functools.cache
def _rows() -> str:
    def nanoseconds(time: str) -> str:
        return f"CAST({time}_whole AS BIGINT) * 1000 + CAST(round({time}_rest) AS BIGINT)"

    def shown(time: str) -> str:
        whole, rest = f"{time}_whole", f"{time}_rest"
        return (
            f"{whole} >= 0 AND {whole} < {_TIME_LIMIT} AND ({whole} < {_FRACTION_LIMIT} OR {rest} = 0)"
            f" AND abs({rest} - round({rest})) <= {whole} * 2.3e-13 + 1e-7"
        )

    plain = " AND ".join((
        f"ph = 'X' AND cat = {quoted(_CATEGORY)}",
        shown("ts"),
        shown("dur"),
        f"strlen(pid) < {secrets.SHORTEST} AND strlen(tid) < {secrets.SHORTEST}",
        f"NOT {suspected('args', json=True)}",
    ))  # fmt: skip
    return f"""
SELECT
    nth, name, pid, tid, args,
    CASE WHEN {plain} THEN {nanoseconds("ts")} ELSE error('no plain frame') END AS start_ns,
    {nanoseconds("dur")} AS dur_ns
FROM (
    SELECT *, (ts - ts_whole) * 1000 AS ts_rest, (dur - dur_whole) * 1000 AS dur_rest
    FROM (
        SELECT
            row_number() OVER () - {HEAD_ROWS + 1} AS nth,
            ph, cat, name, pid, tid, CAST(args AS VARCHAR) AS args, ts, dur, floor(ts) AS ts_whole,
            floor(dur) AS dur_whole
        FROM read_json(
            {{path}}, format = 'array', records = true, maximum_object_size = {LARGEST_EVENT},
            sample_size = {HEAD_ROWS}, maximum_depth = 2
        )
    )
)
WHERE nth >= 0"""
