"""Splits off the numbers that PyTorch's emit_nvtx appends to a range's text, for many texts at once.

`aten::mul, seq = 5, op_id = 317177`: nearly every such text is unique; without the numbers a few
hundred are left, and each of them needs to be interpreted only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .views import PADDING, from_each_byte, string_views

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_COMMA = int.from_bytes(b", ", "little")
_OP_ID = int.from_bytes(b"op_id = ", "little")
_SEQ = int.from_bytes(b", seq = ", "little")
#: Bytes of ", op_id = "; the shortest text considered also has a digit and a character of the name.
_LABEL = 10


def cut(texts: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return texts without the numbers at their end, and the numbers `seq` and `op_id` as texts, NULL if missing.

    A `seq` is only searched before an `op_id`. Numbers of more than 16 digits are left in the text.

    Args:
        texts: strings, or string views.
    """
    import pyarrow as pa

    texts = texts.cast(pa.string())
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    held = np.concatenate([data, np.zeros(PADDING, np.uint8)])
    offsets -= offsets[0]
    at, end = offsets[:-1], offsets[1:]
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    first, found = _number(held, end, at + _LABEL)
    eight, two = from_each_byte(held, "<u8"), from_each_byte(held, "<u2")
    found &= eight[np.maximum(first - 8, 0)] == _OP_ID
    found &= two[np.maximum(first - _LABEL, 0)] == _COMMA
    behind = np.where(found, first - _LABEL, end)
    start, also = _number(held, behind, at + 8)
    also &= found & (eight[np.maximum(start - 8, 0)] == _SEQ)
    return (
        string_views(held, at, np.where(also, start - 8, behind) - at, missing),
        string_views(held, np.where(also, start, 0), np.where(also, behind - start, 0), ~also),
        string_views(held, np.where(found, first, 0), np.where(found, end - first, 0), ~found),
    )


def _number(
    held: NDArray[np.uint8], end: NDArray[np.int64], least: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the digits before each position begin, at most 16, not before `least`; and whether there are any."""
    count = _digits(held, end)
    long = np.flatnonzero(count == 8)
    count[long] += _digits(held, end[long] - 8)
    begin = end - count
    return begin, (count > 0) & (begin >= least)


def _digits(held: NDArray[np.uint8], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of the 8 bytes before each position are consecutive digits that end there."""
    eight = from_each_byte(held, "<u8")[np.maximum(end - 8, 0)].view(np.uint8)
    # Non-digits become a byte of 1; the exponent of the whole word shows the last of them.
    other = (eight - ord("0") > 9).view("<u8").astype(np.float64)
    return np.where(other > 0, 7 - ((other.view(np.int64) >> 52) - 1023 >> 3), 8)
