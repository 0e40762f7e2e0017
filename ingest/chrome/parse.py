"""SQL that turns one piece of the event array into rows: DuckDB reads the JSON, these expressions map each event.

Time. The profiler writes microseconds as decimal text; rows hold nanoseconds. There are two conversions.

`FAST` reads numbers as doubles. A decimal of at most three places below 2^43 µs (101 days) is recovered from its
double exactly: doubles there are less than 0.001 µs apart, so the nearest thousandth is the text's. Kineto's clock
since 2.1 starts at most a quarter of a year back for this very reason. Whole numbers are exact up to 2^53. The query
marks every value whose double shows that this is uncertain; a single mark sends the piece through the other conversion.
From 2^39 µs on (6 days) a double need not show it: there, text with a decimal point is checked (`hides_places`). A time
with a negative exponent and no point (171234567802e-1) is not checked; no known writer produces one.

`EXACT` reads the text: the bytes are rewritten so that numbers after "ts" and "dur" are quoted, and decimal
arithmetic with 18 places does the rest, rounding start and end each to the nearest nanosecond, halves away from zero.
"""

from __future__ import annotations

import csv
import enum
import functools
import json
import re
import secrets
from dataclasses import dataclass, field

from ...engine.sql.modules import csv_file, quoted
from ..slots import Slot

#: Keys of the Chrome trace format that have a column; every other key goes to `extra`.
COLUMN_KEYS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args")
#: All other keys written by Kineto.
KINETO_KEYS = ("bp", "s", "id2", "scope", "cname", "tts", "tdur")
#: The format's other keys. Kineto's files do not use them, and omitting them saves a fifth of the parsing. Unknown keys
#: are added when a sample of a piece has them.
FORMAT_KEYS = (
    "sf", "esf", "stack", "estack", "bind_id", "flow_in", "flow_out", "use_async_tts", "v", "tidelta", "ticount",
)  # fmt: skip

#: All of these: a different key may belong to the object around the array, if an event's end is damaged.
EVENT_KEYS = frozenset((*COLUMN_KEYS, *KINETO_KEYS, *FORMAT_KEYS))
#: Maximum number of other keys with a column of their own, and of the bytes of their names. The rest goes to `REST`.
_MOST_KEYS = 64
_KEY_BYTES = 2048
#: The lane of empty objects, those whose values are all null, and null: they hold no event and are not stored. rocprof
#: opens its array with an empty object, JAX and XProf close theirs so.
EMPTY_LANE = "empty"
#: The key under which a repaired event has, as an object, the fields whose keys have no column.
REST = "tracelake:rest"
#: Bytes before the events of a piece: rows that declare the keys and their types.
HEAD_BYTES = 8192
HEAD_ROWS = 2

#: DuckDB's read buffer is twice the largest expected event. A piece with a larger one fails to
#: parse, and is read again with a larger buffer.
LARGEST_EVENT = 8 << 20
#: Doubles are less than 0.001 µs apart below this many µs.
_FAST_LIMIT = 2**43
#: Whole numbers below this many µs fit a double, and two of them added up fit 64 bits as ns.
_WHOLE_LIMIT = 2**52
#: Stands before the text of a number in quotes. Random, since any fixed text may begin a string of a trace.
_MARK = f"={secrets.token_hex(3)}"
_MARKED = rb'\1"%s\2"' % _MARK.encode()
_TIME_TEXT = re.compile(
    rb'("(?:ts|dur)"[ \t\n\r]*+:[ \t\n\r]*+)'
    rb"(-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+)(?=[ \t\n\r,}\]])"
)
#: The point of a number whose double may not show all of its places: with 12 digits before it a fourth place, with 14
#: any; with an exponent all of them. The pattern begins with the rare byte, which is found fast.
_PLACES = re.compile(rb"\.[0-9](?:[0-9]{3}(?<=[0-9]{12}\.[0-9]{4})|(?<=[0-9]{14}\.[0-9])|[0-9]*+[eE])")
#: What stands before such a point where the number is a time, and how far back that is looked for.
_OF_TIME = re.compile(rb'"(?:ts|dur)"[ \t\n\r]*+:[ \t\n\r]*+(?:"[ \t\n\r]*+)?+[-+]?+[0-9]*+\.\Z')
_OF_TIME_BYTES = 96


