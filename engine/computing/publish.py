"""Publishes computed answers: rows are appended to their tables, then the catalog entries that name them.

Rows of a trace may depend on other traces: the kernels of a replayed graph on the trace of its capture. On which is
given by the relations that headers name, `-- others: RELATION`. When traces are added, changed or removed, these
relations are queried again, and rows whose links differ from the catalog's are recomputed in the same step,
so that no answer depends on the order in which traces were ingested.

All of it happens under the lake's lock, except computing a trace's own rows. An object store has no lock: a writer
that loses a conflict reloads the catalog and retries, and only one that saw the latest version appends to it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ..catalog import TRACES, Catalog, new_id, put
from ..current import Rules, rows_in
from ..damage import DamagedError, find, is_fatal, may_be_damage
from ..sql import modules
from ..storage.layout import Layout
from ..storage.paths import Place
from ..storage.tables import MOST_CONFLICTS, OvertakenError, Tables, overtaken
from .compute import Worker
from .work import Answers, Work
from .workers import worker


@dataclass(frozen=True)
class Batch:
    """Traces whose own rows were computed together.

    Attributes:
        entries: the catalog entries of the traces, without the columns that name batches.
        batch_id: the batch; empty where nothing was computed.
        answers: what was computed.
        rules: for each trace the fingerprint of the rules and settings it was computed by.
    """

    entries: Sequence[Mapping[str, Any]]
    batch_id: str = ""
    answers: Answers = field(default_factory=Answers)
    rules: Mapping[str, str] = field(default_factory=dict)


def compute(
    layout: Layout,
    entries: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Mapping[str, str]],
    events: Mapping[str, Sequence[Place]],
    folder: Path,
    memory_limit: str | None = None,
    given: Mapping[str, str] | None = None,
) -> Batch:
    """Compute all stored relations of some traces, without regard to others.

    Args:
        layout: the lake.
        entries: the catalog entries of the traces.
        settings: for each trace that has any, the settings that its answers depend on.
        events: the files of each trace's events.
        folder: where the files of rows go, on the lake's file system.
        memory_limit: DuckDB's.
        given: for relations whose rows are unchanged, the SELECT that reads them.

    Raises:
        DamagedError: event files cannot be read.
        InputError: a user's lookup rows cannot be read.
        duckdb.Error: memory, the disk, an interrupt.
    """
    traces = [entry["trace_id"] for entry in entries]
    rules, batch_id = Rules(layout), new_id()
    rows = [(one, key, value) for one in traces for key, value in settings.get(one, {}).items()]
    work = Work(traces, events, entries, rows, modules.stored(), batch_id, folder, given or {})
    with worker(layout, memory_limit) as lent:
        answers = lent.compute(work)
    return Batch(entries, batch_id, answers, {one: rules.of(settings.get(one, {})) for one in traces})


def publish(
    layout: Layout,
    tables: Tables,
    folder: Path,
    batches: Sequence[Batch] = (),
    removed: Iterable[str] = (),
    memory_limit: str | None = None,
    *,
    renewed: bool = False,
) -> None:
    """Publish computed traces, remove others, and renew what depends on any of them.

    Args:
        layout: the lake, whose lock is held if it has one; the traces' event files are in place.
        tables: its tables.
        folder: for files on their way into a table.
        batches: what was computed.
        removed: traces to remove.
        memory_limit: DuckDB's.
        renewed: the traces were in the lake before; any removed since stay removed.
    """
    gone = set(removed)
    for batch in batches:
        _append(tables, batch.answers)
    with worker(layout, memory_limit) as lent:
        for _ in range(MOST_CONFLICTS):
            changed = {one: entry for batch in batches for one, entry in entries_of(batch).items()}
            with contextlib.suppress(OvertakenError):
                return _publish(layout, tables, folder, lent, changed, gone, renewed=renewed)
    raise overtaken(TRACES)


def _publish(
    layout: Layout,
    tables: Tables,
    folder: Path,
    lent: Worker,
    changed: dict[str, dict[str, Any]],
    gone: Set[str],
    *,
    renewed: bool,
) -> None:
    """Write the entries of traces, and those of all traces that depend on them.

    Raises:
        OvertakenError: another writer was faster, and nothing was published.
    """
    catalog = Catalog(tables)
    catalog.load(lent.connection)
    seen, away = catalog.version, []
    if renewed:
        # Marked as removed, with their batch, so that its rows of these traces do not count.
        away = [changed.pop(one) | {"removed": True} for one in sorted(changed.keys() - catalog.states.keys())]
    answered = {one for one, state in catalog.states.items() if state.batch_id} - gone
    answered |= {one for one, entry in changed.items() if entry["batch_id"]}
    if len(answered) > 1 or any(state.links for state in catalog.states.values()):
        _renew_links(layout, tables, folder, lent, catalog, changed, gone)
    if catalog.version != seen:
        raise OvertakenError
    catalog.append([*away, *changed.values(), *({"trace_id": one, "removed": True} for one in sorted(gone))])


def _append(tables: Tables, answers: Answers) -> None:
    """Append computed rows to their tables; nobody reads them before the catalog names their batch."""
    tables.each(lambda name: tables.append(name, answers.files[name], _columns(name)), answers.files)


def entries_of(batch: Batch) -> dict[str, dict[str, Any]]:
    """Return the catalog entry of each trace of a batch, including the columns that name the batch."""
    return {
        entry["trace_id"]: {
            **entry, "removed": False, "batch_id": batch.batch_id, "linked_batch_id": batch.batch_id, "links": "",
            "rules": batch.rules.get(entry["trace_id"], ""),
            "relations": _listed(_having(batch.answers, entry["trace_id"])),
            "faults": json.dumps(batch.answers.faults.get(entry["trace_id"], {})),
        }
        for entry in batch.entries
    }  # fmt: skip


def _renew_links(
    layout: Layout,
    tables: Tables,
    folder: Path,
    lent: Worker,
    catalog: Catalog,
    changed: dict[str, dict[str, Any]],
    gone: Set[str],
) -> None:
    """Recompute the rows that depend on other traces, or other batches, than they were computed from."""
    broken: set[str] = set()
    while True:
        catalog.forget()
        catalog.load(lent.connection)
        put(lent.connection, changed.values(), gone | broken)
        try:
            others = _links(tables, lent)
        except duckdb.Error as error:
            if _lose(tables, modules.links(), error):
                continue
            raise
        rows = lent.connection.execute("SELECT trace_id, batch_id, links FROM _entries WHERE batch_id <> ''").fetchall()
        batches = {trace_id: batch for trace_id, batch, _ in rows}
        texts = {one: ",".join(f"{other}:{batches[other]}" for other in sorted(others.get(one, ()))) for one in batches}
        stale = sorted(trace_id for trace_id, _, links in rows if texts[trace_id] != (links or ""))
        if not stale:
            return
        read = {*stale, *(other for one in stale for other in others.get(one, ()))}
        known = {entry["trace_id"]: entry for entry in catalog.entries(lent.connection, read)}
        batch_id, relations = new_id(), modules.linked()
        work = Work(
            stale, {one: layout.event_files(one, known[one]["event_files"]) for one in sorted(read)},
            list(known.values()),
            _settings(catalog, read), relations, batch_id, folder, _given(tables, relations, read),
        )  # fmt: skip
        try:
            answers = lent.compute(work)
            break
        except DamagedError as met:
            found = met.found.events.keys() - broken
            if not found:
                raise
            # Nothing can depend on unreadable events.
            broken |= found
        except duckdb.Error as error:
            if not _lose(tables, relations, error):
                raise
    _append(tables, answers)
    for one in stale:
        faults = json.loads(known[one]["faults"] or "{}")
        own = {name: reason for name, reason in faults.items() if not modules.others(name)}
        names = [name for name in known[one]["relations"].split(",") if name and name not in relations]
        changed[one] = known[one] | {
            "linked_batch_id": batch_id, "links": texts[one], "relations": _listed([*names, *_having(answers, one)]),
            "faults": json.dumps(own | answers.faults.get(one, {})),
        }  # fmt: skip


def _columns(name: str) -> dict[str, str]:
    """Return the columns of a stored relation's files."""
    return {"batch_id": "VARCHAR"} | {column.name: column.type for column in modules.known(name).columns}


