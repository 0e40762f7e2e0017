"""Executors: run chunks of work on a lake, several at once, and return their results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, TypeVar

from ..connection import cores
from ..errors import InputError
from ..storage.layout import Layout

C = TypeVar("C")
R = TypeVar("R")
#: Default limit of concurrent chunks on one machine, since each needs memory.
_MOST_AT_ONCE = 8


class Executor(Protocol):
    """Runs work that is split into chunks.

    Attributes:
        at_once: chunks in progress at once.
    """

    at_once: int

    def threads(self, at_once: int) -> int:
        """Return how many threads each of some concurrent chunks may use."""

    def run(
        self, work: Callable[[Layout, C], R], layout: Layout, chunks: Sequence[C]
    ) -> Iterator[tuple[int, R | InputError]]:
        """Run the work on all chunks; yield the number and result of each as it completes.

        If the process running a chunk died, an InputError with the reason takes the place of the result.

        Args:
            work: a function that can be imported by module and name, or a partial of one.
            layout: the lake.
            chunks: the argument of each call.
        """


class Threads:
    """Threads of this process."""

    def __init__(self, jobs: int | None = None) -> None:
        """Initialise without starting threads.

        Args:
            jobs: chunks in progress at once; default: the number of cores, up to 8.
        """
        self._cores = min(_MOST_AT_ONCE, cores())
        self.at_once = jobs or self._cores
        #: Set when the results are no longer needed; work may check it to end early.
        self.stopped = threading.Event()

    def threads(self, at_once: int) -> int:
        """Return each chunk's share of the machine's cores."""
        return max(1, self._cores // at_once)

    def run(
        self, work: Callable[[Layout, C], R], layout: Layout, chunks: Sequence[C]
    ) -> Iterator[tuple[int, R | InputError]]:
        """Run the work on all chunks; yield the number and result of each as it completes."""
        with ThreadPoolExecutor(self.at_once, "tracelake") as pool:
            try:
                numbers = {pool.submit(work, layout, chunk): nth for nth, chunk in enumerate(chunks)}
                for future in as_completed(numbers):
                    yield numbers[future], future.result()
            except BaseException:
                self.stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