class Clock(enum.Enum):
    """How times are parsed."""

    FAST = "fast"
    EXACT = "exact"


@dataclass
class Dialect:
    """What the reader has learnt about a file so far.

    Attributes:
        clock: the conversion of times.
        extra_keys: keys of events that have no column.
        device_pids: processes that represent devices, from the file's own metadata events (JAX, Ascend).
    """

    clock: Clock = Clock.FAST
    extra_keys: dict[str, None] = field(default_factory=lambda: dict.fromkeys(KINETO_KEYS))
    device_pids: set[str] = field(default_factory=set)
    _taken: tuple[int, set[str], int] | None = None

    def learn(self, sample: list[dict[str, object]]) -> None:
        """Learn the keys and the number formats of some events, as returned by `sample_events`."""
        for event in sample:
            for key in event:
                self.adopt(key)
            for key in ("ts", "dur"):
                if key in event and not _fits_a_double(event[key]):
                    self.clock = Clock.EXACT

    def adopt(self, key: str) -> bool:
        """Return whether a key has a column, adding one if there is room."""
        if key in COLUMN_KEYS or key in self.extra_keys:
            return True
        if self._taken is None or self._taken[0] != len(self.extra_keys):
            # Column names are case-insensitive, keys are not.
            names = {name.lower() for name in (*COLUMN_KEYS, *self.extra_keys, REST)}
            self._taken = len(self.extra_keys), names, sum(map(len, self.extra_keys))
        _, names, size = self._taken
        size += len(key.encode("utf-8", "replace"))
        if (
            not key.isprintable()
            or key.strip() in ("", REST)
            or key.lower() in names
            or size > _KEY_BYTES
            or len(self.extra_keys) >= _MOST_KEYS
        ):
            return False
        self.extra_keys[key] = None
        return True


class _NumberText(str):
    """The text of a JSON number."""

    __slots__ = ()


def sample_events(texts: list[bytes]) -> list[dict[str, object]]:
    """Parse a few events, keeping numbers as text. Invalid ones are skipped: the parser reports them."""
    events = []
    for text in texts:
        try:
            event = json.loads(text, parse_float=_NumberText, parse_int=_NumberText)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def _fits_a_double(value: object) -> bool:
    if not isinstance(value, _NumberText):
        return value is None
    whole, _, places = value.partition(".")
    if "e" in value.lower() or len(places) > 3 or len(whole) > 16:
        return False
    return abs(int(whole)) < (_FAST_LIMIT if places else _WHOLE_LIMIT)


def hides_places(slot: Slot, end: int) -> bool:
    """Whether the piece that ends at `end` has a time of which its double may not show all places."""
    return any(_OF_TIME.search(slot.copy(max(slot.start, at - _OF_TIME_BYTES), at)) for at in slot.places(_PLACES, end))


def quote_times(text: bytes) -> bytes:
    """Put the numbers after "ts" and "dur" in quotes with a mark before them, so that the parser preserves their text.

    Arguments may have such keys too; the mark lets the query tell their numbers from strings, and undo the change.
    """
    return _TIME_TEXT.sub(_MARKED, text)


def head(dialect: Dialect, *, rest: bool = False) -> bytes:
    """Return the beginning of a piece's array: rows that declare the columns and their types, with a final comma.

    DuckDB takes both from the first rows, and refuses a later row with another key; with columns listed in the
    query, it would silently ignore other keys.
    """
    time: object = 0.5 if dialect.clock is Clock.FAST else "x"
    kinds: dict[str, object] = dict.fromkeys(COLUMN_KEYS, "x") | {"ts": time, "dur": time}
    # A column with an array in one row and a number in the next has type JSON.
    of_json = ["args", *dialect.extra_keys, *([REST] if rest else [])]
    rows = kinds | {key: [] for key in of_json}, dict.fromkeys(of_json, 1)
    return b"[" + "".join(json.dumps(row, ensure_ascii=False) + "," for row in rows).encode()


