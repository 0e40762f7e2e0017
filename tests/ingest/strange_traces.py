"""Traces that hypothesis makes up: whatever JSON allows and profilers, hand edits and crashes leave in files."""

import contextlib
import json
import re
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from ..support import Number, comparable, is_event, start_and_end


class Pairs(list):
    """An object whose keys may be given twice."""


#: A number with a fraction or an exponent.
_FRACTION = re.compile(r"-?\d+(?=[.eE])(\.\d+)?([eE][-+]?\d+)?")
#: Stands for a byte that no UTF-8 text holds.
BROKEN_BYTE = "\ue000"

# What a cut between two events looks like, brackets, quotes and backslashes; letters of several widths; characters
# that JSON wants escaped, half of a pair, and times where none should be looked for.
_NASTY = (
    '},\n  {"ph"', '}, {"ph": "X"', '"', "\\", '\\"', "]", "]}", "[{", "},{", "é", "鯨", "😀", "\u2028", "\t", "\x01",
    "\x7f", '"ts": 5', "traceEvents", '"traceEvents": [', "\ud83d", BROKEN_BYTE, "aten::mm", " ", "",
)  # fmt: skip
words = st.lists(st.sampled_from(_NASTY), max_size=3).map("".join)
_whole = st.integers(-(10**6), 10**12).map(str)
_places = st.text("0123456789", min_size=1, max_size=6)
#: Texts of numbers: small, of an epoch clock in microseconds, with picoseconds, with an exponent.
times = st.one_of(
    _whole,
    st.builds("{}.{}".format, _whole, _places),
    st.builds("17{:014d}.{}".format, st.integers(0, 10**14 - 1), _places),
    st.builds("{}.{}e{}".format, st.integers(-9, 9), _places, st.integers(-3, 9)),
    st.sampled_from(["0", "-0.0", "0.0005", "-0.0005", "2.9999999999999996", "1E3", "4503599627370497"]),
)
_odd_times = st.sampled_from(["NaN", "Infinity", "-Infinity", "null", '"soon"', '"12.5"', "[]", "true", "1e400"])
_durations = st.one_of(
    st.builds("{}.{}".format, st.integers(0, 10**7), _places),
    st.integers(0, 10**7).map(str),
    st.sampled_from(["-1", "0", "3.7598289999999999", "null"]),
)
_processes = st.one_of(
    st.integers(-5, 10**6).map(Number),
    st.just(Number("123456789012345678901234567890")),
    st.sampled_from(["Spans", "", "7"]),
    st.none(),
)
_scalars = st.one_of(
    words, st.none(), st.booleans(), times.map(Number), st.sampled_from([Number("NaN"), Number("1e30")])
)
_arguments = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.lists(st.tuples(words, inner), max_size=3).map(Pairs)),
    max_leaves=8,
)


@dataclass(frozen=True)
class Trace:
    """A made-up trace.

    Attributes:
        content: its bytes.
        ends: the offset behind each element of its array.
    """

    content: bytes
    ends: tuple[int, ...]


@st.composite
def events(draw: Any) -> Pairs:
    """One event, some of its keys in any order."""
    phase = draw(st.sampled_from(["X", "X", "X", "i", "M", "C", "s", "f", "b"]))
    pairs = [("name", draw(words)), ("pid", draw(_processes)), ("tid", draw(_processes))]
    pairs.append(("ts", Number(draw(st.one_of(times, times, times, times, _odd_times)))))
    if phase == "X" and draw(st.integers(0, 5)):
        pairs.append(("dur", Number(draw(_durations))))
    if draw(st.booleans()):
        pairs.append(("args", draw(_arguments)))
    if draw(st.booleans()):
        pairs.append(("cat", draw(st.sampled_from(["kernel", "cpu_op", "python_function", "Kernel", None]))))
    if not draw(st.integers(0, 9)):
        pairs.append((draw(st.sampled_from(["pid", "name"])), draw(words)))
    if draw(st.booleans()):
        pairs = draw(st.permutations(pairs))
    if draw(st.integers(0, 15)):
        pairs.insert(0, ("ph", phase))
    return Pairs(pairs)


