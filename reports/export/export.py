"""Export of relations to other tools: Parquet, CSV, Delta tables, a DuckDB database, or PostgreSQL."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb

from ...engine.errors import InputError, UsageError, why
from ...engine.sql import modules
from ...engine.sql.comments import statements
from ...engine.storage.paths import check_usable, file_literal
from ...engine.storage.table_types import for_parquet, stored_type
from ...engine.store import Store
from ...engine.text import cell, unsafe_in_csv
from . import star as star_schema
from .comments import arrow_schema, parquet_metadata
from .held import computed_once, shared
from .postgres import is_postgres, write

FORMATS = ("parquet", "csv", "duckdb", "delta", "postgres")
#: Called with the number of relations written and the total.
Done = Callable[[int, int], None]
Written = list[tuple[str, int]]
Writer = Callable[["duckdb.DuckDBPyConnection", Path, Sequence[modules.Module], Done], Written]
#: A storage version that every DuckDB since 1.0 opens.
_STORAGE = "v1.0.0"


def format_of(target: str | os.PathLike[str]) -> str:
    """Return the format that a target's name implies: a database for .duckdb and .db, else a folder of Parquet."""
    if is_postgres(target):
        return "postgres"
    return "duckdb" if Path(target).suffix.lower() in (".duckdb", ".db") else "parquet"


def export(
    store: Store,
    target: str | os.PathLike[str],
    format: str | None = None,
    relations: Sequence[str] = (),
    *,
    star: bool = False,
    schema: str = "tracelake",
    done: Done = lambda written, of: None,
) -> Written:
    """Write relations to files, or to one database, and return the row count of each.

    Args:
        store: the lake.
        target: a folder for parquet, csv and delta, a database file for duckdb, postgresql://… for postgres.
        format: one of FORMATS; default: by the target's name.
        relations: which ones; default: every public one except `events` and the star schema's.
        star: write the star schema instead: facts and dimensions with integer keys, which databases get as constraints.
        schema: the PostgreSQL schema of the star; its tables there are replaced in one transaction.
        done: called after each relation.

    Raises:
        UsageError: a relation or the format is unknown, or the target exists and is of the wrong kind.
        InputError: a file cannot be written, or a server cannot be used.
    """
    format = format or format_of(target)
    entries = _entries(format, relations, of_star=star)
    if is_postgres(target) != (format == "postgres"):
        raise UsageError("the format postgres goes to a server, postgresql://…, and every other one to files.")
    names = [entry.name for entry in entries]
    if format == "postgres":
        with computed_once(store.unguarded, names, shared(names)) as connection:
            return write(connection, str(target), schema, entries, done)
    path = Path(target)
    _check(path, format)
    with computed_once(store.unguarded, names, shared(names)) as connection:
        try:
            return _WRITERS[format](connection, path, entries, done)
        except (OSError, duckdb.IOException) as error:
            raise InputError(f"{path}: cannot be written: {why(error)}.") from error


def _entries(format: str, relations: Sequence[str], *, of_star: bool) -> list[modules.Module]:
    """Return the relations to write.

    Raises:
        UsageError: a relation or the format is unknown, or the two do not go together.
    """
    if format not in FORMATS:
        raise UsageError(f"{format}: unknown format; known: {', '.join(FORMATS)}.")
    if of_star and relations:
        raise UsageError("the star is written whole: give --star or relations, not both.")
    if of_star:
        return star_schema.tables()
    if format == "postgres":
        raise UsageError("a PostgreSQL server is given the star schema: add --star.")
    if not relations:
        of_star_too = [entry.name for entry in star_schema.tables()]
        return [
            entry
            for entry in modules.modules()
            if entry.public and entry.kind != "MACRO" and entry.name not in ("events", *of_star_too)
        ]
    found = {name: modules.module(name) for name in relations}
    for name, entry in found.items():
        if entry is None or entry.kind == "MACRO":
            raise UsageError(f"{name}: no such relation. `tracelake schema` lists them.")
    return [entry for entry in found.values() if entry]


def _check(target: Path, format: str) -> None:
    """Check that a target can be written.

    Raises:
        UsageError: it exists and is of the wrong kind.
    """
    check_usable(target)
    if format == "duckdb" and target.exists():
        raise UsageError(f"{target}: exists already. Give the name of a new database.")
    if format != "duckdb" and target.exists() and not target.is_dir():
        raise UsageError(f"{target}: is a file; {format} goes to a folder.")


def _to_files(write: Callable[[duckdb.DuckDBPyConnection, Path, modules.Module], int]) -> Writer:
    """Return a writer of one file or table per relation in a folder, given the function that writes one."""

    def written(
        connection: duckdb.DuckDBPyConnection, target: Path, entries: Sequence[modules.Module], done: Done
    ) -> Written:
        target.mkdir(parents=True, exist_ok=True)
        rows: Written = []
        for entry in entries:
            rows.append((entry.name, write(connection, target, entry)))
            done(len(rows), len(entries))
        return rows

    return written


