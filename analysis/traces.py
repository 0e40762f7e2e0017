"""Whole traces: ingest, lookup by name, settings, health checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import engine
from ..engine.errors import InputError, UsageError
from ..engine.secrets import redact
from ..engine.sql import modules
from ..engine.storage.paths import readable
from ..engine.store import Store
from .models import resolve_hardware, settings_of_model
from .settings import check_settings

if TYPE_CHECKING:
    import duckdb

    from ..ingest.batch import Failed
    from ..ingest.one import Ingested, Progress


def ingest(
    store: Store,
    paths: Sequence[str | os.PathLike[str]],
    *,
    model: str | os.PathLike[str] | None = None,
    progress: Callable[[str], Progress] | None = None,
    jobs: int | None = None,
    events_only: bool = False,
    ray: str | None = None,
    ray_options: Mapping[str, Any] | None = None,
    settings: Mapping[str, str | int | None],
) -> list[Ingested | Failed]:
    """Read trace files into the lake. A file whose content is already there is not stored again.

    Args:
        store: the lake.
        paths: files, folders of files, or `-` for standard input.
        model: the model's name, or the path of its config.json.
        progress: called with a file's path; returns the callback that gets the bytes and events read.
        jobs: files read at once.
        events_only: leave the answers to be computed later, by `compute` or the first query about the trace.
        ray: the address of the Ray cluster that reads the files; see `cluster.executor`.
        ray_options: Ray's options for each of its tasks.
        settings: settings of the traces: run, rank, profile, anchor, anchor_role, blocks_per_layer, num_layers,
            hardware, tp, ep, dp, pp, dedup, or any tag.

    Returns:
        The result for each file, in order.

    Raises:
        UsageError: a setting's value is not of its type, or Ray's options are invalid.
        InputError: the model's config.json cannot be read, or the cluster cannot do the work.
    """
    # Import the readers only when needed.
    from ..engine.computing.cluster import executor
    from ..ingest.batch import Failed, expand, ingest_many

    files = expand(paths)
    given = _checked(store, {key: value for key, value in settings.items() if value is not None})
    given = (settings_of_model(store, model) if model is not None else {}) | given
    if given.get("trace") and len(files) > 1:
        raise UsageError(f"trace={given['trace']}: one name for {len(files)} files.")
    answers = store.stored and not events_only
    with executor(jobs, ray, ray_options) as running:
        results = ingest_many(store.layout, files, progress=progress, executor=running, settings=given, answers=answers)
    store.refresh()
    if not events_only:
        # A trace already in the lake may have new settings, or no answers.
        store.renew(one.trace_id for one in results if not isinstance(one, Failed) and not one.new)
    name = given.get("trace")
    return [one if isinstance(one, Failed) else replace(one, trace=name or one.trace) for one in results]


def write_settings(store: Store, trace: str, settings: Mapping[str, str | int | None]) -> None:
    """Set a trace's model, hardware, parallelism, anchor, or any tag. None removes a setting.

    Raises:
        UsageError: the trace or the hardware is unknown, or a value is not of its setting's type.
        InputError: the model's config.json cannot be read.
    """
    # Stale answers are computed only once, with the new settings.
    trace_id = _found(store, trace)
    given = _checked(store, settings)
    if model := given.pop("model", None):
        given = settings_of_model(store, model) | given
    elif "model" in settings:
        given |= {"model": None, "config": None}
    engine.changes.write_settings(store, trace_id, given)
    store.refresh()


def names_input(trace: str) -> bool:
    """Return whether a word is the path of a single trace; imports no reader if there is no such path."""
    if not os.path.exists(trace):  # noqa: PTH110 - False, not an error, for a name that no path can have
        return False
    from ..ingest import inputs

    return inputs.names_input(trace)


def locate(store: Store, trace: str) -> str:
    """Return the id of a trace given by name, id, or path, after recomputing its answers if they are stale.

    A file not yet in the lake is ingested first.

    Raises:
        UsageError: no trace has this name.
        InputError: the file cannot be ingested.
    """
    trace_id = _found(store, trace)
    store.renew([trace_id])
    return trace_id


def _found(store: Store, trace: str) -> str:
    """Return the id of a trace as `locate` does, without recomputing its answers."""
    if not names_input(trace):
        return store.resolve(trace)
    from ..ingest.inputs import input_of

    path = Path(trace)
    files = [Path(file).stat() for file in input_of(path).files]
    known = store.rows(
        "SELECT trace_id FROM _catalog WHERE source_path = $1 AND source_bytes = $2 AND source_mtime_ns = $3",
        [
            redact(readable(path.absolute())),
            sum(file.st_size for file in files),
            max(file.st_mtime_ns for file in files),
        ],
    )
    if known:
        return str(known[0][0])
    from ..ingest.batch import Failed

    [result] = ingest(store, [path], settings={})
    if isinstance(result, Failed):
        raise InputError(result.reason)
    return result.trace_id


def of_trace(store: Store, trace: str) -> str:
    """Return the SQL condition that a row is of a trace."""
    return f"trace_id = {modules.quoted(locate(store, trace))}"


def traces(store: Store) -> duckdb.DuckDBPyRelation:
    """Return the catalog: a row per trace."""
    return store.sql("SELECT * FROM traces ORDER BY trace, trace_id")


def doctor(store: Store, trace: str | None = None) -> duckdb.DuckDBPyRelation:
    """Return the findings of all checks on one trace, or on all traces: a row per finding."""
    condition = of_trace(store, trace) if trace else "true"
    return store.sql(f'SELECT * EXCLUDE (place) FROM _noteworthy WHERE {condition} ORDER BY trace, place, "check"')


def _checked(store: Store, settings: Mapping[str, Any]) -> dict[str, str | None]:
    checked = check_settings(dict(settings))
    if hardware := checked.get("hardware"):
        checked["hardware"] = resolve_hardware(store, hardware)
    if profile := checked.get("profile"):
        known = [name for (name,) in store.rows("SELECT DISTINCT profile FROM profiles")]
        if profile not in known:
            raise UsageError(f"profile={profile}: unknown. Known: {', '.join(sorted(known))}.")
    return checked
