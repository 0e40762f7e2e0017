"""Assigns slices to tracks on which they never cross: slices that overlap without nesting go to an additional track."""

from __future__ import annotations

from typing import NamedTuple

from .wire import Packets


class _Lane(NamedTuple):
    track: int
    #: Open slices, outermost first: the end and the path of each.
    open: list[tuple[int, str | None]]


class Line:
    """A track, or several of the same name if slices overlap. Slices must come in the order of starts.

    Args:
        packets: what the slices are written to.
        name: name of the track.
        parent: track that it belongs to, 0 for none.
    """

    def __init__(self, packets: Packets, name: str, parent: int) -> None:
        self._packets, self._name, self._parent = packets, name, parent
        self._lanes = [_Lane(packets.track(name, parent), [])]

    @property
    def track(self) -> int:
        """The first track."""
        return self._lanes[0].track

    def add(self, start_ns: int, end_ns: int, path: str | None, parent: str | None, *, nests: bool) -> int:
        """Return the track on which to begin a slice, after ending those that are over.

        Args:
            start_ns: start, not before that of the previous slice.
            end_ns: end, not before the start.
            path: the slice's own path, for those inside it.
            parent: the path of its parent slice, the only one that it may be nested in.
            nests: it may be nested in any slice that contains it, such as a call.
        """
        free: _Lane | None = None
        for lane in self._lanes:
            self._end(lane, start_ns)
            if not lane.open:
                free = free or lane
                if parent is None:
                    break
            elif end_ns <= lane.open[-1][0] and (nests or (parent is not None and lane.open[-1][1] == parent)):
                free = lane
                break
        if free is None:
            free = _Lane(self._packets.track(f"{self._name}, overlapping {len(self._lanes)}", self._parent), [])
            self._lanes.append(free)
        free.open.append((end_ns, path))
        return free.track

    def close(self) -> None:
        """End the open slices."""
        for lane in self._lanes:
            self._end(lane, None)

    def _end(self, lane: _Lane, until_ns: int | None) -> None:
        ends = lane.open
        while ends and (until_ns is None or ends[-1][0] <= until_ns):
            self._packets.end(lane.track, ends.pop()[0])
