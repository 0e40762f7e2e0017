"""Reads many rows of a SQLite table at once: the pages of its B-tree as arrays, by the published file format.

https://www.sqlite.org/fileformat2.html: a table is a tree of pages whose leaves hold cells. A cell is the size of a
record, the row number and the record: the type of each value, then the values. What is not plain (rows that overflow
into other pages, records with fewer columns than the table, values of an unwanted type, damage) is left to
SQLite. Every offset from the file is checked before it is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .tables import arrow_types, as_type
from .views import PADDING, from_each_byte, string_views

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

#: Page types: interior and leaf pages of a table's tree; sizes of their headers.
_INNER, _LEAF = 5, 13
_INNER_HEADER, _LEAF_HEADER = 12, 8
#: Bytes of pages processed together: few enough for a column of them to stay in the processor's cache.
_TOGETHER = 1 << 19
#: More levels than a tree of 2^32 pages has.
_MOST_LEVELS = 40
#: Bytes of the longest varint.
_LONGEST = 9
#: Types of values: NULL is 0, then integers, a real, 0 and 1; two are unused; then blobs (even) and texts (odd).
_REAL, _BYTES, _TEXT = 7, 12, 13
_IS_WHOLE = np.array([True] * 7 + [False, True, True] + [False] * 118)
#: Their sizes, for one-byte types; the bits to shift 8 bytes that begin with an integer.
_SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, *[0] * 4, *((kind - _BYTES) // 2 for kind in range(_BYTES, 128))], np.uint8)
_SHIFTS = np.array([0, 56, 48, 40, 32, 16, 0, 0, 0, 0], np.int64)


class _OddError(Exception):
    """A page is not as a table's must be."""


@dataclass(frozen=True)
class Left:
    """Rows that are left to SQLite.

    Attributes:
        after: the row number before them, None if there is none.
        last: the number of the last of them, None if they extend to the end of the table.
    """

    after: int | None
    last: int | None


