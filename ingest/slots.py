"""Memory that DuckDB reads as a file: a piece of an event array or of a table is put there and parsed from there.

On Linux the file lies in memory and has no name. A pipe would do too, but the reader of a pipe keeps all it has read,
and a pipe's pages are copied twice. Slots are used again and again, so that their pages are faulted in once.
"""

from __future__ import annotations

import mmap
import os
import re
import tempfile
from collections.abc import Iterator


class Slot:
    """A growable file in memory holding a piece between an opening and a closing text: `[` + events + `]`."""

    def __init__(self, size: int, *, opening: bytes = b"[", closing: bytes = b"]") -> None:
        """Make a slot with room for `size` bytes."""
        #: Where what is put into the slot begins.
        self.start = len(opening)
        self._closing = closing
        self._temporary = None
        if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):  # noqa: PTH112
            self._fd = os.memfd_create("tracelake-segment")
            self.path = f"/proc/self/fd/{self._fd}"
        else:
            self._temporary = tempfile.NamedTemporaryFile(prefix="tracelake-", suffix=".json")  # noqa: SIM115
            self._fd = self._temporary.fileno()
            self.path = self._temporary.name
        self.size = size
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)
        self._map[: len(opening)] = opening

    def view(self, start: int, end: int) -> memoryview:
        """Return a writable window; the caller releases it before the slot is closed or grown."""
        return memoryview(self._map)[start:end]

    def find(self, text: bytes, start: int, end: int) -> int:
        """Return the offset of the first `text` in [start, end), -1 where it is missing."""
        return self._map.find(text, start, end)

    def find_last(self, text: bytes, end: int) -> int:
        """Return the offset of the last `text` behind the opening and before `end`, -1 where it is missing."""
        return self._map.rfind(text, self.start, end)

    def match_end(self, pattern: re.Pattern[bytes], end: int) -> int:
        """Return where a pattern that matches behind the opening ends, looking no further than `end`."""
        match = pattern.match(self._map, self.start, end)
        return match.end() if match else self.start

    def places(self, pattern: re.Pattern[bytes], end: int) -> Iterator[int]:
        """Yield where the first byte of each match of a pattern ends, behind the opening and before `end`."""
        return (match.start() + 1 for match in pattern.finditer(self._map, self.start, end))

    def copy(self, start: int, end: int) -> bytes:
        """Return a copy of the bytes in [start, end)."""
        return self._map[start:end]

    def put(self, start: int, data: bytes) -> None:
        """Write bytes at an offset."""
        self._map[start : start + len(data)] = data

    def seal(self, end: int) -> None:
        """Close the piece at `end`: what lies beyond is not the parser's to see."""
        os.ftruncate(self._fd, end + len(self._closing))
        self._map[end : end + len(self._closing)] = self._closing

    def unseal(self) -> None:
        """Give the slot its full size back."""
        os.ftruncate(self._fd, self.size)

    def fill(self, data: bytes) -> None:
        """Hold `data` as the whole piece, grown where it does not fit."""
        start = self.start
        if start + len(data) + len(self._closing) > self.size:
            self.grow(start + len(data) + len(self._closing))
        self.unseal()
        self.put(start, data)
        self.seal(start + len(data))

    def grow(self, size: int) -> None:
        """Make room for `size` bytes; what was written stays."""
        self._map.close()
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)
        self.size = size

    def close(self) -> None:
        """Free the memory."""
        self._map.close()
        if self._temporary is not None:
            self._temporary.close()
        else:
            os.close(self._fd)
