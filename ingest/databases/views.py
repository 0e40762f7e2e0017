"""Bytes as arrays: numbers at any offset, and texts as views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

#: Bytes after the last text or number, so that 8 can be read wherever one begins or ends.
PADDING = 16
#: Maximum bytes of a text stored in its view; and masks of the lowest 0 to 8 bytes.
_IN_VIEW = 12
_LOWEST = np.array([(1 << 8 * count) - 1 for count in range(8)] + [-1], np.int64)


def from_each_byte(held: NDArray[np.uint8], kind: str) -> NDArray[Any]:
    """Return the numbers of a type that begin at each byte."""
    return np.ndarray((held.size - np.dtype(kind).itemsize + 1,), kind, held, strides=(1,))


def string_views(
    held: NDArray[np.uint8], at: NDArray[np.int64], length: NDArray[np.int64], missing: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return texts as views of bytes, fewer than 2^31 with padding; only short ones are copied."""
    import pyarrow as pa

    # The length and the first 4 bytes; then for a short text the next 8, for a long one its buffer, 0, and its offset.
    views = np.zeros((at.size, 2), np.int64)
    halves = views.view(np.int32)
    eight = from_each_byte(held, "<i8")
    halves[:, 0], halves[:, 1], halves[:, 3] = length, eight[at], at
    short = np.flatnonzero(length <= _IN_VIEW)
    halves[short, 1] &= _LOWEST.take(np.minimum(length[short], 4)).astype(np.int32)
    views[short, 1] = eight[at[short] + 4] & _LOWEST.take(np.maximum(length[short] - 4, 0))
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.string_view(), at.size, [valid, pa.py_buffer(views), pa.py_buffer(held)])
