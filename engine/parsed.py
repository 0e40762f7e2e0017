"""Statements parsed once for all connections of a process: of what creating a view takes, parsing is four fifths."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

#: Statements as DuckDB has parsed them, by their text: those that create our relations, which are the same each time.
_known: dict[str, duckdb.Statement] = {}


def execute(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.DuckDBPyConnection:
    """Execute one statement of those that create relations."""
    statement = _known.get(text)
    if statement is None:
        [statement] = connection.extract_statements(text)
        _known[text] = statement
    return connection.execute(statement)
