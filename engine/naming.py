"""Resolves the user's name for a trace: its name, its id, or a prefix of either."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UsageError
from .sql.near import guess
from .storage.layout import is_lake

if TYPE_CHECKING:
    from .store import Store

#: Names come from the catalog alone: most queries about a trace do not otherwise need the relation `traces`.
_NAMED = """
SELECT c.trace_id, coalesce(s.value, c.trace) AS trace
FROM _catalog AS c LEFT JOIN _settings AS s ON s.trace_id = c.trace_id AND s.key = 'trace'
"""


def resolve(store: Store, trace: str) -> str:
    """Return the id of the trace that a name, an id, or a prefix of either, names.

    Raises:
        UsageError: it matches no trace, or more than one.
    """
    rows = store.rows(f"FROM ({_NAMED}) WHERE trace = $1 OR trace_id = $1 ORDER BY trace_id", [trace])
    if not rows and len(trace) >= 2:
        rows = store.rows(
            f"FROM ({_NAMED}) WHERE starts_with(trace_id, $1) OR starts_with(trace, $1) ORDER BY trace_id", [trace]
        )
    if len(rows) == 1:
        return str(rows[0][0])
    if rows:
        listed = ", ".join(f"{name} ({trace_id})" for trace_id, name in rows[:5])
        raise UsageError(f"{trace}: names {len(rows)} traces: {listed}. Give the id.")
    if Path(trace).is_dir():
        raise UsageError(f"{trace}: {a_folder(trace)}")
    known = [name for (name,) in store.rows(f"SELECT trace FROM ({_NAMED}) ORDER BY ALL")]
    listed = ", ".join(known[:6]) + (f" and {len(known) - 6} more" if len(known) > 6 else "")
    raise UsageError(
        f"{trace}: no such trace or file.{guess(trace, known)} "
        + (f"In the lake {store.path}: {listed}." if known else f"The lake {store.path} is empty.")
    )


def a_folder(path: str) -> str:
    """Return what to do with a folder in the place of a trace."""
    if is_lake(Path(path)):
        return f"a lake, not one trace: `tracelake --lake {path} traces` lists those in it."
    return f"a folder, not one trace: `tracelake ingest {path}` reads the traces in it."


def damaged_one(trace: str, damaged: Collection[str]) -> str | None:
    """Return the id of the one trace without a readable catalog row that an id, or a prefix of one, names."""
    found = [trace_id for trace_id in damaged if len(trace) >= 2 and trace_id.startswith(trace)]
    return found[0] if len(found) == 1 else None
