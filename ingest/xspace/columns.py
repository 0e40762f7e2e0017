"""Decodes many messages together: one field of each per step, as numpy columns.

Decoding a message alone costs Python some microseconds per field. Messages of one kind have nearly the same fields, so
there are few steps, each an operation on a whole column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .wire import BYTES, EIGHT, FOUR, LONGEST, VARINT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Zeros after the bytes to decode, so that a truncated varint does not read beyond.
PADDING = bytes(2 * LONGEST)


#: A byte from here on is not the last one of a varint.
_MORE = 128
#: Masks and shifts that compact seven bits of each of eight bytes into 56 bits.
_HALVES = (
    (0x007F007F007F007F, 0x7F007F007F007F00, 1),
    (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
    (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
)


@dataclass
class Step:
    """One field of some messages.

    Attributes:
        message: which messages, by index.
        number: the field's number.
        wire: its wire type.
        value: a varint, or the bits of four or eight bytes.
        start: where its bytes begin.
        end: where they end.
    """

    message: NDArray[np.int64]
    number: NDArray[np.uint64]
    wire: NDArray[np.uint64]
    value: NDArray[np.uint64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def where(self, number: int, wire: int) -> NDArray[np.bool_]:
        """Return which messages have a certain field here."""
        here: NDArray[np.bool_] = (self.number == number) & (self.wire == wire)
        return here


def steps(data: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64]) -> Iterator[Step]:
    """Yield the fields of messages in [start, end) of `data`, which ends with `PADDING`, one of each per step.

    Truncated messages have the wire type 7 in a step, and no further fields.
    """
    import numpy as np

    unknown = np.ones(8, np.bool_)
    unknown[[VARINT, BYTES, EIGHT, FOUR]] = False
    words = np.ndarray(data.size - 7, np.dtype("<u8"), data, strides=(1,))
    message = np.flatnonzero(start < end)
    at, end = start[message], end[message]
    while message.size:
        key, at, bad = _varints(data, words, at)
        wire = key & np.uint64(7)
        value = np.zeros(message.size, np.uint64)
        begin = at
        number = (wire == VARINT) | (wire == BYTES)
        if number.all():
            value, begin, ends_not = _varints(data, words, at)
            bad |= ends_not
        elif number.any():
            of_kind = np.flatnonzero(number)
            begin = at.copy()
            value[of_kind], begin[of_kind], ends_not = _varints(data, words, at[of_kind])
            bad[of_kind] |= ends_not
        # A length beyond all bytes is invalid, and must not overflow.
        at = begin + np.where(wire == BYTES, np.minimum(value, np.uint64(data.size)), 0).astype(np.int64)
        for kind, size in ((EIGHT, 8), (FOUR, 4)):
            of_kind = np.flatnonzero((wire == kind) & (at + size <= data.size))
            value[of_kind] = words[at[of_kind]] if size == 8 else words[at[of_kind]] & np.uint64(0xFFFFFFFF)
            at[wire == kind] += size
        bad |= (at > end) | (key < 8) | unknown[wire]
        wire[bad] = 7
        yield Step(message, key >> np.uint64(3), wire, value, begin, at)
        more = (at < end) & ~bad
        if not more.all():
            message, at, end = message[more], at[more], end[more]


def _varints(
    data: NDArray[np.uint8], words: NDArray[np.uint64], at: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the varints at some positions, the positions after them, and which are unterminated.

    Args:
        data: the bytes.
        words: the eight bytes from each position on.
        at: the positions.
    """
    import numpy as np

    at = np.minimum(at, data.size - LONGEST)
    byte = data[at]
    bad = np.zeros(at.size, np.bool_)
    if byte.size and byte.max() < _MORE:
        return byte.astype(np.uint64), at + 1, bad
    word = words[at]
    # The lowest bit that marks a last byte, and all bits up to it.
    last = ~word & np.uint64(0x8080808080808080)
    whole = last ^ (last - np.uint64(1))
    value = word & whole
    # Compact seven bits of each byte, in pairs: 14 bits, 28, 56.
    for low, high, shift in _HALVES:
        value = (value & np.uint64(low)) | ((value & np.uint64(high)) >> np.uint64(shift))
    behind = at + (np.bitwise_count(whole) >> np.uint8(3)).astype(np.int64)
    long = np.flatnonzero(last == 0)
    if long.size:
        ninth, tenth = data[at[long] + 8], data[at[long] + 9]
        more = ninth >= _MORE
        value[long] |= (ninth & np.uint8(127)).astype(np.uint64) << np.uint64(56)
        value[long] |= np.where(more, tenth, 0).astype(np.uint64) << np.uint64(63)
        behind[long] = at[long] + 9 + more
        bad[long] = more & (tenth >= _MORE)
    return value, behind, bad
