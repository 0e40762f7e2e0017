"""A trace, a part of it, or the ranks of a run side by side, as a file in Perfetto's own format."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..output.files import writing
from .part import EVER, Part
from .tracks import Line
from .wire import Packets

if TYPE_CHECKING:
    from ...engine.store import Store

#: Rows read at once, and events sorted at once: a trace is written in stretches, so that memory stays constant.
_ROWS, _SORTED = 1 << 14, 300_000
#: Rows of a relation that overlap a part of the trace.
_WITHIN = "WHERE trace_id = $trace_id AND start_ns < $until_ns AND greatest(end_ns, start_ns + 1) > $from_ns"
_MARKS = f"""
    SELECT
        CASE WHEN device >= 0 THEN concat('device ', device) END, track, start_ns, end_ns, name, kind AS category, path,
        parent, FALSE AS nests, NULL AS flows, pass_id, layer_id, layer_type, half, sum_ms, step_id, step_source,
        gap_id, host_bound_us, previous_name, next_name, severity, gain_us, evidence, advice
    FROM perfetto_marks {_WITHIN}
    ORDER BY device, list_position(['passes', 'steps', 'idle'], track), start_ns, end_ns DESC, depth, path
"""
_COUNTERS = f"""
    SELECT concat('device ', device), counter, unit, start_ns, value
    FROM perfetto_counters {_WITHIN.replace("end_ns,", "coalesce(end_ns, start_ns),")}
    ORDER BY device, counter, start_ns
"""
_EVENTS = f"""
    SELECT
        process, track, start_ns, end_ns, name, category, NULL AS path, NULL AS parent, nests, flows, event_id,
        full_name, pass_id, layer_id, half, op_name, input_dims
    FROM perfetto_events {_WITHIN.replace("end_ns,", "coalesce(end_ns, start_ns),")}
        AND start_ns >= $first_ns AND start_ns < $next_ns
    ORDER BY start_ns, end_ns DESC, event_id
"""
#: Number of columns before those that are shown as arguments.
_PLACE = 10


class Shown(NamedTuple):
    """A trace in the file.

    Attributes:
        trace_id: the trace.
        title: name of the track above all of its tracks; empty if the file has only one trace.
        offset_ns: subtracted from its times, ns.
        part: the part that is shown, on its own clock.
    """

    trace_id: str
    title: str
    offset_ns: int
    part: Part


def write(store: Store, shown: Sequence[Shown], path: str | os.PathLike[str]) -> int:
    """Write traces, each below its own track, and return the number of slices, instants and counter values.

    Args:
        store: the lake.
        shown: the traces; a single one has no track above it.
        path: the file; gzipped when its name ends in .gz.

    Raises:
        InputError: the file cannot be written.
    """
    target = Path(path)
    with writing(target), gzip.open(target, "wb", 3) if target.suffix == ".gz" else target.open("wb") as file:
        packets = Packets(file.write)
        events = 0
        for place, trace in enumerate(shown):
            root = packets.track(trace.title) if trace.title else 0
            events += _Drawing(store, packets, trace, root, place).draw()
        packets.flush()
    return events


class _Drawing:
    """Draws a trace."""

    def __init__(self, store: Store, packets: Packets, trace: Shown, root: int, place: int) -> None:
        self._store, self._packets, self._trace, self._root = store, packets, trace, root
        # Flow ids are those of operations, which other traces may use too.
        self._flows = place << 48
        self._processes: dict[str | None, int] = {None: root}
        self._lines: dict[tuple[str | None, str], Line] = {}

    def draw(self) -> int:
        """Write the part's events and return the number of slices, instants and counter values."""
        count = self._slices(_MARKS) + self._counters()
        for first_ns, next_ns in pairwise(self._edges()):
            count += self._slices(_EVENTS, first_ns=first_ns, next_ns=next_ns)
        for line in self._lines.values():
            line.close()
        return count

    def _edges(self) -> list[int]:
        """Return the edges of stretches of about equal event counts, the first before and the last after all times."""
        [(events,)] = self._store.rows("SELECT event_count FROM traces WHERE trace_id = $1", [self._trace.trace_id])
        stretches = events // _SORTED + 1
        if stretches == 1:
            return [*EVER]
        [(edges,)] = self._store.rows(
            "SELECT approx_quantile(start_ns, CAST($2 AS FLOAT[])) FROM events WHERE trace_id = $1",
            [self._trace.trace_id, [place / stretches for place in range(1, stretches)]],
        )
        return [EVER[0], *sorted(set(edges or [])), EVER[1]]

    def _slices(self, query: str, **stretch: int) -> int:
        rows = self._rows(query, **stretch)
        names = next(rows)[_PLACE:]
        offset, flow, begin = self._trace.offset_ns, self._flows, self._packets.begin
        count = 0
        for row in rows:
            count += 1
            process, track, start, end, name, category, path, parent, nests, flows = row[:_PLACE]
            line = self._lines.get((process, track)) or self._line(process, track)
            arguments = zip(names, row[_PLACE:], strict=True)
            numbers = [flow + number for number in flows] if flows else ()
            start -= offset
            if end is None:
                begin(line.track, start, name, category, arguments, numbers, moment=True)
                continue
            on = line.add(start, end - offset, path, parent, nests=nests)
            begin(on, start, name, category, arguments, numbers)
        return count

    def _counters(self) -> int:
        rows = self._rows(_COUNTERS)
        next(rows)
        tracks: dict[tuple[str, str], int] = {}
        count = 0
        for process, counter, unit, start, value in rows:
            track = tracks.get((process, counter))
            if track is None:
                track = self._packets.track(counter, self._process(process), unit)
                tracks[process, counter] = track
            self._packets.count(track, start - self._trace.offset_ns, value)
            count += 1
        return count

    def _line(self, process: str | None, track: str) -> Line:
        line = self._lines[process, track] = Line(self._packets, track, self._process(process))
        return line

    def _process(self, process: str | None) -> int:
        if process not in self._processes:
            self._processes[process] = self._packets.track(process or "", self._root)
        return self._processes[process]

    def _rows(self, query: str, **stretch: int) -> Iterator[tuple[Any, ...]]:
        """Yield a query's column names, then its rows, without holding them all."""
        part = self._trace.part
        reader = self._store.sql(
            query, trace_id=self._trace.trace_id, from_ns=part.from_ns, until_ns=part.until_ns, **stretch
        ).to_arrow_reader(_ROWS)
        yield tuple(reader.schema.names)
        for batch in reader:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
