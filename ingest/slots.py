"""Memory that DuckDB reads as a file: a piece of an event array or of a table is stored and parsed there.

On Linux the file is in memory and has no name. A pipe would work too, but DuckDB keeps all it has read from a
pipe, and a pipe's pages are copied twice. Slots are reused, so that their pages are faulted in once.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import tempfile
from collections.abc import Iterator


class Slot:
    """A growable file in memory holding a piece between an opening and a closing text: `[` + events + `]`."""

    def __init__(self, size: int, *, opening: bytes = b"[", closing: bytes = b"]") -> None:
        """Create a slot with room for `size` bytes."""
        #: Where the content begins.
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
        """Return the offset of the first `text` in [start, end), -1 if there is none."""
        return self._map.find(text, start, end)

    def find_last(self, text: bytes, end: int) -> int:
        """Return the offset of the last `text` after the opening and before `end`, -1 if there is none."""
        return self._map.rfind(text, self.start, end)

    def match_end(self, pattern: re.Pattern[bytes], end: int) -> int:
        """Return the end of a pattern's match after the opening, searching no further than `end`."""
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
        """End the piece at `end`, hiding the rest from the parser."""
        os.ftruncate(self._fd, end + len(self._closing))
        self._map[end : end + len(self._closing)] = self._closing

    def unseal(self) -> None:
        """Restore the slot's full size."""
        os.ftruncate(self._fd, self.size)

    def fill(self, data: bytes) -> None:
        """Store `data` as the whole piece, growing the slot if needed."""
        start = self.start
        if start + len(data) + len(self._closing) > self.size:
            self.grow(start + len(data) + len(self._closing))
        self.unseal()
        self.put(start, data)
        self.seal(start + len(data))

    def grow(self, size: int) -> None:
        """Make room for `size` bytes; the content is kept."""
        self._map.close()
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)
        self.size = size

    def close(self) -> None:
        """Free the memory."""
        # After an error while reading into it, the traceback holds a view; the map is then freed with it.
        with contextlib.suppress(BufferError):
            self._map.close()
        if self._temporary is not None:
            self._temporary.close()
        else:
            os.close(self._fd)
