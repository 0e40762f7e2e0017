"""How DuckDB reads objects: as a file system of fsspec's, in ranges; no extension of its own is needed."""

from __future__ import annotations

import datetime
import threading
from typing import Any

import fsspec

from .objects import ObjectPath, StoreError

_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


class _Reads(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """What DuckDB asks of a file system that it reads from."""

    protocol = ("s3", "gs", "az")
    cachable = False

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Handle:
        """Open an object to read it; no request is made.

        Raises:
            StoreError: it is to be written.
        """
        if mode != "rb":
            raise StoreError(path, "a query reads objects and writes none; write to a file")
        return _Handle(ObjectPath.at(path))

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the path: those of a lake name one object each."""
        return [path]

    def isdir(self, path: str) -> bool:  # noqa: ARG002
        """Say no: what begins with a path is nothing that DuckDB would find."""
        return False

    def exists(self, path: str, **_: Any) -> bool:
        """Whether an object is there."""
        return ObjectPath.at(path).is_file()

    def size(self, path: str) -> int:
        """Return an object's bytes."""
        return ObjectPath.at(path).stat().st_size

    def modified(self, path: str) -> datetime.datetime:
        """Return when an object was written; always the same of one that stays as it is."""
        return _EPOCH + datetime.timedelta(microseconds=ObjectPath.at(path).stat().st_mtime_ns // 1000)


class _Handle:
    """An open object. DuckDB's threads share it: each has its own position, since it moves there before it reads."""

    def __init__(self, path: ObjectPath) -> None:
        """Read nothing yet."""
        self._path = path
        # By the system's threads: Python's own know one of DuckDB's anew each time it comes.
        self._at: dict[int, int] = {}

    def seek(self, at: int, whence: int = 0) -> None:
        """Move to a position from the start; DuckDB moves from nowhere else."""
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
    """Have a connection of DuckDB read objects; it may do so already."""
    if not connection.filesystem_is_registered("s3"):
        connection.register_filesystem(_Reads())
        # Files of up to so many bytes are read as a whole, of others what is asked for; by default it is twice as much.
        connection.execute(f"SET external_file_cache_remote_max_block_size = {1 << 20}")
