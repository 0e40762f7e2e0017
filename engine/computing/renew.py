"""Recomputes answers of traces whose rules or settings have changed, whose rows were lost, or that have none yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb

from .. import aside, event_files
from ..catalog import Catalog, State, reading
from ..current import Rules, changed_settings, rows_in
from ..damage import DamagedError
from ..errors import InputError
from ..event_files import EVENTS
from ..sql import modules
from ..storage.files import Staging, exclusive, unbroken
from ..storage.here import Here
from ..storage.layout import Layout
from ..storage.tables import Tables
from ..stored import Stored, batch_of
from .executors import Executor
from .publish import Batch, compute, publish

T = TypeVar("T")
#: Traces that are computed together: planning the queries costs as much as a small trace's rows.
AT_ONCE = 32
#: A trace with this many bytes of event files is computed alone.
BYTES_AT_ONCE = 64 << 20


def bring(
    layout: Layout,
    answers: Stored,
    refreshed: Callable[[], duckdb.DuckDBPyConnection],
    stale: Set[str],
    lost: Set[str],
    memory_limit: str | None = None,
) -> None:
    """Compute answers before a query; if the lake is read-only, for this process only.

    Args:
        layout: the lake.
        answers: its stored answers.
        refreshed: returns the connection with the latest catalog loaded.
        stale: traces with stale answers.
        lost: traces with lost rows.
        memory_limit: DuckDB's.

    Raises:
        DamagedError: event files cannot be read.
        InputError: a user's lookup rows cannot be read.
    """
    # Whether an object store is writable shows only on writing.
    here = answers.is_here or not (layout.is_remote or os.access(str(layout.root), os.W_OK))
    if here and not answers.is_here:
        answers.see_here()
    try:
        with nullcontext() if here else exclusive(layout.lock):
            # Another process may have done it meanwhile.
            connection = refreshed()
            wanted = sorted(stale & {*answers.stale()} | lost & answers.catalog.states.keys())
            damaged = event_files.damaged(layout, connection, wanted)
            for trace_id, reason in damaged.items():
                aside.put(connection, layout, trace_id, EVENTS, reason)
            for chunk in _chunks(layout, answers.catalog, [one for one in wanted if one not in damaged]):
                with Staging(answers.tables.folder if isinstance(answers.tables, Here) else layout.staging) as folder:
                    batch = _compute(layout, answers.tables, answers.catalog, connection, chunk, folder, memory_limit)
                    publish(layout, answers.tables, folder, [batch], memory_limit=memory_limit, renewed=True)
    except (OSError, duckdb.IOException) as error:
        if here:
            raise
        # A full disk, or another user's folder: the query is answered all the same.
        aside.warn_unwritable(layout.root, error)
        answers.see_here()
        bring(layout, answers, refreshed, stale, lost, memory_limit)


def renew_side_by_side(
    layout: Layout,
    catalog: Catalog,
    traces: Sequence[str],
    executor: Executor,
    done: Callable[[int], None],
    memory_limit: str | None = None,
) -> None:
    """Compute the answers of many traces, several at once, and publish each batch as it is done.

    Args:
        layout: the lake, whose lock is free.
        catalog: its catalog, loaded.
        traces: the traces.
        executor: runs the batches.
        done: called with the number of traces published.
        memory_limit: DuckDB's.

    Raises:
        InputError: event files, or a user's lookup rows, cannot be read.
    """
    chunks = list(_chunks(layout, catalog, traces, max(1, min(executor.at_once, len(traces)))))
    for nth, result in executor.run(partial(renew_chunk, memory_limit=memory_limit), layout, chunks):
        if isinstance(result, InputError):
            raise result
        done(len(chunks[nth]))


def renew_chunk(layout: Layout, chunk: Sequence[str], memory_limit: str | None = None) -> None:
    """Compute the answers of some traces together, and publish them.

    Raises:
        InputError: event files, or a user's lookup rows, cannot be read.
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
    """Yield groups of items: small ones together to save the cost per group, large ones alone."""
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
    """Yield groups of traces to compute together."""

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
    """Compute the answers of some traces; if only settings have changed, just the relations that read them."""
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
            # The stored rows cannot be read, so everything is computed.
            pass
    return compute(layout, entries, settings, events, folder, memory_limit)


def _unchanged(tables: Tables, traces: Mapping[str, tuple[State, str]]) -> dict[str, str]:
    """Return the SELECT of stored relations whose rows of some traces are unchanged.

    Args:
        tables: the lake's tables.
        traces: for each trace its state, and its current fingerprint of rules and settings.
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
        batches = {one: batch_of(name, state) for one, (state, _) in traces.items() if f",{name}," in state.relations}
        files = [file for file in tables.files(name) if any(file.may_hold(*one) for one in batches.items())]
        if not all(any(file.may_hold(*one) for file in files) for one in batches.items()):
            continue
        given[name] = rows_in(name, files)
    return given
