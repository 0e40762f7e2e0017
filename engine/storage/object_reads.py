"""How DuckDB reads objects: through an fsspec file system, in ranges; no extension is needed."""

from __future__ import annotations

import datetime
import threading
from typing import Any

import fsspec

from .objects import ObjectPath, StoreError

_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


class _Reads(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """The part of fsspec's interface that DuckDB reads with."""

    protocol = ("s3", "gs", "az")
    cachable = False

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Handle:
        """Open an object for reading, without a request.

        Raises:
            StoreError: it is opened for writing.
        """
        if mode != "rb":
            raise StoreError(path, "a query reads objects and writes none; write to a file")
        return _Handle(ObjectPath.at(path))

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the path itself: each path of a lake names one object."""
        return [path]

    def isdir(self, path: str) -> bool:  # noqa: ARG002
        """Return false: DuckDB has nothing to look for below a path."""
        return False

    def exists(self, path: str, **_: Any) -> bool:
        """Whether an object exists."""
        return ObjectPath.at(path).is_file()

    def size(self, path: str) -> int:
        """Return an object's bytes."""
        return ObjectPath.at(path).stat().st_size

    def modified(self, path: str) -> datetime.datetime:
        """Return when an object was written; a constant for objects that never change."""
        return _EPOCH + datetime.timedelta(microseconds=ObjectPath.at(path).stat().st_mtime_ns // 1000)


class _Handle:
    """An open object. DuckDB's threads share it; each seeks before it reads, so each has its own position."""

    def __init__(self, path: ObjectPath) -> None:
        """Open without reading."""
        self._path = path
        # By system thread ids: Python sees each call from a DuckDB thread as a new thread.
        self._at: dict[int, int] = {}

    def seek(self, at: int, whence: int = 0) -> None:
        """Seek to an absolute position; DuckDB uses no other."""
        assert whence == 0
        self._at[threading.get_ident()] = at

    def tell(self) -> int:
        """Return the position."""
        return self._at.get(threading.get_ident(), 0)

    def read(self, count: int) -> bytes:
        """Return the next bytes."""
        at = self.tell()
        left = min(count, self._path.stat().st_size - at)
        found = self._path.read_range(at, left) if left > 0 else b""
        self.seek(at + len(found))
        return found

    def close(self) -> None:
        """Do nothing."""


def register(connection: Any) -> None:
    """Let a DuckDB connection read objects; may be called again."""
    if not connection.filesystem_is_registered("s3"):
        connection.register_filesystem(_Reads())
        # Files up to this many bytes are read whole, others in the requested ranges; the default is twice as much.
        connection.execute(f"SET external_file_cache_remote_max_block_size = {1 << 20}")
