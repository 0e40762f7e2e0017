"""Adds traces to the lake after reading: event files into place, answers into tables, then the catalog entries."""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from ..engine.catalog import Catalog, reading
from ..engine.compact import MOST_FILES, compact
from ..engine.computing.publish import Batch, compute, entries_of, publish
from ..engine.errors import InputError, why
from ..engine.event_files import is_whole
from ..engine.settings import INTEGER_SETTINGS, TEXT_SETTINGS, changes_answers
from ..engine.storage.files import (
    Staging,
    exclusive,
    finished,
    fsync_path,
    remove_dead_staging,
    remove_folder,
    unbroken,
)
from ..engine.storage.layout import Layout, listing
from ..engine.storage.objects import ObjectPath, each
from ..engine.storage.tables import Tables
from .one import Ingested, Progress, Staged, read_one
from .places import shown

Settings = Mapping[str, str | None]
_log = logging.getLogger("tracelake")


def ingest_one(
    layout: Layout,
    path: str | os.PathLike[str],
    *,
    progress: Progress = lambda read, size, events: None,
    threads: int | None = None,
    name: str | None = None,
) -> Ingested:
    """Read a trace into the lake, without computing answers; for the arguments see `read_one`.

    Raises:
        InputError: the file cannot be read or is not a trace.
    """
    remove_dead_staging(layout.staging)
    with Staging(layout.staging, str(path)) as folder:
        staged = read_one(layout, path, folder, progress=progress, threads=threads, name=name)
        return land(layout, folder, [staged], answers=False)[0]


def land(
    layout: Layout, folder: Path, staged: Sequence[Staged], settings: Settings | None = None, *, answers: bool = True
) -> list[Ingested]:
    """Compute the answers of traces that were read together, and publish all in one step.

    Args:
        layout: the lake.
        folder: the staging folder that the traces were read into.
        staged: the traces.
        settings: settings of all of them; None removes a setting.
        answers: whether to compute the answers now.

    Returns:
        The result for each, in order: `new` is false if the lake already has the same content.

    Raises:
        InputError: the lake cannot be written to.
    """
    if not staged:
        return []
    given = dict(settings or {})
    try:
        tables = Tables(layout.tables)
        with reading(tables, layout.root) as (catalog, connection):
            new = {one.trace_id: one for one in staged if not _is_known(layout, catalog, connection, one)}
            batch = _compute(layout, folder, list(new.values()), given, answers=answers)
            for one in new.values():
                for path in (*one.events.rglob("*"), one.events):
                    fsync_path(path)
            with exclusive(layout.lock), unbroken:
                catalog.load(connection)
                # Another process may have been faster: its trace stays, and gets the answers that were computed here.
                known = {key for key, one in new.items() if _is_known(layout, catalog, connection, one)}
                _put_in_place(layout, [new[key] for key in new.keys() - known])
                changed = {one.trace_id: _changed(catalog, connection, one.trace_id, given) for one in staged}
                catalog.append_settings({one.trace_id: given for one in staged})
                since = {one.trace_id: _said_since(catalog, connection, one) for one in staged}
                names = {
                    one.trace_id: _name_of(catalog, connection, new.get(one.trace_id, one), given) for one in staged
                }
                entries = [one.entry for key, one in new.items() if key not in known]
                if batch.batch_id:
                    entries += catalog.entries(connection, known)
                batch = replace(batch, entries=entries)
                if batch.batch_id or layout.is_remote:
                    publish(layout, tables, folder, [batch])
                else:
                    # Events alone have no dependents.
                    catalog.append(list(entries_of(batch).values()))
                catalog.mend(new.keys())
                finished(folder)
        if len(tables.files("traces")) > MOST_FILES:
            compact(layout)
        fresh = new.keys() - known
        return [
            replace(one.ingested, places=shown(one.entry, given))
            if one is new.get(one.trace_id) and one.trace_id in fresh
            else replace(
                one.ingested, trace=names[one.trace_id], new=False,
                places="; ".join(filter(None, (changed[one.trace_id], since[one.trace_id]))),
            )
            for one in staged
        ]  # fmt: skip
    except (OSError, duckdb.Error) as error:
        raise InputError(f"{layout.root}: cannot be written to: {why(error)}.") from error