def segment_query(path: str, dialect: Dialect, *, largest_event: int = LARGEST_EVENT, rest: bool = False) -> str:
    """Return the SELECT that reads one piece, which begins with `head`; `rest` as in the head.

    Its columns: nth, suspect, lane, and the event columns except the id.
    """
    fast = dialect.clock is Clock.FAST
    # The values are already JSON text.
    members = [
        f"{quoted(json.dumps(key, ensure_ascii=False) + ':')} || CAST({_identifier(key)} AS VARCHAR)"
        for key in dialect.extra_keys
    ]
    if rest:
        text = f"CAST({_identifier(REST)} AS VARCHAR)"
        members.append(f"substr({text}, 2, length({text}) - 2)")
    present = ", ".join(_identifier(key) for key in (*dialect.extra_keys, *([REST] if rest else [])))
    start, end, suspect, beyond = _fast_times() if fast else _exact_times()
    devices = ", ".join(quoted(pid) for pid in sorted(dialect.device_pids))
    on_device = f"pid IN ({devices})" if devices else "false"

    def unmarked(text: str) -> str:
        if fast:
            return text
        number = f'regexp_replace({text}, \'"(ts|dur)":"{_MARK}([^"]*)"\', \'"\\1":\\2\', \'g\')'
        return f"CASE WHEN contains({text}, '\":\"{_MARK}') THEN {number} ELSE {text} END"

    extra = unmarked(f"'{{' || concat_ws(',', {', '.join(members)}) || '}}'")
    return f"""
SELECT
    nth,
    {suspect} AS suspect,
    CASE
        WHEN category = 'python_function' AND ph = 'X' AND start_ns IS NOT NULL AND NOT beyond THEN 'python'
        WHEN coalesce(ph, category, name, pid, tid, id, args, extra) IS NULL AND ts IS NULL AND dur IS NULL
            THEN '{EMPTY_LANE}'
        WHEN ph IS NULL OR (start_ns IS NULL AND ph <> 'M') OR beyond THEN 'rejected'
        WHEN ph IN ('B', 'E') THEN 'pair'
        WHEN ph = 'M' THEN 'meta'
        WHEN ph IN ('s', 't', 'f') THEN 'flow'
        WHEN category IS NULL AND starts_with(name, '$') THEN 'python'
        WHEN category IN ({device_categories()}) THEN 'device'
        WHEN {on_device} THEN 'device'
        ELSE 'host'
    END AS lane,
    ph, category, name, pid, tid, start_ns, TRY(end_ns - start_ns) AS dur_ns, end_ns,
    -- JAX names it otherwise, in events without a category.
    TRY_CAST(coalesce(found[1], CASE WHEN category IS NULL THEN found[9] END) AS BIGINT) AS correlation,
    TRY_CAST(found[2] AS BIGINT) AS external_id,
    TRY_CAST(coalesce(found[3], found[4]) AS INTEGER) AS device,
    TRY_CAST(coalesce(found[5], found[6]) AS BIGINT) AS stream,
    {_listed("coalesce(found[7], old_dims)", "[", "],[", "]")} AS input_dims,
    {_listed("found[8]", '"', '","', '"')} AS input_types,
    id,
    args,
    extra
FROM (
    SELECT
        row_number() OVER () - {HEAD_ROWS + 1} AS nth,
        -- PyTorch 1.8 wrote operators otherwise.
        ph, CASE cat WHEN 'Operator' THEN 'cpu_op' ELSE lower(cat) END AS category, name, pid, tid, ts, dur,
        {start} AS start_ns, {end} AS end_ns, {beyond} AS beyond, id,
        CASE WHEN args IS NOT NULL AND ph IN ('X', 'B', 'i', 'I') AND cat IS DISTINCT FROM 'python_function' THEN
            json_extract_string(args, [
                '$.correlation', '$."External id"', '$.device', '$."Device Id"', '$.stream', '$."Stream Id"',
                '$."Input Dims"', '$."Input type"', '$.correlation_id'
            ])
        END AS found,
        -- Kineto's viewer reads this spelling too.
        CASE WHEN cat = 'Operator' THEN json_extract_string(args, '$."Input dims"') END AS old_dims,
        {unmarked("CAST(args AS VARCHAR)")} AS args,
        CASE WHEN coalesce({present}) IS NOT NULL THEN
            {extra}
        END AS extra
    FROM read_json(
        {quoted(path)}, format = 'array', records = true, maximum_object_size = {largest_event},
        sample_size = {HEAD_ROWS}, maximum_depth = 2
    )
)
WHERE nth >= 0"""


