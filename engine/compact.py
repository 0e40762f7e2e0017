"""Compaction: drops rows that no catalog entry names and sorts the rest by trace into one file per table.

Afterwards, anything that reads the Delta tables, or the files of a folder, sees exactly the current rows.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from .catalog import SETTINGS, TRACES, Catalog, State, create_tables
from .connection import have_read
from .sql import modules
from .storage.files import Staging, exclusive, remove_folder, unbroken
from .storage.layout import Layout
from .storage.objects import ObjectPath, remove
from .storage.paths import TRACE_ID, file_literal, parquet_rows, plain_folders
from .storage.table_types import statistics
from .storage.tables import DataFile, OvertakenError, Tables
from .stored import batch_of

#: A writer that finds this many files of the catalog compacts when it is done.
MOST_FILES = 32
#: The longest a writer may take from its first row in a table to its catalog entry, where there is no lock.
UNDER_WAY_NS = 24 * 3600 * 10**9
#: Settings of traces that another writer is about to enter: settings are written before the entry.
_SETTINGS_UNDER_WAY = """
UNION ALL
SELECT r.* FROM {settings} AS r
ANTI JOIN _entries AS e ON e.trace_id = r.trace_id
ANTI JOIN {entries} AS gone ON gone.trace_id = r.trace_id AND gone.removed AND gone.row_id > r.row_id
WHERE r.row_id >= '{since:019d}'
"""


def compact(layout: Layout, *, vacuum_hours: float | None = None) -> dict[str, tuple[int, int]]:
    """Compact all tables of a lake; return for each rewritten one its number of files before and after.

    Args:
        layout: the lake.
        vacuum_hours: also delete files that were taken out of the tables, and events without an entry in the
            catalog, if that was at least this many hours ago.

    Raises:
        InputError: a table cannot be read.
        OSError: the lake cannot be written to.
    """
    tables = Tables(layout.tables)
    done = {}
    with exclusive(layout.lock), unbroken, Staging(layout.staging) as folder, duckdb.connect() as connection:
        have_read(connection, layout.root)
        connection.execute(f"SET TimeZone = 'UTC'; SET temp_directory = {file_literal(folder / 'spill')}")
        create_tables(connection)
        catalog = Catalog(tables)
        catalog.load(connection)
        # The catalog last: until then its superseded entries name rows that are gone, which does no harm.
        for name in sorted(tables.names(), key=lambda name: (name == TRACES, name)):
            files = [file for file in tables.files(name) if not _is_under_way(tables, catalog, name, file)]
            if name in (TRACES, SETTINGS) and catalog.is_damaged:
                # Do not drop rows of a file that may become readable again.
                continue
            if len(files) > 1 or (files and name in modules.stored() and any(catalog.former)):
                # If another writer has changed the table meanwhile, skip it: nothing is lost.
                with contextlib.suppress(OvertakenError):
                    done[name] = (len(files), _rewrite(tables, connection, folder, name, files))
        if vacuum_hours is not None:
            tables.vacuum(vacuum_hours)
            _remove_orphans(layout, catalog.states, vacuum_hours)
    return done


def _is_under_way(tables: Tables, catalog: Catalog, name: str, file: DataFile) -> bool:
    """Whether the catalog may be about to name a file's batch: without a lock, others write concurrently."""
    first, last = file.batches
    if not tables.is_remote or name not in modules.stored() or first != last or not first[:19].isdecimal():
        return False
    known = catalog.former[name in modules.linked()] | {batch_of(name, state) for state in catalog.states.values()}
    return first not in known and time.time_ns() - int(first[:19]) < UNDER_WAY_NS


def _rewrite(
    tables: Tables, connection: duckdb.DuckDBPyConnection, folder: Path, name: str, files: list[DataFile]
) -> int:
    """Write the current rows of a table to one file that replaces the others; return the number of files."""
    source = _rows(files)
    if name == TRACES:
        # TIMESTAMPTZ is the only Delta timestamp that every reader supports.
        left_out = "" if tables.is_remote else "EXCLUDE (event_files) "
        rows = f"SELECT * {left_out}REPLACE (CAST(ingested_at AS TIMESTAMPTZ) AS ingested_at) FROM _entries"
    elif name == SETTINGS:
        rows = (
            f"SELECT r.* FROM {source} AS r SEMI JOIN _settings AS s USING (trace_id, key) "
            "QUALIFY row_number() OVER (PARTITION BY trace_id, key ORDER BY row_id DESC) = 1"
        )
        if tables.is_remote:
            rows += _SETTINGS_UNDER_WAY.format(
                settings=source, entries=_rows(tables.files(TRACES)),
                since=time.time_ns() - UNDER_WAY_NS,
            )  # fmt: skip
    else:
        batch = "linked_batch_id" if name in modules.linked() else "batch_id"
        rows = (
            f"SELECT r.* FROM {source} AS r "
            f"SEMI JOIN _entries AS e ON e.trace_id = r.trace_id AND e.{batch} = r.batch_id"
        )
    path = folder / f"{name}.parquet"
    connection.execute(
        f"COPY ({rows} ORDER BY trace_id) TO {file_literal(path)} (FORMAT parquet, COMPRESSION zstd, "
        "PARQUET_VERSION v2)"
    )
    written = parquet_rows([path])
    batch = "batch_id" if name in modules.stored() else "NULL"
    found = connection.execute(
        f"SELECT count(*), min(trace_id), max(trace_id), min({batch}), max({batch}) FROM {written}"
    ).fetchall()
    [(count, first, last, earliest, latest)] = found
    if not count:
        tables.rewrite(name, [], files)
        return 0
    found_of = statistics(count, [first, last], [earliest, latest] if earliest else [])
    tables.rewrite(name, [(path, found_of)], files)
    return 1


def _rows(files: Iterable[DataFile]) -> str:
    """Return the table function that reads files of a table; missing columns are NULL."""
    return f"{parquet_rows(file.path for file in files)[:-1]}, union_by_name = true)"


def _remove_orphans(layout: Layout, traces: Mapping[str, State], hours: float) -> None:
    """Remove events that no catalog entry names and that have not been modified for some hours."""
    before = time.time_ns() - hours * 3600e9
    if isinstance(layout.events, ObjectPath):
        named = {file for one, state in traces.items() for file in layout.event_files(one, state.event_files)}
        remove(one for one in layout.events.below() if one not in named and one.stat().st_mtime_ns <= before)
        return
    for folder in plain_folders(layout.events):
        trace_id = folder.name.removeprefix("trace_id=")
        old = folder.stat().st_mtime_ns <= before
        if old and TRACE_ID.fullmatch(trace_id) and trace_id not in traces:
            remove_folder(folder)
