"""A file in Perfetto's format as protobuf's own parser reads it, with the messages of the package `perfetto`."""

from __future__ import annotations

import gzip
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb


@dataclass
class Slice:
    """A slice as Perfetto draws it; `track` has the names from the outermost track on, `around` the slice it is in."""

    track: tuple[str, ...]
    name: str
    start_ns: int
    category: str | None
    args: dict[str, Any]
    flows: frozenset[int]
    around: Slice | None
    end_ns: int | None = None

    @property
    def place(self) -> tuple[str, int, int | None]:
        return self.name, self.start_ns, self.end_ns


@dataclass
class Reading:
    slices: list[Slice] = field(default_factory=list)
    moments: list[Slice] = field(default_factory=list)
    counters: dict[tuple[str, ...], list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    units: dict[tuple[str, ...], str] = field(default_factory=dict)

    def on(self, *track: str) -> list[Slice]:
        """Return the slices of a track, those of tracks beside it for what overlaps included."""
        *above, last = track
        return [
            found
            for found in self.slices
            if found.track[:-1] == tuple(above) and found.track[-1].split(", overlapping ")[0] == last
        ]


def read(path: Path) -> Reading:
    """Read a file: every slice that begins ends on its track, inside the one that began before it."""
    data = path.read_bytes()
    trace = pb.Trace.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)
    tracks: dict[int, tuple[str, ...]] = {}
    names: dict[str, dict[int, str]] = {}
    found, events = Reading(), []
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.sequence_flags & pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            names = defaultdict(dict)
        _learn(names, packet.interned_data)
        if packet.HasField("track_descriptor"):
            one = packet.track_descriptor
            assert one.uuid not in tracks
            tracks[one.uuid] = (*tracks.get(one.parent_uuid, ()), one.name)
            if one.HasField("counter"):
                found.units[tracks[one.uuid]] = one.counter.unit_name
        if packet.HasField("track_event"):
            begun = _begun(tracks[packet.track_event.track_uuid], packet, names)
            events.append((packet.timestamp, packet.track_event, begun))
    _play(events, found)
    return found


def _learn(names: dict[str, dict[int, str]], new: Any) -> None:
    for table in ("event_names", "event_categories", "debug_annotation_names"):
        for entry in getattr(new, table):
            names[table][entry.iid] = entry.name
    for entry in new.debug_annotation_string_values:
        names["strings"][entry.iid] = entry.str.decode()


def _begun(track: tuple[str, ...], packet: Any, names: dict[str, dict[int, str]]) -> Slice:
    event = packet.track_event
    args = {}
    for one in event.debug_annotations:
        kind = one.WhichOneof("value")
        value = names["strings"][one.string_value_iid] if kind == "string_value_iid" else getattr(one, kind)
        args[names["debug_annotation_names"][one.name_iid]] = value
    name = names["event_names"][event.name_iid] if event.name_iid else ""
    category = names["event_categories"][event.category_iids[0]] if event.category_iids else None
    return Slice(track, name, packet.timestamp, category, args, frozenset(event.flow_ids), None)


def _play(events: list[tuple[int, Any, Slice]], found: Reading) -> None:
    stacks: dict[int, list[Slice]] = defaultdict(list)
    # What happens at one time on a track happens in the order of the file: sorting keeps it.
    for at_ns, event, begun in sorted(events, key=lambda one: one[0]):
        stack = stacks[event.track_uuid]
        begun.around = stack[-1] if stack else None
        if event.type == event.TYPE_COUNTER:
            found.counters[begun.track].append((at_ns, event.double_counter_value))
        elif event.type == event.TYPE_SLICE_END:
            stack.pop().end_ns = at_ns
        elif event.type == event.TYPE_INSTANT:
            found.moments.append(begun)
        else:
            found.slices.append(begun)
            stack.append(begun)
    assert not any(stacks.values()), "a slice has no end"
