"""Ctrl-C ends a command within a second at any step, and removes unfinished output.

Python runs a signal handler only when its main thread returns to Python code, and DuckDB may spend long in one query;
the threads of an ingest would have to poll too. So a separate thread waits for the signal. It lets an atomic
step finish, removes unfinished files, and ends the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

from ..engine.storage import files
from .common import say

#: Maximum seconds to wait for an atomic step: a rename and a row of the catalog.
_PATIENCE = 0.7
_CODE = 130


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """End the process when the user interrupts; signals that are ignored or handled elsewhere stay that way."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    threading.Thread(target=_wait, args=(reading,), name="tracelake-interrupt", daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: None)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(reading: int) -> None:
    while signal.SIGINT not in os.read(reading, 1):
        pass
    try:
        files.unbroken.acquire(timeout=_PATIENCE)
        labels = files.abandon()
        if sys.stderr is not None and sys.stderr.isatty():
            # Restore the cursor and clear the line of a progress bar.
            sys.stderr.write("\x1b[?25h\r\x1b[K")
        say(f"interrupted, nothing stored of {', '.join(labels)}." if labels else "interrupted.")
    finally:
        os._exit(_CODE)
