"""The lines of a plane in pieces: where their events lie, and what a line says of itself around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .events import Line
from .wire import BYTES, LONGEST, Bytes, Field, WireError, field_at, signed

#: Events decoded together, and bytes of them.
EVENTS_AT_ONCE = 1 << 16
BYTES_AT_ONCE = 4 << 20
#: One event takes as many at most.
_LARGEST_EVENT = 64 << 20
_ID, _NAME, _START, _EVENTS, _DISPLAY_ID, _DISPLAY_NAME = 1, 2, 3, 4, 10, 11
_EVENT_KEY = _EVENTS << 3 | BYTES


@dataclass
class Piece:
    """Some fields of a line.

    Attributes:
        data: their bytes.
        offset: where in the file these lie.
        starts: where in them events begin.
        ends: where they end.
        others: the fields that are no events.
        used: bytes up to the end of the last field.
        damage: why what follows cannot be read.
        skipped: bytes of that.
    """

    data: bytes
    offset: int
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    others: list[Field] = field(default_factory=list)
    used: int = 0
    damage: str | None = None
    skipped: int = 0


def read_line(file: Bytes, start: int, end: int, taken: set[str]) -> Line:
    """Return what the line in [start, end) of a file says of itself; its thread joins those that are taken.

    It may say so behind its events, which are passed over.
    """
    line, number = Line(), 0
    texts: dict[int, str] = {}
    for piece in pieces(file, start, end):
        for one in piece.others:
            if one.number in (_ID, _DISPLAY_ID):
                number = one.value or number
            elif one.number == _START:
                line.start_ns = signed(one.value)
            elif one.number in (_NAME, _DISPLAY_NAME):
                texts[one.number] = piece.data[one.start : min(one.end, one.start + 4096)].decode("utf-8", "replace")
    line.name = texts.get(_DISPLAY_NAME) or texts.get(_NAME, "")
    # Chrome traces have 32 bits of the number.
    low = number & 0xFFFFFFFF
    while str(low) in taken:
        low += 1 << 32
    line.tid = str(low)
    taken.add(line.tid)
    return line


def pieces(file: Bytes, start: int, end: int) -> Iterator[Piece]:
    """Yield the fields of the line in [start, end) of a file, which may end before it; the last one may be damaged."""
    stop = min(end, file.size)
    size = BYTES_AT_ONCE
    while start < stop:
        piece = Piece(file.read(start, min(start + size, stop)), start)
        _cut(piece, is_last=start + len(piece.data) >= stop)
        start += piece.used
        if not piece.used and not piece.damage:
            size *= 4
            if size <= _LARGEST_EVENT:
                continue
            piece.damage = "an event is too large"
        size = BYTES_AT_ONCE
        piece.skipped = stop - start if piece.damage else 0
        yield piece
        if piece.damage:
            return


def _cut(piece: Piece, *, is_last: bool) -> None:
    """Find the fields of a piece; the line ends with the last one."""
    data, starts, ends, at = piece.data, piece.starts, piece.ends, 0
    size = len(data)
    while at < size - 2 and len(starts) < EVENTS_AT_ONCE:
        # Nearly all fields are events of fewer than 16384 bytes.
        length, begin = data[at + 1], at + 2
        if length > 127:
            length, begin = (length & 127) | data[begin] << 7, at + 3
        if data[at] == _EVENT_KEY and data[begin - 1] < 128 and begin + length <= size:
            starts.append(begin)
            ends.append(at := begin + length)
        elif (at := _any_field(piece, at, is_last=is_last)) < 0:
            return
    while size - 2 <= at < size and len(starts) < EVENTS_AT_ONCE:
        if (at := _any_field(piece, at, is_last=is_last)) < 0:
            return
    piece.used = at


def _any_field(piece: Piece, at: int, *, is_last: bool) -> int:
    """Take the field at a place and return its end; -1 where the piece ends before it."""
    piece.used = at
    try:
        one = field_at(piece.data, at)
    except WireError as error:
        if is_last or len(piece.data) - at >= 2 * LONGEST:
            piece.damage = str(error)
        return -1
    if one.end > len(piece.data):
        piece.damage = "it ends inside an event" if is_last else None
        return -1
    if one.number == _EVENTS and one.wire == BYTES:
        piece.starts.append(one.start)
        piece.ends.append(one.end)
    else:
        piece.others.append(one)
    return one.end
