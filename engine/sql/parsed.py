"""Cache of parsed statements for all connections of a process.

Parsing is four fifths of the time to create a view, and a tenth of the time to read a tiny trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

#: Maximum number of cached statements: ours are a few thousand; those that read traces vary with the keys of events.
_MOST = 4000
#: DuckDB's parsed statements by their text.
_known: dict[str, duckdb.Statement] = {}


def execute(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.DuckDBPyConnection:
    """Execute a statement that is likely to be executed again."""
    statement = _known.get(text)
    if statement is None:
        [statement] = connection.extract_statements(text)
        if len(_known) >= _MOST:
            _known.clear()
        _known[text] = statement
    return connection.execute(statement)
