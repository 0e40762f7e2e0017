"""Which traces' events can be read: checked by file size, and if that differs, by reading the files.

A file may be truncated, replaced or removed by another program. DuckDB would then refuse every query of events, or
answer from the files that are left. The catalog has the bytes and events of each trace, so an intact lake costs one
stat per file; a damaged trace is cached with the state of its files and not read again.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .aside import Verdicts
from .connection import hold_events, set_event_files
from .damage import DamagedError, Probe, find, may_be_damage
from .errors import unpermitted
from .storage.layout import Layout
from .storage.paths import Place

if TYPE_CHECKING:
    import duckdb

#: The relation that all answers of a trace are computed from.
EVENTS = "events"
_EVENTS_OF = "SELECT trace_id, event_count, event_bytes, event_files FROM _entries"


class EventFiles:
    """The event files that can be read; each is checked once, until it changes."""

    def __init__(self, layout: Layout) -> None:
        """Initialise without checking files."""
        self._layout = layout
        self._verdicts = Verdicts(layout)
        #: The state of each trace's files when they were checked, and what is wrong with them.
        self._seen: dict[str, tuple[str, str | None]] = {}

    def point(self, connection: duckdb.DuckDBPyConnection, *, for_many: bool = False) -> dict[str, str]:
        """Define the view of all events over the readable files; return the other traces, with the reason.

        Args:
            connection: the connection.
            for_many: many queries read them.

        Raises:
            DamagedError: files that passed the check cannot be read.
        """
        import duckdb

        rows = connection.execute(f"{_EVENTS_OF} ORDER BY ALL").fetchall()
        found, damaged = self._read({one: known for one, *known in rows})
        try:
            set_event_files(connection, [path for files in found.values() for path in files])
        except duckdb.Error as error:
            # DuckDB opens the first file.
            if may_be_damage(error) and (fault := find(found, (), error)):
                raise DamagedError(fault) from error
            raise
        if for_many and None not in (counts := [count for _, count, *_ in rows]):
            hold_events(connection, sum(counts))
        return damaged

    def damaged(self, connection: duckdb.DuckDBPyConnection, traces: Collection[str]) -> dict[str, str]:
        """Return which of some traces have events that cannot be read, with the reason."""
        rows = connection.execute(_EVENTS_OF).fetchall()
        return self._read({one: known for one, *known in rows if one in traces})[1]

    def _read(self, traces: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Sequence[Place]], dict[str, str]]:
        """Return the files of traces whose events can be read, and for the others what is wrong.

        Args:
            traces: for each trace, from the catalog, its number of events, the bytes of their files and, in an object
                store, the files; None for what is unknown.

        Raises:
            InputError: this user may not read a file.
        """
        found, unknown = dict[str, Sequence[Place]](), dict[str, int | None]()
        for trace_id, (events, size, listed) in traces.items():
            try:
                files = self._layout.event_files(trace_id, listed)
                state = self._verdicts.state(trace_id, listed)
                there = sum(path.stat().st_size for path in files)
            except FileNotFoundError:  # another process is removing the trace
                continue
            for path in files:
                if isinstance(path, Path) and not os.access(path, os.R_OK) and path.exists():
                    raise unpermitted(path)
            found[trace_id] = files
            if self._seen.get(trace_id, ("", None))[0] == state:
                continue
            reason = self._verdicts.recall(trace_id)
            self._seen[trace_id] = (state, reason)
            if reason is None and size != there:
                unknown[trace_id] = events
        self._look(found, unknown)
        faults = {one: reason for one in found if (reason := self._seen[one][1])}
        return {one: files for one, files in found.items() if one not in faults}, faults

    def condemn(self, trace_id: str, reason: str, listed: str | None = None) -> None:
        """Remember that the events of a trace cannot be read, until its files change."""
        self._seen[trace_id] = (self._verdicts.state(trace_id, listed), reason)
        self._verdicts.store(trace_id, reason)

    def _look(self, found: Mapping[str, Sequence[Place]], unknown: Mapping[str, int | None]) -> None:
        """Count the rows of some traces' files and note the faults."""
        with Probe() as probe:
            # Traces of older lakes have no size in the catalog: checking all at once is fast.
            files = [path for one in unknown for path in found[one]]
            counts = list(unknown.values())
            if None not in counts and probe.fault_of_all(files, rows=sum(count or 0 for count in counts)) is None:
                return
            for trace_id, events in unknown.items():
                if reason := probe.fault(found[trace_id], rows=events):
                    self._seen[trace_id] = (self._seen[trace_id][0], reason)


def is_whole(layout: Layout, trace_id: str, events: int | None, listed: str | None = None) -> bool:
    """Whether the events of a trace can be read and are as many as its catalog entry says."""
    if Verdicts(layout).recall(trace_id):
        return False
    with Probe() as probe:
        return events is not None and probe.fault(layout.event_files(trace_id, listed), rows=events) is None
