"""Materialised relations: computed once per trace, kept as Parquet beside the events. A cache: deleting it loses nothing.

A module whose header says "Materialised per trace" is created as two relations: `_fresh_<name>` computes it,
`<name>` reads the files. The files of a relation are valid for one fingerprint of its SQL and reference tables;
with another the folder is emptied and filled again.
"""

from __future__ import annotations

import contextlib
import shutil
import uuid

import duckdb

from . import modules
from .files import publish_bytes
from .layout import Layout


def create(connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
    """Create the two relations of a materialised module; until `refresh` the reading one is the computing one."""
    connection.execute(f"CREATE VIEW _fresh_{entry.name} AS {entry.query}")
    connection.execute(f"CREATE VIEW {entry.name} AS SELECT * FROM _fresh_{entry.name}")


def refresh(connection: duckdb.DuckDBPyConnection, layout: Layout, trace_ids: list[str]) -> None:
    """Bring the files of every materialised relation up to date and point the relations at them.

    Where the lake cannot be written to, the relations compute their rows on each question instead.
    """
    for entry in modules.modules():
        if entry.materialised:
            try:
                files = _bring_up_to_date(connection, layout, entry, trace_ids)
            except OSError:
                files = []
            _point(connection, entry, files)


def forget(layout: Layout, trace_id: str) -> None:
    """Remove what was computed for one trace."""
    for path in layout.marts.glob(f"*/trace_id={trace_id}.parquet"):
        path.unlink(missing_ok=True)


def _bring_up_to_date(
    connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, trace_ids: list[str]
) -> list[str]:
    own_rows = sorted(layout.reference.glob("*.csv")) if layout.reference.is_dir() else []
    wanted = modules.fingerprint(entry.name, b"".join(path.read_bytes() for path in own_rows))
    folder = layout.marts / entry.name
    key = folder / "fingerprint"
    if not key.exists() or key.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        publish_bytes(key, wanted.encode())
    present = {path.name for path in folder.glob("trace_id=*.parquet")}
    for trace_id in trace_ids:
        path = layout.mart_file(entry.name, trace_id)
        if path.name not in present:
            _compute(connection, layout, entry, trace_id)
    return [str(layout.mart_file(entry.name, trace_id)) for trace_id in trace_ids]


def _compute(connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, trace_id: str) -> None:
    path = layout.mart_file(entry.name, trace_id)
    beside = path.with_name(f".{uuid.uuid4().hex}.parquet")
    # A cursor has variables of its own: the view then reads the files of this trace alone.
    with contextlib.closing(connection.cursor()) as cursor:
        files = [str(file) for file in sorted(layout.event_dir(trace_id).rglob("*.parquet"))]
        cursor.execute("SET VARIABLE event_files = $1", [files])
        cursor.execute(
            f"COPY (SELECT * FROM _fresh_{entry.name} WHERE trace_id = {modules.quoted(trace_id)}) "
            f"TO {modules.quoted(str(beside))} (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
        )
    beside.replace(path)


def _point(connection: duckdb.DuckDBPyConnection, entry: modules.Module, files: list[str]) -> None:
    if files:
        connection.execute(f"SET VARIABLE mart_{entry.name} = $1", [files])
        source = f"read_parquet(getvariable('mart_{entry.name}'))"
    else:
        source = f"_fresh_{entry.name}"
    connection.execute(f"CREATE OR REPLACE VIEW {entry.name} AS SELECT * FROM {source}")
    connection.execute(modules.comments(entry, entry.name))
