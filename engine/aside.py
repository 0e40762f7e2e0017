"""Traces of which an answer cannot be computed: each is named and left out, and the others answer.

What ingest stores can be computed with. A lake may hold other things all the same: files that were damaged, or written
by an older version or by somebody else. Where a query over several traces fails, halves of them are tried, down to the
one that fails alone. It stays in the table `_set_aside` of the connection, which `doctor` shows, and the verdict is
stored beside the rows of other traces, so that it is not tried again until the trace's files or the relation change.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..version import __version__
from . import modules
from .damage import DamagedError, find, is_fatal, may_be_damage, reason_of
from .files import publish_bytes
from .layout import Layout
from .paths import is_plain_file

if TYPE_CHECKING:
    import duckdb

_log = logging.getLogger("tracelake")
#: Warnings printed already: a process prints each once.
_warned: set[tuple[object, ...]] = set()


def warn_unwritable(root: Path, error: Exception) -> None:
    """Say, once, that answers cannot be stored."""
    if not _warned_before(root, "unwritable"):
        reason = getattr(error, "strerror", None) or reason_of(error)
        _log.warning("%s: cannot be written to: %s. Results are not stored.", root, reason)


def create_table(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the table of traces set aside, empty."""
    connection.execute("CREATE OR REPLACE TABLE _set_aside (trace_id VARCHAR, relation VARCHAR, reason VARCHAR)")


def set_aside(connection: duckdb.DuckDBPyConnection, relation: str) -> set[str]:
    """Return the traces of which a relation cannot be computed, or one that it is made from."""
    rows = connection.execute("SELECT trace_id, relation FROM _set_aside").fetchall()
    return {trace_id for trace_id, failed in rows if failed in modules.sources(relation)}


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
    """Which relations cannot be computed of a trace, each stored with what the trace's files were."""

    def __init__(self, layout: Layout) -> None:
        """Look at nothing yet."""
        self._layout = layout

    def state(self, trace_id: str) -> str:
        """Return what a trace's files are: equal states, equal content. A repaired file has another."""
        files = [
            (path.parent.name, path.name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            for path in self._layout.event_files(trace_id)
            for stat in [path.stat()]
        ]
        return repr((self._layout.stamp(trace_id), files))

    def recall(self, relation: str, trace_id: str, version: str = "") -> str | None:
        """Return why a relation cannot be computed of a trace; None where that is not known.

        Args:
            relation: the relation.
            trace_id: the trace.
            version: what the rows depend on besides the trace.
        """
        path = self._layout.verdict_file(relation, trace_id)
        if not is_plain_file(path):
            return None
        try:
            key, reason = json.loads(path.read_bytes())
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return str(reason) if key == self._key(trace_id, version) else None

    def store(self, relation: str, trace_id: str, reason: str, version: str = "") -> None:
        """Store why a relation cannot be computed of a trace; where the lake cannot be written to, do nothing."""
        path = self._layout.verdict_file(relation, trace_id)
        with contextlib.suppress(OSError):
            publish_bytes(path, json.dumps([self._key(trace_id, version), reason]).encode())

    def _key(self, trace_id: str, version: str) -> str:
        versions = f"{__version__} {duckdb_version()} {version} {self.state(trace_id)}"
        return hashlib.sha256(versions.encode("utf-8", "surrogateescape")).hexdigest()


def compute_apart(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    relation: str,
    traces: Sequence[str],
    compute: Callable[[list[str]], None],
    others: Mapping[str, Sequence[str]],
    remember: Callable[[str, str], None] = lambda trace_id, reason: None,
) -> None:
    """Compute rows of traces, together where that works, and set those aside of which it cannot be done.

    Args:
        connection: the lake's.
        layout: the lake.
        relation: what is computed.
        traces: the traces.
        compute: computes the rows of some of them.
        others: other traces that the rows of one are made from, too; those that are set aside are not.
        remember: stores that it cannot be done for a trace, and why.

    Raises:
        DamagedError: files that the rows are made from cannot be read; nothing is set aside for that yet.
        duckdb.Error: the cause is not in the traces: memory, the disk, an interrupt.
    """
    import duckdb

    def attempt(some: list[str], asked: frozenset[str]) -> None:
        if not some:
            return
        try:
            compute(some)
        except (duckdb.Error, UnicodeDecodeError) as error:
            read = [*some, *(other for trace_id in some for other in others.get(trace_id, ()))]
            if may_be_damage(error):
                aside = set_aside(connection, relation) if not is_fatal(error) else set()
                found = find(layout, set(read) - aside, modules.sources(relation) - {relation}, error)
                if found:
                    raise DamagedError(found) from error
            if not isinstance(error, duckdb.DataError | duckdb.InvalidInputException | UnicodeDecodeError):
                raise
            middle = len(some) // 2
            if middle:
                attempt(some[:middle], asked)
                attempt(some[middle:], asked)
                return
            # The trace itself may be sound, and one that it reads may not.
            known = set_aside(connection, relation)
            for other in others.get(some[0], ()):
                if other not in known | asked:
                    attempt([other], asked | {some[0]})
            if set_aside(connection, relation) > known:
                attempt(some, asked)
            else:
                put(connection, layout, some[0], relation, reason_of(error))
                remember(some[0], reason_of(error))

    known = set_aside(connection, relation)
    attempt([trace_id for trace_id in traces if trace_id not in known], frozenset())


def duckdb_version() -> str:
    """Return the version of DuckDB: another may read what this one does not."""
    import duckdb

    return duckdb.__version__
