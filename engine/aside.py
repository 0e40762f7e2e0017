"""Excluded traces: one whose answer cannot be computed is reported and left out, and the others are still answered.

What was stored of it before still answers: only questions that need what cannot be computed leave it out.

Whatever ingest stores can be computed, but a lake may also hold files that were damaged, or written by an older
version or by another program. A connection's table `_set_aside` lists the relations that cannot be computed for a
trace (from its catalog entry) and the traces whose events cannot be read; `doctor` shows them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .damage import reason_of
from .storage.layout import Layout
from .storage.paths import Place

if TYPE_CHECKING:
    import duckdb

    from .catalog import Catalog

#: Warnings already logged, each with its lake.
_warned: set[tuple[Place, str]] = set()


def warn_once(root: Place, message: str) -> None:
    """Log a warning about a lake, unless this process has logged it before."""
    if (root, message) not in _warned:
        _warned.add((root, message))
        logging.getLogger("tracelake").warning("%s", message)


def warn_unwritable(root: Place, error: Exception) -> None:
    """Warn that answers cannot be stored."""
    reason = getattr(error, "strerror", None) or reason_of(error)
    warn_once(root, f"{root}: cannot be written to: {reason}. Results are not stored.")


def warn_stale(root: Place, stale: int, traces: int) -> None:
    """Warn that some traces have no answers, or answers computed by outdated rules."""
    warn_once(
        root,
        f"{root}: {stale} of {traces} traces have no answers by the rules and settings of now. Renew them with: "
        f"tracelake --lake {root} compute",
    )


def create_table(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the empty table of excluded traces."""
    connection.execute("CREATE OR REPLACE TABLE _set_aside (trace_id VARCHAR, relation VARCHAR, reason VARCHAR)")


def fill(connection: duckdb.DuckDBPyConnection, layout: Layout, catalog: Catalog) -> None:
    """Fill the table with what cannot be computed, according to the catalog."""
    create_table(connection)
    for trace_id, reason in catalog.damaged.items():
        put(connection, layout, trace_id, "traces", reason)
    for trace_id, state in catalog.states.items():
        for relation, reason in state.faults.items():
            put(connection, layout, trace_id, relation, reason)


def put(connection: duckdb.DuckDBPyConnection, layout: Layout, trace_id: str, relation: str, reason: str) -> None:
    """Exclude a relation of a trace and warn once."""
    connection.execute(
        "INSERT INTO _set_aside SELECT $1, $2, $3 "
        "WHERE NOT EXISTS (FROM _set_aside WHERE trace_id = $1 AND relation = $2)",
        [trace_id, relation, reason],
    )
    found = connection.execute("SELECT trace FROM _catalog WHERE trace_id = $1", [trace_id]).fetchall()
    named = f"{found[0][0]} ({trace_id})" if found else trace_id
    warn_once(
        layout.root,
        f"{named}: set aside: {relation} cannot be computed of it: {reason}\n"
        "  Questions that need this leave the trace out; answers stored before remain.\n"
        f"  Take it away with: tracelake remove {trace_id}\n  and ingest its file again.",
    )