@functools.cache
def device_categories() -> str:
    """Return the categories of device events, as a SQL list."""
    with csv_file("event_categories").open(encoding="utf-8", newline="") as rows:
        return ", ".join(quoted(row["category"]) for row in csv.DictReader(rows) if row["lane"] == "device")


def _listed(text: str, opening: str, between: str, closing: str) -> str:
    """Return the expression of an argument's JSON array, also where torch_npu writes `;` and CR LF between items."""
    plain = f"trim(replace(replace({text}, chr(13), ''), chr(10), ''))"
    items = f"replace({plain}, ';', {quoted(between)})"
    array = f"{quoted('[' + opening)} || {items} || {quoted(closing + ']')}"
    array = f"CASE {plain}[1] WHEN '[' THEN {plain} WHEN '{{' THEN NULL ELSE {array} END"
    return f"CASE WHEN {text}[1] = '[' AND json_valid({text}) THEN {text} WHEN json_valid({array}) THEN {array} END"


def _identifier(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'


def _fast_times() -> tuple[str, str, str, str]:
    """Return expressions for start, end, whether a double may hide part of the text, and whether there is no end."""

    def nanoseconds(column: str) -> str:
        whole = f"floor({column})"
        return f"(CAST({whole} AS BIGINT) * 1000 + CAST(round(({column} - {whole}) * 1000) AS BIGINT))"

    def usable(column: str) -> str:
        return f"(isfinite({column}) AND abs({column}) < {_WHOLE_LIMIT})"

    def hidden(column: str) -> str:
        # A value with more than three places is off the grid of thousandths by more than its double's own error.
        thousandths = f"(({column} - floor({column})) * 1000)"
        return (
            f"(NOT {usable(column)} OR (abs({column}) >= {_FAST_LIMIT} AND {column} <> floor({column}))"
            f" OR abs({thousandths} - round({thousandths})) > abs({column}) * 2.3e-13 + 1e-7)"
        )

    start = f"CASE WHEN {usable('ts')} THEN {nanoseconds('ts')} END"
    end = f"CASE WHEN {usable('ts')} AND {usable('dur')} THEN {nanoseconds('ts')} + {nanoseconds('dur')} END"
    return start, end, f"coalesce({hidden('ts')}, false) OR coalesce({hidden('dur')}, false)", "false"


def _exact_times() -> tuple[str, str, str, str]:
    """Return the same expressions over decimal text: exact, but a duration may be too large, or no number."""

    def nanoseconds(value: str) -> str:
        return f"TRY(CAST({value} * 1000 AS BIGINT))"

    ts, dur = (f"TRY_CAST(replace({column}, '{_MARK}', '') AS DECIMAL(38, 18))" for column in ("ts", "dur"))
    start, end = nanoseconds(ts), nanoseconds(f"({ts} + {dur})")
    # JSON has neither NaN nor infinity, but Python and C++ write them.
    number = rf"(?i)({_MARK})?\s*[-+]?([0-9.]+(e[-+]?[0-9]+)?|nan|inf(inity)?)\s*"
    beyond = (
        f"CASE WHEN dur IS NULL OR {end} IS NOT NULL OR {start} IS NULL THEN false"
        f" ELSE regexp_full_match(dur, '{number}') END"
    )
    return start, end, "false", beyond
