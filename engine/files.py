"""Atomic publication: write beside, fsync, rename. Locks between processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from .paths import plain_files


def fsync_path(path: Path) -> None:
    """Flush a file or folder to the disk; a file system that cannot is left alone."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def publish_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    fsync_path(path.parent)


def publish_file(beside: Path, path: Path) -> None:
    """Move a finished file into place; both must lie on one file system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fsync_path(beside)
    beside.replace(path)
    fsync_path(path.parent)


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting for another process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def remove_folder(folder: Path) -> None:
    """Remove a folder with what is in it; of one that is a link, the link."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


class Staging:
    """A folder under `parent` for work under way. A dead process's folder is told from a live one by its lock."""

    def __init__(self, parent: Path) -> None:
        """Make the folder and lock it."""
        parent.mkdir(parents=True, exist_ok=True)
        self.path = parent / uuid.uuid4().hex
        # The lock comes first and lies beside the folder: a folder without a lock is therefore always dead.
        self._lock_path = self.path.with_suffix(".lock")
        self._lock = self._lock_path.open("ab")
        while True:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            if self._lock_path.exists():
                break
            # Another process took the fresh file for a dead one's before the lock was on it.
            self._lock.close()
            self._lock = self._lock_path.open("ab")
        self.path.mkdir()

    def close(self) -> None:
        """Remove the folder with what is left in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        self._lock.close()

    def __enter__(self) -> Path:
        """Return the folder."""
        return self.path

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def remove_dead_staging(parent: Path) -> None:
    """Remove what ingests left that were killed. Live ones hold their lock and are left alone."""
    if not parent.is_dir():
        return
    for lock_path in plain_files(parent, ".lock"):
        try:
            with lock_path.open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock_path.with_suffix(""), ignore_errors=True)
                lock_path.unlink(missing_ok=True)
        except OSError:
            continue
