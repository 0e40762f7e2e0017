"""Lookup tables in a connection: the shipped rows, the lake's own over them, and rows of this connection alone."""

from __future__ import annotations

from pathlib import Path

import duckdb

from . import modules
from .errors import InputError
from .layout import Layout
from .paths import pattern
from .rules import create_rule_function


class LookupTables:
    """Fills lookup tables, and again where the lake's own file has changed."""

    def __init__(self, layout: Layout) -> None:
        """Fill nothing yet."""
        self._layout = layout
        #: Tables with rows that were given to this connection and are in no file.
        self.given: set[str] = set()
        #: The tables that are filled, each with the time of the lake's own file that its rows are from.
        self._times: dict[str, int] = {}
        #: Tables that hold more than their files.
        self._held: set[str] = set()

    @property
    def in_files(self) -> bool:
        """Whether another connection would have the same rows."""
        return not self.given and not self._held

    def hold(self, table: str) -> None:
        """Have a table stay as it is: from here on it holds more than its files."""
        self._times.pop(table, None)
        self._held.add(table)

    def clear(self) -> None:
        """Forget a connection that was closed."""
        self.given.clear()
        self._held.clear()
        self._times.clear()

    def create(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Create a table and fill it.

        Raises:
            InputError: the lake's own file cannot be read as such rows.
        """
        connection.execute(entry.sql)
        try:
            self._fill(connection, entry.name)
        except InputError:
            connection.execute(f"DROP TABLE {entry.name}")
            raise

    def reread(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        """Read those tables again whose file in the lake has changed, and return them.

        Raises:
            InputError: a file cannot be read; its table stays as it was.
        """
        times = {table: path.stat().st_mtime_ns for table, path in self._layout.lookup_files().items()}
        changed = [
            table for table, seen in self._times.items() if times.get(table, 0) != seen and table not in self.given
        ]
        for table in changed:
            connection.begin()
            try:
                connection.execute(f"DELETE FROM {table}")
                self._fill(connection, table)
            except InputError:
                connection.rollback()
                raise
            connection.commit()
        return changed

    def give(self, connection: duckdb.DuckDBPyConnection, table: str, row: tuple[str, ...]) -> None:
        """Put a row into a table, in the place of one of its key, for as long as the connection is open."""
        marks = ", ".join("?" for _ in row)
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)
        self.given.add(table)

    def _fill(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        """Fill a table from the shipped CSV file, then from the lake's own."""
        own = self._layout.lookup_files().get(table)
        seen = own.stat().st_mtime_ns if own else 0
        for path in (modules.csv_file(table), own):
            # What a connection is given ships no rows.
            if path is not None and path.exists():
                _read(connection, table, path)
        if table in modules.RULE_FUNCTIONS.values():
            create_rule_function(connection, table)
        self._times[table] = seen


def _read(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    try:
        connection.execute(
            f"INSERT OR REPLACE INTO {table} BY NAME "
            "SELECT * FROM read_csv($1, header = true, all_varchar = true, quote = '\"', escape = '\"', "
            "hive_partitioning = false)",
            [pattern(path)],
        )
    except duckdb.Error as error:
        raise InputError(f"{path}: cannot be read as rows of {table}: {error}") from error
