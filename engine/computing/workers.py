"""A pool of connections that compute: a used one waits for the next batch, with its lookup tables filled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..connection import have_read
from ..storage.layout import Layout
from .compute import Worker

#: Maximum size of the pool: the number of files ingested at once.
_MOST_IDLE = 8
_idle: list[Worker] = []


@contextlib.contextmanager
def worker(layout: Layout, memory_limit: str | None = None) -> Iterator[Worker]:
    """Lend a worker; one that used only the shipped lookup tables is reused for other lakes without own rows.

    Args:
        layout: the lake.
        memory_limit: DuckDB's; without it, see `tracelake.engine.computing.memory`.
    """
    plain = not layout.lookup_files() and memory_limit is None
    try:
        lent = _idle.pop() if plain else Worker(layout, memory_limit)
    except IndexError:
        lent = Worker(layout, memory_limit)
    whole = False
    try:
        have_read(lent.connection, layout.root)
        yield lent
        whole = True
    finally:
        if plain and whole and len(_idle) < _MOST_IDLE:
            lent.clear()
            _idle.append(lent)
        else:
            lent.connection.close()
