"""A request: its lake and its thread, and its end on a timeout or cancellation.

As on the command line, a request opens the lake, answers and closes it: it sees what is published at that time, its
additions to the connection (scenarios, sides of a comparison) end with it, and requests share no state.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from ..lake import Lake

if TYPE_CHECKING:
    import duckdb

#: Maximum concurrent requests; others wait.
AT_ONCE = 4
#: Memory limit of one request's database: together they get what DuckDB takes by default.
_MEMORY = f"{80 // AT_ONCE}%"
#: Seconds between attempts to interrupt, since one between two queries has no effect, and between checks whether a
#: waiting request was cancelled.
_AGAIN = 0.05


class Requests:
    """Answers requests about one lake, each in its own thread."""

    def __init__(self, place: Place, seconds: float) -> None:
        """Initialise without requests.

        Args:
            place: the lake.
            seconds: how long a request may take.
        """
        self._place = place
        self._seconds = seconds
        # Held by the threads: a cancelled request counts until its thread ends.
        self._places = threading.BoundedSemaphore(AT_ONCE)

    async def answer(self, ask: Callable[[Lake], str], *, writes: bool = False) -> str:
        """Return a function's answer about the lake.

        Args:
            ask: called with the lake.
            writes: it writes to the lake: it has no time limit, and continues after a cancellation.

        Raises:
            UsageError: it took too long.
            Exception: what the function raises.
        """
        running = _Running()

        def work() -> str:
            while not self._places.acquire(timeout=_AGAIN):
                if running.given_up:
                    return ""
            try:
                with Lake(self._place, create=writes, memory_limit=_MEMORY) as lake:
                    if writes:
                        return ask(lake)
                    with running.on(lake.store.catalog_connection):
                        return "" if running.given_up else _answered(lake, ask)
            finally:
                self._places.release()

        try:
            with anyio.move_on_after(None if writes else self._seconds):
                return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            running.give_up()
        raise UsageError(
            f"stopped after {self._seconds:g} s: ask for less (one trace, an aggregate), or have the server started "
            "with a larger --timeout."
        )


def _answered(lake: Lake, ask: Callable[[Lake], str]) -> str:
    """Ask, and retry without damaged files that the query met, as a command does."""
    import duckdb

    while True:
        try:
            return ask(lake)
        except duckdb.Error as error:
            if not lake.store.recover(error):
                raise


class _Running:
    """The part of a request that runs in a thread."""

    def __init__(self) -> None:
        self.given_up = False
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def on(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Run queries on a connection that can be interrupted."""
        self._connection = connection
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    def give_up(self) -> None:
        """Interrupt running queries until the request ends; return at once."""
        self.given_up = True
        if self._connection is not None:
            threading.Thread(target=self._interrupt, name="tracelake-give-up", daemon=True).start()

    def _interrupt(self) -> None:
        while self._connection is not None:
            with self._lock:
                if self._connection is not None:
                    self._connection.interrupt()
            time.sleep(_AGAIN)
