"""This process's temporary folder: spilled data, files being written, and answers of its own.

It is a staging folder like those of a lake, in a folder of the user's among the system's temporary files: it is removed
when the process ends, or by a later process if this one is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .files import Staging, temporary


def scratch() -> Path:
    """Return this process's folder.

    Raises:
        InputError: the folder of the user's cannot be used.
    """
    folder = _held().path
    # A long-lived process may find it removed by what cleans up the system's temporary files.
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    return folder


@functools.cache
def _held() -> Staging:
    held, process = Staging(temporary()), os.getpid()

    def close() -> None:
        # A forked child leaves it to its parent.
        if os.getpid() == process:
            held.close()

    atexit.register(close)
    return held


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a folder that a locked connection may write to, for the duration of the context."""
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        yield Path(folder)