def _parquet(connection: duckdb.DuckDBPyConnection, target: Path, entry: modules.Module) -> int:
    path = file_literal(target / f"{entry.name}.parquet")
    options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {parquet_metadata(entry)}"
    columns = for_parquet((column.name, column.type) for column in entry.columns)
    [(rows,)] = connection.execute(f"COPY (SELECT {columns} FROM {entry.name}) TO {path} ({options})").fetchall()
    return int(rows)


def _csv(connection: duckdb.DuckDBPyConnection, target: Path, entry: modules.Module) -> int:
    path, name = target / f"{entry.name}.csv", entry.name
    if _has_unsafe_text(connection, name):
        return _to_safe_csv(connection, path, name)
    copy = f"COPY (SELECT * FROM {name}) TO {file_literal(path)} (FORMAT csv, HEADER)"
    [(rows,)] = connection.execute(copy).fetchall()
    return int(rows)


def _delta(connection: duckdb.DuckDBPyConnection, target: Path, entry: modules.Module) -> int:
    """Write a Delta table, or the next version of an existing one."""
    from deltalake import DeltaTable, write_deltalake
    from deltalake.exceptions import DeltaError

    # Delta has no integers above 64 bits except decimals, and its timestamps are in UTC.
    kinds = {"TIMESTAMP": "TIMESTAMPTZ"} | {kind: stored_type(kind) for kind in ("UBIGINT", "HUGEINT")}
    columns = ", ".join(
        f'CAST("{column.name}" AS {kinds[column.type]}) AS "{column.name}"'
        if column.type in kinds
        else f'"{column.name}"'
        for column in entry.columns
    )
    rows = connection.sql(f"SELECT {columns} FROM {entry.name}").to_arrow_reader()
    table = target / entry.name
    try:
        write_deltalake(
            table, rows.cast(arrow_schema(entry, rows.schema)), mode="overwrite", schema_mode="overwrite",
            name=entry.name, description=entry.doc,
        )  # fmt: skip
        return DeltaTable(table).count()
    except DeltaError as error:
        raise InputError(f"{table}: cannot be written: {error}") from error


def _to_database(
    connection: duckdb.DuckDBPyConnection, target: Path, entries: Sequence[modules.Module], done: Done
) -> Written:
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    written = []
    try:
        connection.execute(f"ATTACH {file_literal(beside)} AS exported (STORAGE_VERSION '{_STORAGE}')")
        for entry in entries:
            name = f"exported.{entry.name}"
            if entry.folder == star_schema.STAR:
                connection.execute(f"CREATE TABLE {name} ({', '.join(_with_keys(entry, entries))})")
                connection.execute(f"INSERT INTO {name} SELECT * FROM {entry.name}")
            else:
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {entry.name}")
            [(rows,)] = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
            connection.execute(statements(entry, name, "TABLE"))
            written.append((entry.name, rows))
            done(len(written), len(entries))
        connection.execute("DETACH exported")
        beside.rename(target)
    except BaseException:
        connection.execute("DETACH DATABASE IF EXISTS exported")
        beside.unlink(missing_ok=True)
        raise
    return written


def _with_keys(entry: modules.Module, entries: Sequence[modules.Module]) -> list[str]:
    """Return column definitions of a star table: its columns, primary key, and foreign keys to tables written."""
    refers = [(column, other) for column, other in star_schema.references(entry).items() if other in entries]
    return [
        *star_schema.columns(entry),
        f'PRIMARY KEY ("{star_schema.key(entry)}")',
        *(f'FOREIGN KEY ("{column}") REFERENCES {other.name} ("{star_schema.key(other)}")' for column, other in refers),
    ]


_WRITERS: dict[str, Writer] = {
    "parquet": _to_files(_parquet), "csv": _to_files(_csv), "delta": _to_files(_delta), "duckdb": _to_database,
}  # fmt: skip


def _has_unsafe_text(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether a relation has text that a terminal or a spreadsheet would execute; see `text`."""
    found = connection.execute(f"SELECT column_name FROM (DESCRIBE {name}) WHERE column_type = 'VARCHAR'").fetchall()
    conditions = [unsafe_in_csv(f'"{column}"') for (column,) in found]
    if not conditions:
        return False
    [(unsafe,)] = connection.execute(
        f"SELECT coalesce(bool_or({' OR '.join(conditions)}), false) FROM {name}"
    ).fetchall()
    return bool(unsafe)


def _to_safe_csv(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> int:
    """Write a relation as CSV with such text escaped; slower than DuckDB's own writer."""
    rows = 0
    # Cast to text, each value looks as in DuckDB's own CSV.
    answer = connection.sql(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM {name}")
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(answer.columns)
        for row in answer.iter_rows():
            rows += 1
            writer.writerow([None if value is None else cell(value, spreadsheet=True) for value in row])
    return rows
