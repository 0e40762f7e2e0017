"""Traces of which an answer cannot be computed: each is named and left out, and the others answer.

What ingest stores can be computed with. A lake may hold other things all the same: files that were damaged, or written
by an older version or by somebody else. The table `_set_aside` of a connection has the relations that cannot be
computed of a trace, as its entry in the catalog says, and the traces whose events cannot be read; `doctor` shows them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from typing import TYPE_CHECKING

from ..version import __version__
from .damage import reason_of
from .storage.files import publish_bytes
from .storage.layout import Layout
from .storage.paths import Place, is_plain_file

if TYPE_CHECKING:
    import duckdb

    from .catalog import Catalog

_log = logging.getLogger("tracelake")
#: Warnings printed already: a process prints each once.
_warned: set[tuple[object, ...]] = set()


def warn_unwritable(root: Place, error: Exception) -> None:
    """Say, once, that answers cannot be stored."""
    if not _warned_before(root, "unwritable"):
        reason = getattr(error, "strerror", None) or reason_of(error)
        _log.warning("%s: cannot be written to: %s. Results are not stored.", root, reason)


def warn_stale(root: Place, stale: int, traces: int) -> None:
    """Say, once, that traces are missing in answers, or answered by rules of before."""
    if not _warned_before(root, "stale", stale):
        _log.warning(
            "%s: %d of %d traces have no answers by the rules and settings of now. Renew them with: "
            "tracelake --lake %s compute",
            root, stale, traces, root,
        )  # fmt: skip


def create_table(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the table of traces set aside, empty."""
    connection.execute("CREATE OR REPLACE TABLE _set_aside (trace_id VARCHAR, relation VARCHAR, reason VARCHAR)")


def fill(connection: duckdb.DuckDBPyConnection, layout: Layout, catalog: Catalog) -> None:
    """List what cannot be computed, as the catalog has it."""
    create_table(connection)
    for trace_id, reason in catalog.damaged.items():
        put(connection, layout, trace_id, "traces", reason)
    for trace_id, state in catalog.states.items():
        for relation, reason in state.faults.items():
            put(connection, layout, trace_id, relation, reason)


def put(connection: duckdb.DuckDBPyConnection, layout: Layout, trace_id: str, relation: str, reason: str) -> None:
    """Set a trace aside, and say so once."""
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
        "%s: set aside: %s cannot be computed of it: %s\n  The other traces are answered without it. "
        "Take it away with: tracelake remove %s\n  and ingest its file again.",
        named, relation, reason, trace_id,
    )  # fmt: skip


def _warned_before(*warning: object) -> bool:
    known = warning in _warned
    _warned.add(warning)
    return known


class Verdicts:
    """Why the events of traces cannot be read, each stored with what the trace's files were.

    In an object store nothing is stored: there, what is read is what was written, or is not there.
    """

    def __init__(self, layout: Layout) -> None:
        """Look at nothing yet."""
        self._layout = layout

    def state(self, trace_id: str, listed: str | None = None) -> str:
        """Return what a trace's files are: equal states, equal content. A repaired file has another."""
        files = [
            (path.parent.name, path.name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            for path in self._layout.event_files(trace_id, listed)
            for stat in [path.stat()]
        ]
        return repr(files)

    def recall(self, trace_id: str) -> str | None:
        """Return why the events of a trace cannot be read; None where that is not known."""
        path = self._layout.verdict_file(trace_id)
        if self._layout.is_remote:
            return None
        try:
            if not is_plain_file(path):
                return None
            key, reason = json.loads(path.read_bytes())
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return str(reason) if key == self._key(trace_id) else None

    def store(self, trace_id: str, reason: str) -> None:
        """Store why the events of a trace cannot be read; where the lake cannot be written to, do nothing."""
        if self._layout.is_remote:
            return
        path = self._layout.verdict_file(trace_id)
        with contextlib.suppress(OSError):
            publish_bytes(path, json.dumps([self._key(trace_id), reason]).encode())

    def _key(self, trace_id: str) -> str:
        versions = f"{__version__} {duckdb_version()} {self.state(trace_id)}"
        return hashlib.sha256(versions.encode("utf-8", "surrogateescape")).hexdigest()


def duckdb_version() -> str:
    """Return the version of DuckDB: another may read what this one does not."""
    import duckdb

    return duckdb.__version__
