"""What changes a lake besides ingest: settings, removals, recomputed answers, compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import aside, event_files, naming
from . import compact as tidy
from .computing import cluster, renew
from .computing.publish import publish
from .errors import InputError
from .event_files import EVENTS
from .storage.files import Staging, changing, exclusive, unbroken
from .store import Store


def write_settings(store: Store, trace_id: str, settings: Mapping[str, str | None]) -> None:
    """Merge settings into those of a trace and recompute the answers that depend on them.

    Raises:
        InputError: the lake cannot be written to.
    """
    catalog = store.catalog
    with changing(store.path), exclusive(store.layout.lock), unbroken:
        catalog.append_settings({trace_id: settings})
    store.refresh()
    if store.catalog.states[trace_id].batch_id:
        store.renew([trace_id])


def remove(store: Store, trace: str) -> str:
    """Remove a trace from the lake and return its id. Its source file is not touched.

    Raises:
        UsageError: the name matches no trace, or more than one.
        InputError: the lake cannot be written to.
    """
    trace_id = naming.damaged_one(trace, store.catalog.damaged) or store.resolve(trace)
    layout, tables = store.layout, store.answers.tables
    listed = store.catalog.states[trace_id].event_files if trace_id in store.catalog.states else None
    with changing(store.path), exclusive(layout.lock), Staging(layout.staging) as folder:
        # The catalog first: once its entry is gone, the rest is invisible.
        publish(layout, tables, folder, removed=[trace_id], memory_limit=store.memory_limit)
        store.catalog.mend({trace_id})
        layout.remove_events(trace_id, listed)
    store.refresh()
    return trace_id


def compact(store: Store, vacuum_hours: float | None = None) -> dict[str, tuple[int, int]]:
    """Compact the lake's tables; see `compact.compact`.

    Raises:
        InputError: the lake cannot be written to, or a table cannot be read.
    """
    with changing(store.path):
        done = tidy.compact(store.layout, vacuum_hours=vacuum_hours)
    store.refresh()
    return done


def compute(
    store: Store,
    traces: Sequence[str] = (),
    jobs: int | None = None,
    done: Callable[[int, int], None] | None = None,
    ray: str | None = None,
    ray_options: Mapping[str, Any] | None = None,
) -> int:
    """Recompute the answers of traces, several at once; without names, of all stale traces.

    Args:
        store: the lake.
        traces: names or ids of traces.
        jobs: how many to compute at once; default: the number of cores, up to 8.
        done: called with the number of traces done and the total.
        ray: the address of a Ray cluster to compute them on; see `cluster.executor`.
        ray_options: Ray's options for each of its tasks.

    Returns:
        The number of traces.

    Raises:
        UsageError: a name matches no trace, or more than one; or Ray's options are invalid.
        InputError: the lake cannot be written to, the events of a named trace cannot be read, or the cluster
            cannot do the work.
    """
    named = [store.resolve(trace) for trace in traces]
    connection = store.catalog_connection
    wanted = named or store.answers.stale()
    damaged = event_files.damaged(store.layout, connection, wanted)
    wanted = [one for one in wanted if one not in damaged]
    if named and damaged:
        raise InputError("\n".join(f"{one}: cannot be computed: {reason}" for one, reason in damaged.items()))
    for one, reason in damaged.items():
        aside.put(connection, store.layout, one, EVENTS, reason)
    finished = 0

    def count(more: int) -> None:
        nonlocal finished
        finished += more
        if done:
            done(finished, len(wanted))

    with changing(store.path), cluster.executor(jobs, ray, ray_options) as executor:
        renew.renew_side_by_side(store.layout, store.answers.catalog, wanted, executor, count, store.memory_limit)
    store.refresh()
    return len(wanted)
