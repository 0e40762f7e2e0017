"""Which traces' events can be read: checked by file size, and if that differs, by reading the files.

A file may be truncated, replaced or removed by another program. DuckDB would then refuse every query of events, or
answer from the files that are left. The catalog has the bytes and events of each trace, so an intact lake costs one
stat per file; a process reads the files of a damaged trace once, until they change.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .connection import hold_events, set_event_files
from .damage import fault
from .errors import unpermitted
from .storage.layout import Layout
from .storage.paths import Place

if TYPE_CHECKING:
    import duckdb

#: The relation that all answers of a trace are computed from.
EVENTS = "events"
#: The path, bytes and times of files.
State = list[tuple[Place, int, int, int]]
#: By the folder of a trace's events, the state of its files when they were checked, and what is wrong with them.
#: For all of the process: a command that failed on a damaged file is run again, on the lake opened anew.
_seen: dict[Place, tuple[State, str | None]] = {}
_EVENTS_OF = "SELECT trace_id, event_count, event_bytes, event_files FROM _entries"


def point(layout: Layout, connection: duckdb.DuckDBPyConnection, *, for_many: bool = False) -> dict[str, str]:
    """Define the view of all events over the readable files; return the other traces, with the reason.

    Args:
        layout: the lake.
        connection: the connection.
        for_many: many queries read them.
    """
    rows = connection.execute(f"{_EVENTS_OF} ORDER BY ALL").fetchall()
    found, damaged = read(layout, {one: known for one, *known in rows})
    set_event_files(connection, [path for files in found.values() for path in files])
    if for_many and None not in (counts := [count for _, count, *_ in rows]):
        hold_events(connection, sum(counts))
    return damaged


def damaged(layout: Layout, connection: duckdb.DuckDBPyConnection, traces: Collection[str]) -> dict[str, str]:
    """Return which of some traces have events that cannot be read, with the reason."""
    rows = connection.execute(_EVENTS_OF).fetchall()
    return read(layout, {one: known for one, *known in rows if one in traces})[1]


def read(layout: Layout, traces: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Sequence[Place]], dict[str, str]]:
    """Return the files of traces whose events can be read, and for the others what is wrong.

    Args:
        layout: the lake.
        traces: for each trace, from the catalog, its number of events, the bytes of their files and, in an object
            store, the files; None for what is unknown.

    Raises:
        InputError: this user may not read a file.
    """
    found: dict[str, Sequence[Place]] = {}
    faults: dict[str, str] = {}
    for trace_id, (events, size, listed) in traces.items():
        folder = layout.event_dir(trace_id)
        try:
            files = layout.event_files(trace_id, listed)
            state = _state(files)
        except FileNotFoundError:  # another process is removing the trace
            continue
        for path in files:
            if isinstance(path, Path) and not os.access(path, os.R_OK) and path.exists():
                raise unpermitted(path)
        if folder not in _seen or _seen[folder][0] != state:
            is_resized = size != sum(there for _, there, *_ in state)
            _seen[folder] = state, fault(files, rows=events) if is_resized else None
        if reason := _seen[folder][1]:
            faults[trace_id] = reason
        else:
            found[trace_id] = files
    return found, faults


def condemn(layout: Layout, trace_id: str, reason: str, listed: str | None = None) -> None:
    """Remember that the events of a trace cannot be read, until its files change."""
    _seen[layout.event_dir(trace_id)] = (_state(layout.event_files(trace_id, listed)), reason)


def _state(files: Sequence[Place]) -> State:
    """Return the state of a trace's files: equal states mean equal content; a repaired file has a new state."""
    stats = ((file, file.stat()) for file in files)
    return [(file, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for file, stat in stats]


def is_whole(layout: Layout, trace_id: str, events: int | None, listed: str | None = None) -> bool:
    """Whether the events of a trace can be read, all of them, and are as many as its catalog entry says."""
    files = layout.event_files(trace_id, listed)
    return events is not None and fault(files, rows=events, whole=True) is None
