"""Many messages decoded together: one field of each at a step, as columns of numpy.

A message alone costs Python some microseconds a field. Messages of one kind have nearly the same fields, so that the
steps are few and each is an operation on a whole column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .wire import BYTES, EIGHT, FOUR, LONGEST, VARINT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Zeros behind the bytes that are decoded: a varint cut off at their end reads no further.
PADDING = bytes(2 * LONGEST)


@dataclass
class Step:
    """One field of some messages.

    Attributes:
        message: which messages, by their place among all.
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
    """Yield the fields of messages in [start, end) of `data`, which ends with `PADDING`, one of each at a time.

    A step's messages that are no more whole have the wire type 7, and no further fields.
    """
    import numpy as np

    unknown = np.ones(8, np.bool_)
    unknown[[VARINT, BYTES, EIGHT, FOUR]] = False
    message = np.flatnonzero(start < end)
    at, end = start[message], end[message]
    while message.size:
        key, at, bad = _varints(data, at)
        wire = key & np.uint64(7)
        value = np.zeros(message.size, np.uint64)
        begin = at.copy()
        for kind in (VARINT, BYTES):
            of_kind = np.flatnonzero((wire == kind) & ~bad)
            value[of_kind], begin[of_kind], bad[of_kind] = _varints(data, at[of_kind])
        at = begin.copy()
        of_bytes = wire == BYTES
        # A length beyond all bytes is bad, and must not overflow.
        at[of_bytes] += np.minimum(value[of_bytes], np.uint64(data.size)).astype(np.int64)
        for kind, size in ((EIGHT, 8), (FOUR, 4)):
            of_kind = np.flatnonzero((wire == kind) & (at + size <= data.size))
            for byte in range(size):
                value[of_kind] |= data[at[of_kind] + byte].astype(np.uint64) << np.uint64(8 * byte)
            at[wire == kind] += size
        bad |= (at > end) | (key < 8) | unknown[wire]
        wire[bad] = 7
        yield Step(message, key >> np.uint64(3), wire, value, begin, at)
        more = (at < end) & ~bad
        message, at, end = message[more], at[more], end[more]


def _varints(
    data: NDArray[np.uint8], at: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the varints at some places, the places behind them, and which do not end."""
    import numpy as np

    last = data.size - 1
    byte = data[np.minimum(at, last)]
    value = (byte & np.uint8(127)).astype(np.uint64)
    at = at + 1
    open_ = np.flatnonzero(byte >= 128)
    for nth in range(1, LONGEST):
        if not open_.size:
            break
        byte = data[np.minimum(at[open_], last)]
        value[open_] |= (byte & np.uint8(127)).astype(np.uint64) << np.uint64(7 * nth)
        at[open_] += 1
        open_ = open_[byte >= 128]
    bad = np.zeros(at.size, np.bool_)
    bad[open_] = True
    return value, at, bad
