"""How much memory a database that computes takes: little, and more for as long as something does not fit."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from ..connection import close_idle

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
#: mallopt's parameter, of malloc.h.
_M_ARENA_MAX = -8

#: MB for each thread, tried in turn; None is what DuckDB takes by default: four fifths of the machine's memory before
#: it spills, for each of several databases that work at once. What takes more is spilled, and fails only where it
#: cannot be. In the first all relations of 4 million kernels fit, three of them in parts.
STEPS_MB = (150, 200, 500, 1000, 2000, None)


class Memory:
    """The memory limit of a database, for what several threads do in it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Limit the memory of a connection's database to the first of the steps."""
        self._cursor = connection.cursor()
        [(self._threads,)] = self._cursor.execute("SELECT current_setting('threads')").fetchall()
        self._lock = threading.Lock()
        #: The places in STEPS_MB of what is running, and of the limit as it is set.
        self._running: list[int] = []
        self._set = -1
        self._limit()

    def fit(self, work: Callable[[], T], first: int = 0, last: int | None = None) -> T:
        """Do some work, and again with more memory where it does not fit.

        Args:
            work: what is to be done.
            first: the step to begin with.
            last: the step to end with; the last of all by default.

        Raises:
            duckdb.OutOfMemoryException: it does not fit the last step.
        """
        import duckdb

        if last is None:
            last = len(STEPS_MB) - 1
        for nth in range(first, last):
            with contextlib.suppress(duckdb.OutOfMemoryException), self._at_least(nth):
                return work()
        with self._at_least(last):
            return work()

    @contextlib.contextmanager
    def _at_least(self, nth: int) -> Iterator[None]:
        with self._lock:
            self._running.append(nth)
            self._limit()
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(nth)
                self._limit()

    def _limit(self) -> None:
        import duckdb

        nth = max(self._running, default=0)
        if nth != self._set:
            mb = STEPS_MB[nth]
            size = "80%" if mb is None else f"{self._threads * mb}MB"
            # What is held now may not fit: then the limit stays until the next work.
            with contextlib.suppress(duckdb.OutOfMemoryException):
                self._cursor.execute(f"SET GLOBAL memory_limit = '{size}'")
                self._set = nth


def give_back() -> None:
    """Give the machine what reading has left: databases that wait for the next file, and free pieces of the heap."""
    close_idle()
    _of_glibc("malloc_trim", 0)


def share_heaps() -> None:
    """Have threads share a heap for each core, where glibc would give each its own, up to eight for each core.

    What one thread frees serves the next then: 40 MB less of a large trace. For a process that is ours alone.
    """
    _of_glibc("mallopt", _M_ARENA_MAX, os.cpu_count() or 1)


def _of_glibc(function: str, *arguments: int) -> None:
    import ctypes

    # Other C libraries have neither.
    with contextlib.suppress(AttributeError, OSError, TypeError):
        getattr(ctypes.CDLL(None), function)(*arguments)
