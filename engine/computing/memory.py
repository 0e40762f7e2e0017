"""The memory limit of a database that computes: low, and raised while something does not fit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from ..connection import close_idle, cores

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
#: mallopt's parameter, of malloc.h.
_M_ARENA_MAX = -8

#: MB per thread, tried in turn; None is DuckDB's default: four fifths of the machine's memory before it spills, for
#: each of several databases that run at once. What exceeds a limit is spilled, and fails only where it cannot be.
#: All relations of 4 million kernels fit the first, three of them in parts.
STEPS_MB = (150, 200, 500, 1000, 2000, None)


class Memory:
    """The memory limit of a database, shared by several threads."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Limit the memory of a connection's database to the first of the steps."""
        self._cursor = connection.cursor()
        [(self._threads,)] = self._cursor.execute("SELECT current_setting('threads')").fetchall()
        self._lock = threading.Lock()
        #: The indexes in STEPS_MB of running work, and of the current limit.
        self._running: list[int] = []
        self._set = -1
        self._limit()

    def fit(self, work: Callable[[], T], first: int = 0, last: int | None = None) -> T:
        """Run some work, and retry it with more memory while it does not fit.

        Args:
            work: the work.
            first: the first step to try.
            last: the last step to try; default: the last one.

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
            # What is held now may not fit: then the limit stays until the next work starts or ends.
            with contextlib.suppress(duckdb.OutOfMemoryException):
                self._cursor.execute(f"SET GLOBAL memory_limit = '{size}'")
                self._set = nth


def give_back() -> None:
    """Release memory left over from reading: idle databases, and free heap pages."""
    close_idle()
    _of_glibc("malloc_trim", 0)


def share_heaps() -> None:
    """Have threads share one heap per core; by default glibc gives each its own, up to eight per core.

    Memory freed by one thread then serves the next: 40 MB less for a large trace. Only for processes of our own.
    """
    _of_glibc("mallopt", _M_ARENA_MAX, cores())


def _of_glibc(function: str, *arguments: int) -> None:
    import ctypes

    # Other C libraries lack both.
    with contextlib.suppress(AttributeError, OSError, TypeError):
        getattr(ctypes.CDLL(None), function)(*arguments)
