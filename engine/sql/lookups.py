"""Lookup tables of a connection: the shipped rows, overridden by the lake's own rows and by rows of this connection.

A table gets its primary key index only when rows may replace others. Shipped rows never do (a test checks it), and
DuckDB's smallest index takes 0.6 MB: 40 MB for all tables that a trace's answers read.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from ..errors import InputError
from ..storage.layout import Layout
from ..storage.objects import ObjectPath
from ..storage.paths import Place, pattern
from ..storage.scratch import scratch_folder
from . import modules
from .rules import create_rule_function

_PRIMARY_KEY = re.compile(r",\s*PRIMARY KEY \([^)]*\)|\bPRIMARY KEY\b")


class LookupTables:
    """Fills lookup tables, and refills those whose file in the lake has changed."""

    def __init__(self, layout: Layout) -> None:
        """Initialise without filling."""
        self._layout = layout
        #: Tables with rows of this connection only, which are in no file: another connection would not have them.
        self.given: set[str] = set()
        #: The filled tables, each with the state of the lake's own file it was filled from.
        self._seen: dict[str, object] = {}
        #: Tables without the index of their primary key.
        self._unkeyed: set[str] = set()

    def clear(self) -> None:
        """Forget a connection that was closed."""
        self.given.clear()
        self._unkeyed.clear()
        self._seen.clear()

    def create(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Create a table and fill it.

        Raises:
            InputError: the lake's own file cannot be read as rows of the table.
        """
        own = self._layout.lookup_files().get(entry.name)
        if own is None and modules.csv_file(entry.name).exists():
            connection.execute(_PRIMARY_KEY.sub("", entry.sql))
            self._unkeyed.add(entry.name)
        else:
            connection.execute(entry.sql)
        try:
            self._fill(connection, entry.name, own)
        except InputError:
            connection.execute(f"DROP TABLE {entry.name}")
            raise

    def reread(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        """Refill the tables whose file in the lake has changed, and return them.

        Raises:
            InputError: a file cannot be read; its table is left unchanged.
        """
        files = self._layout.lookup_files()
        states = {table: _state(path) for table, path in files.items()}
        changed = [table for table, seen in self._seen.items() if states.get(table) != seen and table not in self.given]
        for table in changed:
            self._have_key(connection, table)
            connection.begin()
            try:
                connection.execute(f"DELETE FROM {table}")
                self._fill(connection, table, files.get(table))
            except InputError:
                connection.rollback()
                raise
            connection.commit()
        return changed

    def give(
        self, connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]], *, alone: bool
    ) -> None:
        """Insert or replace rows of a table by key, for as long as the connection is open.

        Args:
            connection: the connection.
            table: the lookup table, or a table without shipped rows.
            rows: values of its columns.
            alone: delete all other rows of the table.
        """
        if alone:
            connection.execute(f"DELETE FROM {table}")
        if rows:
            self._have_key(connection, table)
            marks = ", ".join("?" for _ in rows[0])
            connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
        self.given.add(table)

    def _fill(self, connection: duckdb.DuckDBPyConnection, table: str, own: Place | None) -> None:
        """Fill a table from the shipped CSV file, then from the lake's own."""
        seen = _state(own) if own else None
        shipped = modules.csv_file(table)
        # Tables filled by a connection ship no rows.
        if shipped.exists():
            connection.execute(_shipped(table), [pattern(shipped)])
        if isinstance(own, ObjectPath):
            with scratch_folder() as folder:
                copy = folder / own.name
                copy.write_bytes(own.read_bytes())
                _read(connection, table, copy, own)
        elif own is not None and own.exists():
            _read(connection, table, own, own)
        if table in modules.RULE_FUNCTIONS.values():
            create_rule_function(connection, table, check=own is not None)
        self._seen[table] = seen

    def _have_key(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        """Add the primary key index to a table that lacks it."""
        if table in self._unkeyed:
            key = ", ".join(map(_name, modules.known(table).key))
            connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({key})")
            self._unkeyed.discard(table)


#: Columns with the origin of a row's figures, and their values where the user's file lacks them.
_ORIGIN = {"source": "NULL", "source_revision": "NULL", "trusted": "false"}


def _name(column: str) -> str:
    return f'"{column}"'


def _state(path: Place) -> object:
    """Return a state of a file that differs after a change: objects have times to the second only."""
    return path.stat() if isinstance(path, ObjectPath) else path.stat().st_mtime_ns


@functools.cache
def _shipped(table: str) -> str:
    """Return the statement that fills an empty table with its shipped rows.

    Declares the file's format instead of having DuckDB detect it, and replaces no rows: half of the time.
    """
    with modules.csv_file(table).open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
    columns = ", ".join(f"{modules.quoted(name)}: 'VARCHAR'" for name in header)
    return (
        f"INSERT INTO {table} BY NAME SELECT * FROM read_csv($1, header = true, auto_detect = false, delim = ',', "
        f"quote = '\"', escape = '\"', hive_partitioning = false, columns = {{{columns}}})"
    )


def _read(connection: duckdb.DuckDBPyConnection, table: str, path: Path, named: Place) -> None:
    """Read rows from a file; errors show it under another name.

    A row that replaces a shipped one keeps the values of columns that the file lacks, except those of its origin.

    Raises:
        InputError: it cannot be read.
    """
    rows = (
        "SELECT * FROM read_csv($1, header = true, all_varchar = true, quote = '\"', escape = '\"', "
        "hive_partitioning = false)"
    )
    given: list[str] = []
    try:
        given = [name for name, *_ in connection.execute(f"{rows} LIMIT 0", [pattern(path)]).description or ()]
        known = connection.table(table).columns
        origin = "".join(
            f", {value} AS {column}" for column, value in _ORIGIN.items() if column in known and column not in given
        )
        connection.execute(
            f"INSERT OR REPLACE INTO {table} BY NAME {rows.replace('*', '*' + origin, 1)}", [pattern(path)]
        )
    except duckdb.Error as error:
        raise InputError(f"{named}: cannot be read as rows of {table}: {_reason(table, given, error)}") from error


def _reason(table: str, given: Sequence[str], error: duckdb.Error) -> str:
    """Return in a sentence why a file cannot be read; DuckDB's messages list its settings, and quote the query."""
    if given and (missing := set(modules.known(table).key) - set(given)):
        return f"there is no column {', '.join(sorted(missing))}."
    about, *rest = str(error).split("\n\n")
    if "sniffing" in about:
        return "no CSV file in UTF-8; perhaps a quote is not closed."
    lines = [about.partition("Error: ")[2] or about, *(hint for hint in rest if hint.startswith("Did you mean"))]
    return ". ".join(": ".join(one.split("\nLINE ")[0].splitlines()).rstrip(".") for one in lines) + "."
