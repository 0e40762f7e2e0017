"""Reads the lines of a plane in pieces: where their events are, and the line's own fields around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .chains import bodies, events_from
from .columns import PADDING
from .events import Line
from .wire import BYTES, LONGEST, Bytes, Field, WireError, field_at, signed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Bytes of a line read together.
BYTES_AT_ONCE = 4 << 20
#: Maximum bytes of one event.
_LARGEST_EVENT = 64 << 20
_ID, _NAME, _START, _EVENTS, _DISPLAY_ID, _DISPLAY_NAME = 1, 2, 3, 4, 10, 11


@dataclass
class Piece:
    """Some fields of a line.

    Attributes:
        data: their bytes, followed by `PADDING`.
        offset: their offset in the file.
        starts: where in them events begin, after their keys and lengths.
        ends: where they end.
        others: the fields that are not events.
        used: bytes up to the end of the last field.
        damage: why what follows cannot be read.
        skipped: number of bytes that cannot be read.
    """

    data: NDArray[np.uint8]
    offset: int
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    others: list[Field] = field(default_factory=list)
    used: int = 0
    damage: str | None = None
    skipped: int = 0


def read_line(file: Bytes, start: int, end: int, taken: set[str]) -> Line:
    """Return the own fields of the line in [start, end) of a file; its thread is added to those taken.

    They may come after its events, which are skipped.
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
                text = piece.data[one.start : min(one.end, one.start + 4096)].tobytes()
                texts[one.number] = text.decode("utf-8", "replace")
    line.name = texts.get(_DISPLAY_NAME) or texts.get(_NAME, "")
    # Chrome traces have 32 bits of the number.
    low = number & 0xFFFFFFFF
    while str(low) in taken:
        low += 1 << 32
    line.tid = str(low)
    taken.add(line.tid)
    return line


def pieces(file: Bytes, start: int, end: int) -> Iterator[Piece]:
    """Yield the fields of the line in [start, end) of a file, possibly truncated; the last one may be damaged."""
    stop = min(end, file.size)
    size = BYTES_AT_ONCE
    while start < stop:
        data = file.read(start, min(start + size, stop))
        piece = _cut(data, start, is_last=start + len(data) >= stop)
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


def _cut(data: bytes, offset: int, *, is_last: bool) -> Piece:
    """Return the fields of a part of a line at an offset, which may be its last."""
    import numpy as np

    held = np.frombuffer(data + PADDING, np.uint8)
    bare = held[: len(data)]
    nothing = np.zeros(0, np.int64)
    piece = Piece(held, offset, nothing, nothing)
    starts, ends, at = [], [], 0
    while at < len(data):
        found, at = events_from(bare, at)
        if found.size:
            starts.append(bodies(bare, found))
            ends.append(np.append(found[1:], at))
        if at == len(data):
            break
        one = _any_field(piece, data, at, is_last=is_last)
        if one is None:
            break
        if one.number == _EVENTS and one.wire == BYTES:
            starts.append(np.array([one.start]))
            ends.append(np.array([one.end]))
        else:
            piece.others.append(one)
        at = one.end
    if starts:
        piece.starts, piece.ends = np.concatenate(starts), np.concatenate(ends)
    piece.used = at
    return piece


def _any_field(piece: Piece, data: bytes, at: int, *, is_last: bool) -> Field | None:
    """Return the field at a position; None if the part ends before it, or is damaged."""
    try:
        one = field_at(data, at)
    except WireError as error:
        if is_last or len(data) - at >= 2 * LONGEST:
            piece.damage = str(error)
        return None
    if one.end > len(data):
        piece.damage = "it ends inside an event" if is_last else None
        return None
    return one
