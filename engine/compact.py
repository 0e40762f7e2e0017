"""Tables put in order: rows that no entry of the catalog names are dropped, the rest sorted by trace into one file.

After it, whatever reads Delta tables, or the files of a folder, sees exactly the rows that count.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import duckdb

from . import modules
from .catalog import SETTINGS, TRACES, Catalog, create_tables
from .files import Staging, exclusive, unbroken
from .layout import Layout
from .paths import TRACE_ID, file_literal, parquet_rows, plain_folders
from .tables import DataFile, Tables, statistics

#: Files of the catalog from which on a writer compacts, when it is done.
MOST_FILES = 32


def compact(layout: Layout, *, vacuum_hours: float | None = None) -> dict[str, tuple[int, int]]:
    """Compact all tables of a lake; return for each that was rewritten its files before and after.

    Args:
        layout: the lake.
        vacuum_hours: also remove from the disk what was taken out of the tables, and events without an entry in the
            catalog, so many hours ago or earlier.

    Raises:
        InputError: a table cannot be read.
        OSError: the lake cannot be written to.
    """
    tables = Tables(layout.tables)
    done = {}
    with exclusive(layout.lock), unbroken, Staging(layout.staging) as folder, duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = 'UTC'; SET temp_directory = {file_literal(folder / 'spill')}")
        create_tables(connection)
        catalog = Catalog(tables)
        catalog.load(connection)
        # The catalog last: until then it names rows of before, which are no longer there, and nothing else.
        for name in sorted(tables.names(), key=lambda name: (name == TRACES, name)):
            files = tables.files(name)
            if name in (TRACES, SETTINGS) and catalog.is_damaged:
                # What a file has that cannot be read now is not to be given up.
                continue
            if len(files) > 1 or (name in modules.stored() and any(catalog.former)):
                after = _rewrite(tables, connection, folder, name, files)
                done[name] = (len(files), after)
        if vacuum_hours is not None:
            for name in tables.names():
                tables.vacuum(name, vacuum_hours)
            _remove_orphans(layout, catalog.states, vacuum_hours)
    return done


def _rewrite(
    tables: Tables, connection: duckdb.DuckDBPyConnection, folder: Path, name: str, files: list[DataFile]
) -> int:
    """Write the rows of a table that count to one file, and put it in the place of all others; return its files."""
    source = f"{parquet_rows([file.path for file in files])[:-1]}, union_by_name = true)"
    if name == TRACES:
        # Of Delta's types only the one with a zone is known to every reader.
        rows = "SELECT * REPLACE (CAST(ingested_at AS TIMESTAMPTZ) AS ingested_at) FROM _entries"
    elif name == SETTINGS:
        rows = (
            f"SELECT r.* FROM {source} AS r SEMI JOIN _settings AS s USING (trace_id, key) "
            "QUALIFY row_number() OVER (PARTITION BY trace_id, key ORDER BY row_id DESC) = 1"
        )
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
    schema = connection.sql(f"FROM {written} LIMIT 0").to_arrow_table().schema
    if not count:
        tables.rewrite(name, [], schema)
        return 0
    tables.rewrite(name, [(path, statistics(count, [first, last], [earliest, latest] if earliest else []))], schema)
    return 1


def _remove_orphans(layout: Layout, traces: Mapping[str, object], hours: float) -> None:
    """Remove events that no entry of the catalog names, and that nobody has touched for some hours."""
    for folder in plain_folders(layout.events):
        trace_id = folder.name.removeprefix("trace_id=")
        old = time.time() - folder.stat().st_mtime >= hours * 3600
        if old and TRACE_ID.fullmatch(trace_id) and trace_id not in traces:
            shutil.rmtree(folder, ignore_errors=True)