class Pages:
    """The pages of a file."""

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            ValueError: its texts are not in UTF-8, or it is not a SQLite file.
        """
        self._file = path.open("rb", buffering=0)
        header = self._file.read(100)
        self.size = int.from_bytes(header[16:18], "big")
        self.size = 65536 if self.size == 1 else self.size
        if len(header) < 100 or self.size < 512 or int.from_bytes(header[56:60], "big") != 1:
            self.close()
            raise ValueError("no SQLite file with texts in UTF-8")
        #: The usable bytes of a page.
        self.usable = self.size - header[20]
        self._count = path.stat().st_size // self.size

    def read(self, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return pages side by side, with padding; page 1, the first of the file, is in no table."""
        if not ((numbers > 1) & (numbers <= self._count)).all():
            raise _OddError
        held = np.zeros(numbers.size * self.size + PADDING, np.uint8)
        at = 0
        edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), numbers.size]
        for first, behind in itertools.pairwise(edges):
            size = (behind - first) * self.size
            self._file.seek((int(numbers[first]) - 1) * self.size)
            if self._file.readinto(held[at : at + size].data) != size:
                raise _OddError
            at += size
        return held

    def leaves(self, root: int) -> NDArray[np.int64]:
        """Return the leaf pages of a table, in order."""
        level = np.array([root], np.int64)
        for _ in range(_MOST_LEVELS):
            if self.read(level[:1])[0] == _LEAF:
                # All leaves have the same depth; the others are checked to be leaves when they are read.
                return level
            held = self.read(level)
            if not (held[: -PADDING : self.size] == _INNER).all():
                break
            cells, counts = self.cells(held, _INNER_HEADER)
            pointers = from_each_byte(held, ">u4")
            last = pointers[np.arange(level.size) * self.size + _LEAF_HEADER]
            level = np.insert(pointers[cells], np.cumsum(counts), last).astype(np.int64)
            if level.size > self._count:
                break
        raise _OddError

    def cells(self, held: NDArray[np.uint8], header: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the cells of pages with a header of this size begin, in order, and each page's cell count."""
        table = held[:-PADDING].reshape(-1, self.size)
        counts = table[:, 3].astype(np.int64) << 8 | table[:, 4]
        most = int(counts.max(initial=0))
        if header + 2 * most > self.usable:
            raise _OddError
        places = table[:, header : header + 2 * most].copy().view(">u2").astype(np.int64)
        there = np.arange(most) < counts[:, None]
        if not ((places >= header) & (places < self.usable))[there].all():
            raise _OddError
        places += np.arange(len(table))[:, None] * self.size
        return places[there], counts

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_rows(pages: Pages, root: int, columns: Sequence[str], wanted: Mapping[str, str]) -> Iterator[pa.Table | Left]:
    """Yield the rows of a table in order, with texts as string views.

    Args:
        pages: the file.
        root: the first page of the table.
        columns: the names of its columns, none of which is an alias of the row number.
        wanted: those to read: name -> `int`, `real`, `text` or `bytes`.
    """
    after: int | None = None
    try:
        leaves = pages.leaves(root)
        step = max(1, _TOGETHER // pages.size)
        for start in range(0, leaves.size, step):
            held = pages.read(leaves[start : start + step])
            if not (held[: -PADDING : pages.size] == _LEAF).all():
                raise _OddError
            cells, _ = pages.cells(held, _LEAF_HEADER)
            if cells.size:
                records = _Records(held, cells, pages)
                if after is not None and records.last <= after:
                    raise _OddError
                found = records.table(columns, wanted)
                yield Left(after, records.last) if found is None else found
                after = records.last
    except _OddError:
        yield Left(after, None)


class _Records:
    """The records of some cells."""

    def __init__(self, held: NDArray[np.uint8], cells: NDArray[np.int64], pages: Pages) -> None:
        """Find the bounds of each record, and the number of the last row."""
        self._held = held
        size, at = _varints(held, cells)
        number = int(at[-1])
        for _ in range(_LONGEST - 1):
            more = held.take(at, mode="clip") > 127
            if not more.any():
                break
            at += more
        self._begin = at + 1
        self._end = self._begin + size
        self.last = _varint(bytes(held[number : number + _LONGEST]))
        page_end = cells - cells % pages.size + pages.usable
        # Larger ones overflow: only their beginning is in the page.
        self._whole = bool(((size > 0) & (size <= pages.usable - 35) & (self._end <= page_end)).all())

    def table(self, columns: Sequence[str], wanted: Mapping[str, str]) -> pa.Table | None:
        """Return the wanted columns, None if a record is not plain; see `read_rows`."""
        import pyarrow as pa

        if not self._whole:
            return None
        length = self._held.take(self._begin)
        place, values = self._begin + 1, self._begin + length
        at = values
        found: dict[str, tuple[NDArray[Any], NDArray[np.int64]]] = {}
        last = max((nth for nth, name in enumerate(columns) if name in wanted), default=-1)
        for name in columns[: last + 1]:
            kind: NDArray[Any] = self._held.take(place, mode="clip")
            if kind.max() < 128:
                size: NDArray[Any] = _SIZES.take(kind)
                place += 1
            else:
                kind, place = _varints(self._held, place)
                size = np.where(kind < 128, _SIZES.take(kind, mode="clip"), (kind - _BYTES) >> 1)
            if name in wanted:
                found[name] = (kind, at)
            at = at + size
        # Checked before any value is read, so that none is outside its record.
        if length.max() > 127 or not ((place <= values) & (values <= self._end) & (at <= self._end)).all():
            return None
        arrays = {name: self._column(*place, wanted[name]) for name, place in found.items()}
        if any(array is None for array in arrays.values()):
            return None
        types = arrow_types()
        return pa.table(
            [arrays[name] if name in arrays else pa.nulls(length.size, types[kind]) for name, kind in wanted.items()],
            list(wanted),
        )

    def _column(self, kind: NDArray[Any], at: NDArray[np.int64], wanted: str) -> pa.Array | None:
        """Return values by their types and positions, None if one is not as wanted."""
        import pyarrow as pa

        if not kind.any():
            return pa.nulls(kind.size, pa.string_view() if wanted == "text" else arrow_types()[wanted])
        missing = kind == 0
        if wanted in ("int", "real"):
            whole = _IS_WHOLE.take(kind, mode="clip")
            if wanted == "int":
                return pa.array(self._integers(kind, at), mask=missing) if whole.all() else None
            real = kind == _REAL
            numbers = from_each_byte(self._held, ">f8")[at].astype(np.float64)
            numbers[whole] = self._integers(kind[whole], at[whole])
            return pa.array(numbers, mask=missing) if (whole | real).all() else None
        length = np.maximum(kind.astype(np.int64) - _BYTES, 0) >> 1
        if wanted == "text":
            texts = string_views(self._held, at, length, missing)
            return texts if (missing | (kind >= _TEXT) & (kind & 1 == 1)).all() and _is_valid(texts) else None
        values: list[bytes | str | None] = [None] * kind.size
        for nth in np.flatnonzero(~missing).tolist():
            value = bytes(self._held[at[nth] : at[nth] + length[nth]])
            if kind[nth] < _BYTES:
                return None
            values[nth] = value.decode("utf-8", "replace") if kind[nth] & 1 else value
        return as_type(values, wanted)

    def _integers(self, kind: NDArray[Any], at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return integers; 0 and 1 have types of their own."""
        values: NDArray[np.int64] = from_each_byte(self._held, ">i8")[at].astype(np.int64)
        values >>= _SHIFTS.take(kind, mode="clip")
        return np.where(kind > _REAL, kind == 9, values) if kind.max(initial=0) > _REAL else values


def _is_valid(texts: pa.Array) -> bool:
    """Whether texts are valid UTF-8."""
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _varints(held: NDArray[np.uint8], at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return varints of up to four bytes, and where they end; longer ones exceed any page."""
    byte = held.take(at, mode="clip")
    value, behind = (byte & 127).astype(np.int64), at + 1
    more = np.flatnonzero(byte > 127)
    for _ in range(3):
        byte = held.take(behind[more], mode="clip")
        value[more] = value[more] << 7 | (byte & 127)
        behind[more] += 1
        more = more[byte > 127]
    value[more] = 1 << 40
    return value, behind


def _varint(data: bytes) -> int:
    """Return the varint that some bytes begin with; its ninth byte has 8 bits of the value."""
    value = 0
    for byte in data[: _LONGEST - 1]:
        value = value << 7 | byte & 127
        if byte < 128:
            return value
    value = value << 8 | data[-1]
    return value - (value >> 63 << 64)
