"""Traces of which an answer cannot be computed: each is named and left out, and the others answer.

What ingest stores can be computed with. A lake may hold other things all the same: files that were damaged, or written
by an older version or by somebody else. Where a query over several traces fails, halves of them are tried, down to the
one that fails alone. It stays in the table `_set_aside` of the connection, which `doctor` shows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .layout import Layout
from .paths import parquet_rows

if TYPE_CHECKING:
    import duckdb

_log = logging.getLogger("tracelake")
#: Characters shown of what the database says.
_SHOWN = 200
_warned: set[str] = set()


def warn_unwritable(root: Path, error: Exception) -> None:
    """Say, once, that answers cannot be stored."""
    if str(root) not in _warned:
        _warned.add(str(root))
        reason = (getattr(error, "strerror", None) or str(error)).partition("\n")[0][:_SHOWN]
        _log.warning("%s: cannot be written to: %s. Answers are computed for this question alone.", root, reason)


def create_table(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the table of traces set aside, empty."""
    connection.execute("CREATE OR REPLACE TABLE _set_aside (trace_id VARCHAR, relation VARCHAR, reason VARCHAR)")


def set_aside(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the traces that are set aside."""
    return {trace_id for (trace_id,) in connection.execute("SELECT trace_id FROM _set_aside").fetchall()}


def compute_apart(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    relation: str,
    traces: Sequence[str],
    compute: Callable[[list[str]], None],
    others: Mapping[str, Sequence[str]],
) -> None:
    """Compute rows of traces, together where that works, and set those aside of which it cannot be done.

    Args:
        connection: the lake's.
        layout: the lake.
        relation: what is computed.
        traces: the traces.
        compute: computes the rows of some of them.
        others: other traces that the rows of one are made from, too; those that are set aside are not.

    Raises:
        duckdb.Error: the cause is none of the traces: memory, the disk, an interrupt.
    """
    import duckdb

    def attempt(some: list[str], asked: frozenset[str]) -> None:
        if not some:
            return
        try:
            compute(some)
        except (duckdb.Error, UnicodeDecodeError) as error:
            read = [*some, *(other for trace_id in some for other in others.get(trace_id, ()))]
            if not _is_of_traces(connection, layout, read, error):
                raise
            middle = len(some) // 2
            if middle:
                attempt(some[:middle], asked)
                attempt(some[middle:], asked)
                return
            # The trace itself may be sound, and one that it reads may not.
            known = set_aside(connection)
            for other in others.get(some[0], ()):
                if other not in known | asked:
                    attempt([other], asked | {some[0]})
            if set_aside(connection) > known:
                attempt(some, asked)
            else:
                _put(connection, some[0], relation, error)

    known = set_aside(connection)
    attempt([trace_id for trace_id in traces if trace_id not in known], frozenset())


def _is_of_traces(connection: duckdb.DuckDBPyConnection, layout: Layout, traces: list[str], error: Exception) -> bool:
    """Whether a query failed by what is in the traces, and not by what the machine lacks."""
    import duckdb

    if isinstance(error, duckdb.DataError | duckdb.InvalidInputException | UnicodeDecodeError):
        return True
    return isinstance(error, duckdb.IOException) and not all(_is_readable(connection, layout, one) for one in traces)


def _is_readable(connection: duckdb.DuckDBPyConnection, layout: Layout, trace_id: str) -> bool:
    import duckdb

    files = layout.event_files(trace_id)
    try:
        connection.execute(f"SELECT count(*) FROM {parquet_rows(files)}" if files else "SELECT 0").fetchall()
    except duckdb.Error:
        return False
    return True


def _put(connection: duckdb.DuckDBPyConnection, trace_id: str, relation: str, error: Exception) -> None:
    reason = str(error).partition("\n")[0][:_SHOWN]
    connection.execute("INSERT INTO _set_aside VALUES ($1, $2, $3)", [trace_id, relation, reason])
    found = connection.execute("SELECT trace FROM _catalog WHERE trace_id = $1", [trace_id]).fetchall()
    named = f"{found[0][0]} ({trace_id})" if found else trace_id
    _log.warning(
        "%s: set aside: %s cannot be computed of it: %s\n  The other traces are answered without it. "
        "Take it away with: tracelake remove %s\n  and ingest its file again.",
        named, relation, reason, trace_id,
    )  # fmt: skip