_elements = st.one_of(events(), events(), events(), events(), events(), _scalars, st.just([]), st.just(Pairs()))


@st.composite
def traces(draw: Any, elements: Any = _elements, least: int = 0) -> Trace:
    """A whole trace: an array of events, alone or in an object."""
    found = draw(st.lists(elements, min_size=least, max_size=25))
    separator = draw(st.sampled_from([",\n  ", ",", " ,\n", ", "]))
    ascii_only = draw(st.booleans())
    head, tail = "[", "]"
    if draw(st.integers(0, 3)):
        before = "".join(f"{rendered(key)}: {rendered(value)}, " for key, value in draw(_around))
        after = "".join(f", {rendered(key)}: {rendered(value)}" for key, value in draw(_around))
        head, tail = f'{{{before}"traceEvents": [', f"]{after}}}"
    content, ends = _bytes(head + draw(st.sampled_from(["", "\n"]))), []
    for nth, element in enumerate(found):
        content += _bytes((separator if nth else "") + rendered(element, ascii_only=ascii_only))
        ends.append(len(content))
    return Trace(content + _bytes(draw(st.sampled_from(["", "\n", " "])) + tail), tuple(ends))


_around = st.lists(st.tuples(st.sampled_from(["a", "b", "with_stack"]), _arguments), max_size=2)


def rendered(value: Any, *, ascii_only: bool = False) -> str:
    """Return JSON text; numbers stand as they were written, and control characters may stand for themselves."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Pairs):
        members = (f"{rendered(key)}: {rendered(item, ascii_only=ascii_only)}" for key, item in value)
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(rendered(item, ascii_only=ascii_only) for item in value) + "]"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=ascii_only or "\ud83d" in value)
        text = text.replace("\\ue000", BROKEN_BYTE)
        return text if ascii_only else text.replace("\\u0001", "\x01")
    return json.dumps(value)


def _bytes(text: str) -> bytes:
    return text.encode().replace(BROKEN_BYTE.encode(), b"\xff")


def expected_rows(elements: list[Any]) -> list[dict[str, Any]]:
    """Return the rows that Python's reading of the elements calls for."""
    return [_row(nth, element) for nth, element in enumerate(elements) if is_event(element)]


def _row(nth: int, event: dict[str, Any]) -> dict[str, Any]:
    start, end = start_and_end(event)
    category = event.get("cat")
    return {
        "event_id": nth,
        "ph": event["ph"],
        "category": category and category.lower(),
        "name": _utf8(event.get("name")),
        "pid": _thread(event.get("pid")),
        "tid": _thread(event.get("tid")),
        "start_ns": start,
        "end_ns": end,
        "dur_ns": None if end is None or start is None else end - start,
        "args": plain(event.get("args")),
    }


def row_of(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the same columns of a stored row."""
    args = stored["args"]
    row = {key: stored[key] for key in _row(0, {"ph": "X"})}
    row |= {key: _thread(row[key]) for key in ("pid", "tid")}
    return row | {"args": None if args is None else plain(json.loads(args, parse_constant=Number))}


def _utf8(text: str | None) -> str | None:
    return text if text is None else text.encode("utf-8", "replace").decode()


def _thread(value: Any) -> str | None:
    """Return the text of what should be a process's or thread's number: of no text its JSON, fractions as doubles."""
    if isinstance(value, str) and value.startswith(("[", "{")):
        with contextlib.suppress(ValueError):  # text that only begins like JSON
            value = json.loads(value)
    if not isinstance(value, str | None):
        return json.dumps(plain(value))
    return str(float(value)) if value and _FRACTION.fullmatch(value) else _utf8(value)


def plain(value: Any) -> Any:
    """Return JSON that compares equal where it means the same."""
    text = json.dumps(comparable(value), ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(text, parse_constant=str)
