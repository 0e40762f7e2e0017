"""Where chunks of work on a lake are done, several at once, and how their results come back."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, TypeVar

from ..errors import InputError
from ..storage.layout import Layout

C = TypeVar("C")
R = TypeVar("R")
#: Chunks that one machine works on at once, where nobody gives a number: each takes its memory.
_MOST_AT_ONCE = 8


class Executor(Protocol):
    """Does work that falls into chunks.

    Attributes:
        at_once: chunks that are done at once.
    """

    at_once: int

    def threads(self, at_once: int) -> int:
        """Return how many threads each of some chunks that are done at once may take."""

    def run(
        self, work: Callable[[Layout, C], R], layout: Layout, chunks: Sequence[C]
    ) -> Iterator[tuple[int, R | InputError]]:
        """Do the work on all chunks; yield the number of each that is done with its result, as they come.

        In the place of a result stands why there is none, where the process that was to make it died.

        Args:
            work: a function that is found by its module and name, with what is bound to it.
            layout: the lake.
            chunks: what the work is given, one after the other.
        """


class Threads:
    """Threads of this process."""

    def __init__(self, jobs: int | None = None) -> None:
        """Start nothing yet.

        Args:
            jobs: chunks that are done at once; as many as the machine has cores, up to 8, when not given.
        """
        self._cores = min(_MOST_AT_ONCE, os.cpu_count() or 1)
        self.at_once = jobs or self._cores
        #: Set when nobody waits for results any more: what looks at it meanwhile can end early.
        self.stopped = threading.Event()

    def threads(self, at_once: int) -> int:
        """Return the share of each in the machine's cores."""
        return max(1, self._cores // at_once)

    def run(
        self, work: Callable[[Layout, C], R], layout: Layout, chunks: Sequence[C]
    ) -> Iterator[tuple[int, R | InputError]]:
        """Do the work on all chunks; yield the number of each that is done with its result, as they come."""
        with ThreadPoolExecutor(self.at_once, "tracelake") as pool:
            try:
                numbers = {pool.submit(work, layout, chunk): nth for nth, chunk in enumerate(chunks)}
                for future in as_completed(numbers):
                    yield numbers[future], future.result()
            except BaseException:
                self.stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
