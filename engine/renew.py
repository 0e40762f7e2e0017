"""Answers computed again: of traces whose rules or settings have changed, whose rows were lost, or that have none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .catalog import Catalog
from .files import Staging, exclusive, unbroken
from .layout import Layout
from .publish import Batch, compute, publish
from .tables import Here, Tables

if TYPE_CHECKING:
    import duckdb

#: Traces that are computed together: planning queries costs as much as a small trace's rows.
AT_ONCE = 32
#: Bytes of event files from which on a trace is computed by itself.
BYTES_AT_ONCE = 64 << 20


def renew(
    layout: Layout,
    tables: Tables,
    catalog: Catalog,
    connection: duckdb.DuckDBPyConnection,
    traces: Sequence[str],
    memory_limit: str | None = None,
) -> None:
    """Compute the answers of some traces, and publish them. The lake's lock is held, where it is written to."""
    for chunk in chunks(layout, traces):
        with _folder(layout, tables) as folder:
            batch = _compute(layout, catalog, connection, chunk, folder, memory_limit)
            publish(layout, tables, folder, [batch], memory_limit=memory_limit, renewed=True)


def renew_side_by_side(
    layout: Layout,
    catalog: Catalog,
    connection: duckdb.DuckDBPyConnection,
    traces: Sequence[str],
    jobs: int,
    done: Callable[[int], None],
    memory_limit: str | None = None,
) -> None:
    """Compute the answers of many traces, several at once, and publish each as it is done.

    Args:
        layout: the lake, whose lock is free.
        catalog: its catalog, loaded.
        connection: the connection with the catalog.
        traces: the traces.
        jobs: how many are computed at once, each with the traces that are computed with it.
        done: called with the number of traces that were published.
        memory_limit: DuckDB's.
    """
    tables = Tables(layout.tables)

    def one(chunk: Sequence[str]) -> int:
        with Staging(layout.staging) as folder, connection.cursor() as cursor:
            batch = _compute(layout, catalog, cursor, chunk, folder, memory_limit)
            with exclusive(layout.lock), unbroken:
                publish(layout, tables, folder, [batch], memory_limit=memory_limit, renewed=True)
        return len(chunk)

    with ThreadPoolExecutor(jobs, "tracelake-answers") as pool, ExitStack() as stack:
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        for count in pool.map(one, list(chunks(layout, traces, -(-len(traces) // jobs)))):
            done(count)


def chunks(layout: Layout, traces: Sequence[str], most: int | None = None) -> Iterator[list[str]]:
    """Yield traces to be computed together: small ones to save the planning of queries, large ones by themselves."""
    chunk: list[str] = []
    total = 0
    for trace_id in traces:
        size = sum(file.stat().st_size for file in layout.event_files(trace_id))
        if chunk and (len(chunk) >= min(AT_ONCE, most or AT_ONCE) or total + size > BYTES_AT_ONCE):
            yield chunk
            chunk, total = [], 0
        chunk.append(trace_id)
        total += size
    if chunk:
        yield chunk


def _compute(
    layout: Layout,
    catalog: Catalog,
    connection: duckdb.DuckDBPyConnection,
    chunk: Sequence[str],
    folder: Path,
    memory_limit: str | None,
) -> Batch:
    settings = {one: catalog.relevant(one) for one in chunk}
    events = {one: layout.event_files(one) for one in chunk}
    return compute(layout, catalog.entries(connection, chunk), settings, events, folder, memory_limit)


@contextmanager
def _folder(layout: Layout, tables: Tables) -> Iterator[Path]:
    """Make a folder for files on their way into tables."""
    if isinstance(tables, Here):
        tables.folder.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tables.folder) as folder:
            yield Path(folder)
    else:
        with Staging(layout.staging) as folder:
            yield folder