def _lose(tables: Tables, names: Iterable[str], error: duckdb.Error) -> bool:
    """Exclude files that made a query over stored rows fail, if any; their traces are renewed on demand."""
    if is_fatal(error) or not (may_be_damage(error) or isinstance(error, duckdb.BinderException)):
        return False
    files = [(modules.known(one), file.path) for one in sorted(_own_below(names)) for file in tables.files(one)]
    found = find({}, files, error)
    tables.lost.update(found.stored)
    return bool(found.stored)


def _having(answers: Answers, trace_id: str) -> list[str]:
    """Return the relations with computed rows of a trace."""
    return [name for name, traces in answers.traces.items() if trace_id in traces]


def _listed(relations: Iterable[str]) -> str:
    """Return relations in the format of `State.relations`."""
    return f",{','.join(sorted(relations))},"


def _links(tables: Tables, lent: Worker) -> dict[str, set[str]]:
    """Return for each trace in a worker's catalog the other traces that its rows depend on."""
    names = modules.links()
    lent.read(names, _given(tables, names))
    found: dict[str, set[str]] = {}
    for name in names:
        rows = lent.connection.execute(
            f"SELECT DISTINCT trace_id, other_trace_id FROM {name} WHERE trace_id <> other_trace_id"
        ).fetchall()
        for trace_id, other in rows:
            found.setdefault(trace_id, set()).add(other)
    lent.clear()
    return found


def _given(tables: Tables, names: Iterable[str], traces: Iterable[str] = ()) -> dict[str, str]:
    """Return the SELECT of current rows, of some traces if given, of the stored relations that others depend on."""
    wanted = set(traces)
    return {
        name: rows_in(name, (one for one in tables.files(name) if not wanted or any(map(one.may_have, wanted))))
        for name in _own_below(names)
    }


def _own_below(names: Iterable[str]) -> set[str]:
    """Return the stored relations that others depend on, of those whose rows depend on no other trace."""
    own = modules.stored() - modules.linked()
    return modules.closure(names, lambda entry: entry.name in own) & own


def _settings(catalog: Catalog, traces: Iterable[str]) -> list[tuple[str, str, str]]:
    return [(one, key, value) for one in traces for key, value in catalog.settings.get(one, {}).items()]
