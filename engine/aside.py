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

_log = logging.getLogger("tracelake")
#: Warnings already logged: a process logs each one once.
_warned: set[tuple[object, ...]] = set()


def warn_unwritable(root: Place, error: Exception) -> None:
    """Warn once that answers cannot be stored."""
    if not _warned_before(root, "unwritable"):
        reason = getattr(error, "strerror", None) or reason_of(error)
        _log.warning("%s: cannot be written to: %s. Results are not stored.", root, reason)


def warn_stale(root: Place, stale: int, traces: int) -> None:
    """Warn once that some traces have no answers, or answers computed by outdated rules."""
    if not _warned_before(root, "stale", stale):
        _log.warning(
            "%s: %d of %d traces have no answers by the rules and settings of now. Renew them with: "
            "tracelake --lake %s compute",
            root, stale, traces, root,
        )  # fmt: skip


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
    row = [trace_id, relation, reason]
    if connection.execute(
        "SELECT count(*) FROM _set_aside WHERE trace_id = $1 AND relation = $2", row[:2]
    ).fetchall() == [(0,)]:
        connection.execute("INSERT INTO _set_aside VALUES ($1, $2, $3)", row)
    if _warned_before(layout.root, trace_id, relation, reason):
        return
    found = connection.execute("SELECT trace FROM _catalog WHERE trace_id = $1", [trace_id]).fetchall()
    named = f"{found[0][0]} ({trace_id})" if found else trace_id
    _log.warning(
        "%s: set aside: %s cannot be computed of it: %s\n  Questions that need this leave the trace out; answers "
        "stored before remain.\n  Take it away with: tracelake remove %s\n  and ingest its file again.",
        named, relation, reason, trace_id,
    )  # fmt: skip


def _warned_before(*warning: object) -> bool:
    known = warning in _warned
    _warned.add(warning)
    return known
