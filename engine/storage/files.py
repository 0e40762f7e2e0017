"""Atomic publication: write a temporary file, fsync, rename. Locks between processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import InputError, why
from .objects import ObjectPath, remove
from .paths import Place, plain_files


def fsync_path(path: Path) -> None:
    """Flush a file or folder to disk; ignored where the file system does not support it."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def publish_bytes(path: Place, data: bytes) -> None:
    """Write `data` to `path` atomically: a reader sees either the old content or the new."""
    if isinstance(path, ObjectPath):
        path.write(data)
        return
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


@contextlib.contextmanager
def exclusive(path: Place) -> Iterator[None]:
    """Hold the lock file `path`, waiting for other processes; an object store has no locks."""
    if isinstance(path, ObjectPath):
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def is_locked(path: Path) -> bool:
    """Whether any process holds a lock file."""
    with path.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def remove_folder(folder: Place) -> None:
    """Remove a folder with its content; if it is a link, only the link."""
    if isinstance(folder, ObjectPath):
        remove(folder.below())
    elif folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


#: Held during a step that an interrupt must not split.
unbroken = threading.Lock()
_under_way: list[Staging] = []
#: Called when this process is about to end early: they cancel work that others do for it.
at_abandon: list[Callable[[], None]] = []


def abandon() -> list[str]:
    """Remove the staging folders of this process, which is about to end; return the labels of the work."""
    for end in tuple(at_abandon):
        end()
    labels = []
    for staging in tuple(_under_way):
        # Threads may still be writing; once the folder is gone, they cannot add files.
        for _ in range(50):
            shutil.rmtree(staging.path, ignore_errors=True)
            if not staging.path.exists():
                break
        staging.close()
        labels += [staging.label] if staging.label else []
    return labels


def finished(folder: Path) -> None:
    """Mark the work of a staging folder as done: an interrupt after this does not undo it."""
    for staging in _under_way:
        if staging.path == folder:
            staging.label = ""


@contextlib.contextmanager
def changing(root: Place) -> Iterator[None]:
    """Turn file system errors into a one-line message.

    Raises:
        InputError: the lake cannot be written to.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{root}: this lake cannot be changed: {why(error)}.") from error


class Staging:
    """A locked folder under `parent` for work in progress. The lock shows whether its process is alive."""

    def __init__(self, parent: Path, label: str = "") -> None:
        """Create the folder and lock it.

        Args:
            parent: the folder to create it in.
            label: the name of the work, reported if it is interrupted.
        """
        self.label = label
        parent.mkdir(parents=True, exist_ok=True)
        self.path = parent / uuid.uuid4().hex
        # The lock is taken first and lies beside the folder, so a folder without a lock is always dead.
        self._lock_path = self.path.with_suffix(".lock")
        self._lock = self._lock_path.open("ab")
        while True:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            if self._lock_path.exists():
                break
            # Another process removed the new lock file as stale before it was locked.
            self._lock.close()
            self._lock = self._lock_path.open("ab")
        self.path.mkdir()
        _under_way.append(self)

    def close(self) -> None:
        """Remove the folder with its remaining content."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        self._lock.close()
        if self in _under_way:
            _under_way.remove(self)

    def __enter__(self) -> Path:
        """Return the folder."""
        return self.path

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def remove_dead_staging(folder: Path) -> None:
    """Remove what killed processes have left: of this user, and in a lake's folder for work in progress."""
    for parent in {temporary(), folder}:
        # Live processes hold their locks.
        for lock_path in plain_files(parent, ".lock"):
            with contextlib.suppress(OSError), lock_path.open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock_path.with_suffix(""), ignore_errors=True)
                lock_path.unlink(missing_ok=True)


def temporary() -> Path:
    """Return this user's folder among the system's temporary files; create it if missing.

    Raises:
        InputError: it belongs to another user, or cannot be created.
    """
    folder = Path(tempfile.gettempdir()) / f"tracelake-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise InputError(f"{folder}: cannot be used for work under way: {error.strerror}.") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise InputError(f"{folder}: is not a folder of yours. Set TMPDIR to another place for work under way.")
    return folder
