"""Statements parsed once for all connections of a process.

Of what creating a view takes, parsing is four fifths; of what reading a tiny trace takes, a tenth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

#: Statements that are held at most: ours are some thousand, those that read traces vary with the keys of events.
_MOST = 4000
#: Statements as DuckDB has parsed them, by their text.
_known: dict[str, duckdb.Statement] = {}


def execute(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.DuckDBPyConnection:
    """Execute a statement whose text comes again."""
    statement = _known.get(text)
    if statement is None:
        [statement] = connection.extract_statements(text)
        if len(_known) >= _MOST:
            _known.clear()
        _known[text] = statement
    return connection.execute(statement)
