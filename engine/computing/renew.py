"""Answers computed again: of traces whose rules or settings have changed, whose rows were lost, or that have none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb

from .. import aside
from ..catalog import Catalog, State, reading
from ..current import Rules, changed_settings, current_rows
from ..damage import DamagedError
from ..errors import InputError
from ..event_files import EVENTS, EventFiles
from ..sql import modules
from ..storage.files import Staging, exclusive, unbroken
from ..storage.here import Here
from ..storage.layout import Layout
from ..storage.paths import parquet_rows
from ..storage.tables import Tables
from ..stored import Stored, batch_of
from .executors import Executor
from .publish import Batch, compute, publish

T = TypeVar("T")
#: Traces that are computed together: planning queries costs as much as a small trace's rows.
AT_ONCE = 32
#: Bytes of event files from which on a trace is computed by itself.
BYTES_AT_ONCE = 64 << 20


def bring(
    layout: Layout,
    answers: Stored,
    event_files: EventFiles,
    refreshed: Callable[[], duckdb.DuckDBPyConnection],
    stale: Set[str],
    lost: Set[str],
    memory_limit: str | None = None,
) -> None:
    """Compute answers before a question; where the lake cannot be written to, for this process alone.

    Args:
        layout: the lake.
        answers: its stored answers.
        event_files: what is known of its files of events.
        refreshed: returns the connection, with the catalog as it is now.
        stale: traces with stale answers.
        lost: traces of which rows are lost.
        memory_limit: DuckDB's.

    Raises:
        DamagedError: files of events cannot be read.
        InputError: rows that a user gave a lookup table cannot be read.
    """
    # A store says only when it is written to whether one may.
    here = answers.is_here or not (layout.is_remote or os.access(str(layout.root), os.W_OK))
    if here and not answers.is_here:
        answers.see_here()
    try:
        with nullcontext() if here else exclusive(layout.lock):
            # Another process may have done it meanwhile.
            connection = refreshed()
            wanted, damaged = answers.to_renew(connection, event_files, stale, lost)
            for trace_id, reason in damaged.items():
                aside.put(connection, layout, trace_id, EVENTS, reason)
            renew(layout, answers, connection, wanted, memory_limit)
    except (OSError, duckdb.IOException) as error:
        if here:
            raise
        # A full disk, a folder of somebody else's: the question has its answer all the same.
        aside.warn_unwritable(layout.root, error)
        answers.see_here()
        bring(layout, answers, event_files, refreshed, stale, lost, memory_limit)


def renew(
    layout: Layout,
    answers: Stored,
    connection: duckdb.DuckDBPyConnection,
    traces: Sequence[str],
    memory_limit: str | None = None,
) -> None:
    """Compute the answers of some traces, and publish them. The lake's lock is held, where it is written to."""
    tables, catalog = answers.tables, answers.catalog
    for chunk in _chunks(layout, catalog, traces):
        with _folder(layout, tables) as folder:
            batch = _compute(layout, tables, catalog, connection, chunk, folder, memory_limit)
            publish(layout, tables, folder, [batch], memory_limit=memory_limit, renewed=True)


def renew_side_by_side(
    layout: Layout,
    catalog: Catalog,
    traces: Sequence[str],
    executor: Executor,
    done: Callable[[int], None],
    memory_limit: str | None = None,
) -> None:
    """Compute the answers of many traces, several at once, and publish each as it is done.

    Args:
        layout: the lake, whose lock is free.
        catalog: its catalog, loaded.
        traces: the traces.
        executor: does it, for several traces together.
        done: called with the number of traces that were published.
        memory_limit: DuckDB's.

    Raises:
        InputError: files of events, or rows that a user gave a lookup table, cannot be read.
    """
    chunks = list(_chunks(layout, catalog, traces, max(1, min(executor.at_once, len(traces)))))
    for nth, result in executor.run(partial(renew_chunk, memory_limit=memory_limit), layout, chunks):
        if isinstance(result, InputError):
            raise result
        done(len(chunks[nth]))


def renew_chunk(layout: Layout, chunk: Sequence[str], memory_limit: str | None = None) -> None:
    """Compute the answers of some traces together, and publish them.

    Raises:
        InputError: files of events, or rows that a user gave a lookup table, cannot be read.
    """
    tables = Tables(layout.tables)
    try:
        with Staging(layout.staging) as folder:
            with reading(tables, layout.root) as (catalog, connection):
                batch = _compute(layout, tables, catalog, connection, chunk, folder, memory_limit)
            with exclusive(layout.lock), unbroken:
                publish(layout, tables, folder, [batch], memory_limit=memory_limit, renewed=True)
    except DamagedError as met:
        raise InputError("\n".join(met.found.events.values())) from met


def together(items: Iterable[T], size_of: Callable[[T], int], most: int, most_bytes: int) -> Iterator[list[T]]:
    """Yield items that are taken together: small ones to save what each group costs, large ones by themselves."""
    group: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if group and (len(group) >= most or total + size > most_bytes):
            yield group
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield group


def _chunks(layout: Layout, catalog: Catalog, traces: Sequence[str], jobs: int = 1) -> Iterator[list[str]]:
    """Yield traces to be computed together."""

    def size(trace_id: str) -> int:
        listed = catalog.states[trace_id].event_files
        return sum(file.stat().st_size for file in layout.event_files(trace_id, listed))

    return together(traces, size, min(AT_ONCE, -(-len(traces) // jobs)), BYTES_AT_ONCE)


def _compute(
    layout: Layout,
    tables: Tables,
    catalog: Catalog,
    connection: duckdb.DuckDBPyConnection,
    chunk: Sequence[str],
    folder: Path,
    memory_limit: str | None,
) -> Batch:
    """Compute the answers of some traces; where settings alone have changed, those that read these settings."""
    settings = {one: catalog.relevant(one) for one in chunk}
    events = {one: layout.event_files(one, catalog.states[one].event_files) for one in chunk}
    entries = catalog.entries(connection, chunk)
    rules = Rules(layout)
    if given := _unchanged(tables, {one: (catalog.states[one], rules.of(settings[one])) for one in chunk}):
        try:
            return compute(layout, entries, settings, events, folder, memory_limit, given)
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            # What is stored cannot be read: it is computed like the rest.
            pass
    return compute(layout, entries, settings, events, folder, memory_limit)


def _unchanged(tables: Tables, traces: Mapping[str, tuple[State, str]]) -> dict[str, str]:
    """Return, for stored relations whose rows of some traces stay what they are, the SELECT that reads them.

    Args:
        tables: the lake's tables.
        traces: for each trace its state, and the fingerprint of the rules and settings that there are now.
    """
    stay = set(modules.stored())
    for state, now in traces.values():
        changed = changed_settings(state.rules, now)
        if not changed or not state.batch_id or state.links or state.faults:
            return {}
        from ..sql.lineage import reached

        stay -= frozenset().union(*map(reached, changed))
    given = {}
    for name in sorted(stay):
        entry = modules.module(name)
        assert entry is not None
        batches = {one: batch_of(name, state) for one, (state, _) in traces.items() if f",{name}," in state.relations}
        files = [file for file in tables.files(name) if any(file.may_hold(*one) for one in batches.items())]
        if not all(any(file.may_hold(*one) for file in files) for one in batches.items()):
            continue
        given[name] = current_rows(entry, parquet_rows([file.path for file in files]) if files else "")
    return given


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
