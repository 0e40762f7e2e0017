"""Relations written out for other tools: Parquet, CSV, or one DuckDB database."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import duckdb

from . import modules
from .errors import InputError, UsageError
from .paths import check_usable, file_literal
from .store import Store
from .text import cell, unsafe_in_csv

FORMATS = ("parquet", "csv", "duckdb")


def format_of(target: Path) -> str:
    """Return the format that a target's name asks for: a database for .duckdb and .db, else a folder of Parquet."""
    return "duckdb" if target.suffix.lower() in (".duckdb", ".db") else "parquet"


def _checked(target: Path, format: str, relations: Sequence[str]) -> list[str]:
    """Return the relations to write: those named, else every public one but `events`.

    Raises:
        UsageError: a relation or the format is unknown, or the target exists and is not what is needed.
    """
    check_usable(target)
    if format not in FORMATS:
        raise UsageError(f"{format}: unknown format; known: {', '.join(FORMATS)}.")
    names = list(relations) or [
        entry.name for entry in modules.modules() if entry.public and entry.kind != "MACRO" and entry.name != "events"
    ]
    for name in names:
        if (entry := modules.module(name)) is None or entry.kind == "MACRO":
            raise UsageError(f"{name}: no such relation. `tracelake schema` lists them.")
    if format == "duckdb" and target.exists():
        raise UsageError(f"{target}: exists already. Give the name of a new database.")
    if format != "duckdb" and target.exists() and not target.is_dir():
        raise UsageError(f"{target}: is a file; {format} goes to a folder.")
    return names


def export(store: Store, target: Path, format: str, relations: Sequence[str]) -> list[tuple[str, int]]:
    """Write relations to files, or to one DuckDB database, and return the rows of each.

    Args:
        store: the lake.
        target: a folder for parquet and csv, a database file for duckdb.
        format: parquet, csv or duckdb.
        relations: which; every public one but `events` when none is named.

    Raises:
        UsageError: a relation or the format is unknown, or the target exists and is not what is needed.
        InputError: a file cannot be written.
    """
    names = _checked(target, format, relations)
    connection = store.unguarded.prepare(" ".join(names))
    try:
        return (
            _to_database(connection, target, names)
            if format == "duckdb"
            else _to_files(connection, target, format, names)
        )
    except (OSError, duckdb.IOException) as error:
        raise InputError(f"{target}: cannot be written: {error}") from error


def _to_files(
    connection: duckdb.DuckDBPyConnection, target: Path, format: str, names: Sequence[str]
) -> list[tuple[str, int]]:
    target.mkdir(parents=True, exist_ok=True)
    options = "FORMAT parquet, COMPRESSION zstd" if format == "parquet" else "FORMAT csv, HEADER"
    written = []
    for name in names:
        if format == "csv" and _has_unsafe_text(connection, name):
            written.append((name, _to_safe_csv(connection, target / f"{name}.csv", name)))
            continue
        path = file_literal(target / f"{name}.{format}")
        [(rows,)] = connection.execute(f"COPY (SELECT * FROM {name}) TO {path} ({options})").fetchall()
        written.append((name, rows))
    return written


def _to_database(connection: duckdb.DuckDBPyConnection, target: Path, names: Sequence[str]) -> list[tuple[str, int]]:
    target.parent.mkdir(parents=True, exist_ok=True)
    connection.execute(f"ATTACH {file_literal(target)} AS exported")
    written = []
    try:
        for name in names:
            connection.execute(f"CREATE TABLE exported.{name} AS SELECT * FROM {name}")
            [(rows,)] = connection.execute(f"SELECT count(*) FROM exported.{name}").fetchall()
            written.append((name, rows))
            entry = modules.module(name)
            assert entry is not None
            connection.execute(modules.comments(entry, f"exported.{name}", table=True))
    finally:
        connection.execute("DETACH exported")
    return written


def _has_unsafe_text(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether a relation has text that a terminal would obey or a spreadsheet would run; see `text`."""
    found = connection.execute(f"SELECT column_name FROM (DESCRIBE {name}) WHERE column_type = 'VARCHAR'").fetchall()
    conditions = [unsafe_in_csv(f'"{column}"') for (column,) in found]
    if not conditions:
        return False
    [(unsafe,)] = connection.execute(
        f"SELECT coalesce(bool_or({' OR '.join(conditions)}), false) FROM {name}"
    ).fetchall()
    return bool(unsafe)


def _to_safe_csv(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> int:
    """Write a relation as CSV with such text made harmless: slower than DuckDB writes it."""
    rows = 0
    # As text, each value is written as DuckDB writes it.
    answer = connection.sql(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM {name}")
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(answer.columns)
        for row in answer.iter_rows():
            rows += 1
            writer.writerow([None if value is None else cell(value, spreadsheet=True) for value in row])
    return rows