def _is_known(layout: Layout, catalog: Catalog, connection: duckdb.DuckDBPyConnection, staged: Staged) -> bool:
    """Whether the lake has a trace, with all of its events."""
    if staged.trace_id not in catalog.states:
        return False
    [entry] = catalog.entries(connection, [staged.trace_id])
    return is_whole(layout, staged.trace_id, entry["event_count"], entry["event_files"])


def _changed(catalog: Catalog, connection: duckdb.DuckDBPyConnection, trace_id: str, given: Settings) -> str:
    """Return as text the settings of a known trace that the given ones replace, and facts of its file or name."""
    if not given or trace_id not in catalog.states:
        return ""
    [entry] = catalog.entries(connection, [trace_id])
    held = catalog.settings.get(trace_id, {})
    known = (
        {key: entry.get(key) for key in (*INTEGER_SETTINGS, *TEXT_SETTINGS)} | {"run": _run_of(entry) or None} | held
    )
    words = []
    for key, value in given.items():
        was = held.get(key) if value is None else known.get(key)
        # The text of a config belongs to its model.
        if was is not None and str(was) != value and key != "config":
            words.append(f"{key.replace('_', ' ')} {'removed' if value is None else value}, was {was}")
    return ", ".join(words)


def _name_of(catalog: Catalog, connection: duckdb.DuckDBPyConnection, staged: Staged, given: Settings) -> str:
    """Return the name that a trace has in the lake: the first file's of its content, unless it is set."""
    held = {**catalog.settings.get(staged.trace_id, {}), **given}
    known = catalog.entries(connection, [staged.trace_id]) if staged.trace_id in catalog.states else [staged.entry]
    return str(held.get("trace") or known[0]["trace"])


def _said_since(catalog: Catalog, connection: duckdb.DuckDBPyConnection, staged: Staged) -> str:
    """Return a trace's run by names as of now, if it is in the lake and was ingested before others of the run."""
    run = _run_of(staged.entry)
    if not run or staged.trace_id not in catalog.states or catalog.settings.get(staged.trace_id, {}).get("run"):
        return ""
    [entry] = catalog.entries(connection, [staged.trace_id])
    return "" if _run_of(entry) else f"files beside it say by now that it is of a run: set {entry['trace']} run={run}"


def _run_of(entry: Mapping[str, Any]) -> str:
    return str(json.loads(entry.get("metadata") or "{}").get("places", {}).get("run", {}).get("value", ""))


def _compute(layout: Layout, folder: Path, new: Sequence[Staged], given: Settings, *, answers: bool) -> Batch:
    if not answers or not new:
        return Batch([one.entry for one in new])
    relevant = {key: value for key, value in given.items() if value is not None and changes_answers(key)}
    try:
        return compute(
            layout, [one.entry for one in new], {one.trace_id: relevant for one in new},
            {one.trace_id: one.files for one in new}, folder,
        )  # fmt: skip
    except (duckdb.Error, InputError) as error:
        if isinstance(error, duckdb.InterruptException):
            raise
        # Out of memory, or unreadable lookup rows of the user: the events are ingested all the same.
        reason = str(error).partition("\n")[0]
        _log.warning("%s\n  The answers are not computed; when it is mended: tracelake compute", reason)
        return Batch([one.entry for one in new])


def _put_in_place(layout: Layout, staged: Sequence[Staged]) -> None:
    """Move the events of traces into place; without a catalog entry they are invisible there."""
    uploads: list[tuple[Path, ObjectPath]] = []
    for one in staged:
        target = layout.event_dir(one.trace_id)
        if isinstance(target, ObjectPath):
            # Under unique names: another writer may ingest the same trace, and the later entry applies.
            batch = uuid.uuid4().hex
            moves = [(file, target / file.parent.name / f"{batch}-{file.name}") for file in one.files]
            one.entry["event_files"] = listing((to, file.stat().st_size) for file, to in moves)
            uploads += moves
            continue
        if target.exists():
            # A process died between this and the entry, or the events are damaged.
            remove_folder(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        one.events.rename(target)
        fsync_path(target.parent)
    each(lambda move: move[1].write(move[0]), uploads)
