"""This process's temporary folder: spilled data, files being written, and answers of its own.

It is removed when the process ends, or by a later process if this one is killed. A lock beside the folder shows
whether its process is alive; a process id would not if containers or machines share the temporary folder.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"(tracelake-(\d+)-[0-9a-f]{16})(\.lock)?")
#: Seconds after which a folder without a lock (of an earlier version) is dead if its process id does not exist.
_LONG = 24 * 3600.0


@functools.cache
def scratch() -> Path:
    """Return this process's folder; it may not exist."""
    folder = Path(tempfile.gettempdir()) / f"tracelake-{os.getpid()}-{os.urandom(8).hex()}"
    with contextlib.suppress(OSError):
        # Held open until the process ends. Another process may remove the new file as stale before it is locked.
        while not _lock_of(folder).exists():
            lock = os.open(_lock_of(folder), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
    atexit.register(_remove, folder, os.getpid())
    return folder


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a folder that a locked connection may write to, for the duration of the context."""
    scratch().mkdir(mode=0o700, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            yield Path(folder)
    finally:
        with contextlib.suppress(OSError):
            scratch().rmdir()


def remove_scratch() -> None:
    """Remove the folder of this process, which is about to end."""
    if scratch.cache_info().currsize:
        _remove(scratch(), os.getpid())


def remove_dead_scratch() -> None:
    """Remove the folders of this user's killed processes."""
    try:
        with os.scandir(tempfile.gettempdir()) as entries:
            found = {match[1]: int(match[2]) for one in entries if (match := _NAME.fullmatch(one.name))}
    except OSError:
        return
    for name, process in found.items():
        folder = Path(tempfile.gettempdir()) / name
        with contextlib.suppress(OSError):
            _remove_dead(folder, process)


def _remove_dead(folder: Path, process: int) -> None:
    """Remove a process's folder if the process is dead and the folder is this user's.

    Raises:
        OSError: the process is alive, the folder is another user's, or already gone.
    """
    try:
        lock = os.open(_lock_of(folder), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        about = folder.lstat()
        if about.st_uid == os.getuid() and about.st_mtime < time.time() - _LONG and not _is_there(process):
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if os.fstat(lock).st_uid == os.getuid() and (not folder.exists() or folder.lstat().st_uid == os.getuid()):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder, os.getpid())
    finally:
        os.close(lock)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _remove(folder: Path, process: int) -> None:
    """Remove a folder and its lock, but not in a forked child."""
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
        _lock_of(folder).unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")
