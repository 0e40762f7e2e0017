"""Materialised relations: computed once per trace, kept as Parquet. A cache: deleting it loses nothing.

A module whose header says "Materialised per trace." is a view over the files that its query gave. The files are valid
for one fingerprint of its SQL and reference tables; with another the folder is emptied and filled again. A file has the
time of the settings it was computed from: where that is not the settings' time, it is computed anew. Such modules also
keep questions quick to plan: DuckDB expands every view into the query, and what is read from files ends there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import modules
from .files import exclusive, publish_bytes
from .layout import Layout
from .schema import empty_select

if TYPE_CHECKING:
    import duckdb

#: Traces whose rows are computed with one query: planning it costs as much as a small trace's rows.
_AT_ONCE = 16
#: Bytes of event files from which on a trace is computed for itself, straight into its file.
_BYTES_AT_ONCE = 64 << 20


def create(connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
    """Create the relation, empty until `refresh` points it at files."""
    columns = {column.name: column.type for column in entry.columns}
    connection.execute(f"CREATE VIEW {entry.name} AS {empty_select(columns)}")


def refresh(
    connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, stamps: dict[str, int]
) -> None:
    """Bring the files of a materialised relation up to date and point the relation at them.

    The relations it is made from come first.

    Where the lake cannot be written to, the rows are computed for this connection alone.

    Args:
        connection: a connection with all relations, its catalog loaded.
        layout: the lake.
        entry: the relation.
        stamps: for each trace the time of what the catalog was loaded from, see `CatalogReader.stamps`.
    """
    source = _files(connection, layout, entry, stamps)
    if source is None:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE _here_{entry.name} AS {entry.query}")
        source = f"SELECT * FROM _here_{entry.name}"
    connection.execute(f"CREATE OR REPLACE VIEW {entry.name} AS {source}")


def forget(layout: Layout, trace_id: str) -> None:
    """Remove what was computed for one trace."""
    for path in layout.marts.glob(f"*/trace_id={trace_id}.parquet"):
        path.unlink(missing_ok=True)


def _files(
    connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, stamps: dict[str, int]
) -> str | None:
    """Compute what is missing and return the SELECT that reads the files; None where they cannot be written."""
    used = modules.closure([entry.name])
    own_rows = sorted(path for path in layout.reference.glob("*.csv") if path.stem in used)
    wanted = modules.fingerprint(entry.name, b"".join(path.read_bytes() for path in own_rows))
    key = layout.marts / entry.name / "fingerprint"
    renewed = not key.exists() or key.read_text() != wanted
    stale = [trace_id for trace_id in stamps if renewed or not _fresh(layout, entry, trace_id, stamps)]
    if stale:
        if not os.access(layout.root, os.W_OK):
            return None
        if renewed:
            with exclusive(layout.lock):
                if not key.exists() or key.read_text() != wanted:
                    shutil.rmtree(key.parent, ignore_errors=True)
                    publish_bytes(key, wanted.encode())
        for batch in _batches(layout, stale):
            # The lock is that of publishing and removing: the traces' files stay while they are read.
            with exclusive(layout.lock):
                needed = [
                    trace_id
                    for trace_id in batch
                    if layout.catalog_file(trace_id).exists() and not _fresh(layout, entry, trace_id, stamps)
                ]
                _compute(connection, layout, entry, needed, stamps)
    files = [str(path) for trace_id in stamps if (path := layout.mart_file(entry.name, trace_id)).exists()]
    if not files:
        return empty_select({column.name: column.type for column in entry.columns})
    connection.execute(f"SET VARIABLE mart_{entry.name} = $1", [files])
    # The trace by the file's name: a question about one trace then opens one file.
    trace_id = r"regexp_extract(filename, 'trace_id=([0-9a-f]+)\.parquet$', 1) AS trace_id"
    return (
        f"SELECT * EXCLUDE (filename) REPLACE ({trace_id}) "
        f"FROM read_parquet(getvariable('mart_{entry.name}'), filename = true)"
    )


def _batches(layout: Layout, trace_ids: list[str]) -> Iterator[list[str]]:
    """Yield traces to be computed together: small ones to save the planning of queries, large ones for themselves."""
    batch: list[str] = []
    total = 0
    for trace_id in trace_ids:
        size = sum(file.stat().st_size for file in layout.event_dir(trace_id).rglob("*.parquet"))
        if batch and (len(batch) == _AT_ONCE or total + size > _BYTES_AT_ONCE):
            yield batch
            batch, total = [], 0
        batch.append(trace_id)
        total += size
    if batch:
        yield batch


def _fresh(layout: Layout, entry: modules.Module, trace_id: str, stamps: dict[str, int]) -> bool:
    """Whether the rows of a trace are there, computed from what was said of it when the catalog was loaded."""
    try:
        return layout.mart_file(entry.name, trace_id).stat().st_mtime_ns == stamps[trace_id]
    except FileNotFoundError:
        return False


def _compute(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    entry: modules.Module,
    trace_ids: list[str],
    stamps: dict[str, int],
) -> None:
    """Compute the rows of some traces with one query, and write a file for each."""
    if not trace_ids:
        return
    # A cursor has variables of its own: there the relations read the files of these traces alone.
    with contextlib.closing(connection.cursor()) as cursor:
        files = [str(file) for trace_id in trace_ids for file in sorted(layout.event_dir(trace_id).rglob("*.parquet"))]
        cursor.execute("SET VARIABLE event_files = $1", [files])
        for upstream in modules.modules():
            if upstream.materialised:
                there = [str(layout.mart_file(upstream.name, trace_id)) for trace_id in trace_ids]
                cursor.execute(f"SET VARIABLE mart_{upstream.name} = $1", [there])
        listed = ", ".join(map(modules.quoted, trace_ids))
        query = f"SELECT * FROM ({entry.query}) WHERE trace_id IN ({listed})"
        if len(trace_ids) > 1:
            cursor.execute(f"CREATE TEMP TABLE computed AS {query}")
            query = "SELECT * FROM computed"
        for trace_id in trace_ids:
            path = layout.mart_file(entry.name, trace_id)
            beside = path.with_name(f".{uuid.uuid4().hex}.parquet")
            cursor.execute(
                f"COPY (SELECT * FROM ({query}) WHERE trace_id = {modules.quoted(trace_id)}) "
                f"TO {modules.quoted(str(beside))} (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
            )
            # The file's time says what it was computed from.
            os.utime(beside, ns=(stamps[trace_id], stamps[trace_id]))
            beside.replace(path)
