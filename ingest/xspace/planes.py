"""The planes of an XSpace: where their lines are in the file, and the meaning of the ids of their events and stats.

A plane is a device, or the threads of a host. Its names come after its lines, so the file is read twice: first, here,
what surrounds the events, skipping those, then the events.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .wire import BYTES, Bytes, Field, WireError, signed

#: Fields of the messages XSpace, XPlane, XEventMetadata and XStat.
SPACE_PLANES = 1
PLANE_ID, PLANE_NAME, _PLANE_LINES, _PLANE_EVENT_NAMES, _PLANE_STAT_NAMES, PLANE_STATS = 1, 2, 3, 4, 5, 6
_EVENT_NAME, _EVENT_DISPLAY_NAME, _EVENT_STATS = 2, 4, 5
STAT_ID, STAT_DOUBLE, STAT_UNSIGNED, STAT_SIGNED, STAT_TEXT, STAT_BYTES, STAT_REFERENCE = 1, 2, 3, 4, 5, 6, 7
#: Shown by Chrome traces of the same profiler for a value of bytes.
OPAQUE = "<opaque bytes>"
#: Maximum bytes of a text; a longer one is not a name.
_LONGEST_TEXT = 16 << 20
DEVICES = "/device:"
#: Not a chip: a trace of the network between TPUs, for example.
CUSTOM = "/device:CUSTOM:"
HOST = "/host:CPU"
METADATA = "/host:metadata"
#: Processes of a Chrome trace of the same profiler: devices from 1, and the threads of the host.
_FIRST_DEVICE, _HOST_PID = 1, 701
_HLO_PROTO = "hlo proto"


@dataclass(frozen=True)
class Stat:
    """A value of a plane or of the description of an event.

    Attributes:
        name: its name.
        value: the value; for bytes, their location in the file, as a field.
    """

    name: str
    value: int | float | str | Field

    @property
    def text(self) -> str:
        """The value as Chrome traces show it."""
        return OPAQUE if isinstance(self.value, Field) else str(self.value)


@dataclass(frozen=True)
class Described:
    """The meaning of an id of events.

    Attributes:
        name: the events' name.
        args: arguments common to all of them.
    """

    name: str
    args: dict[str, str]


@dataclass
class Plane:
    """One plane.

    Attributes:
        name: such as `/device:TPU:0`.
        number: its id.
        lines: the bounds of its lines in the file.
        stats: its stats.
        keys: names of stats by their ids.
        events: the meaning of the ids of its events.
        programs: HLO protos of compiled programs, by name, and their location in the file.
        damage: why a part of it cannot be read.
        skipped: bytes of that part.
        is_cut: the file ends inside it.
    """

    name: str = ""
    number: int = 0
    lines: list[tuple[int, int]] = field(default_factory=list)
    stats: dict[str, int | float | str] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    events: dict[int, Described] = field(default_factory=dict)
    programs: list[tuple[int, str, Field]] = field(default_factory=list)
    damage: str | None = None
    skipped: int = 0
    is_cut: bool = False

    @property
    def is_device(self) -> bool:
        """Whether it represents a device."""
        return self.name.startswith(DEVICES)

    def pid(self, taken: set[str]) -> str:
        """Return the process for it in a Chrome trace of the same profiler, one that is not taken."""
        number = _FIRST_DEVICE + self.number if self.is_device else _HOST_PID
        while str(number) in taken or (number == _HOST_PID and self.name != HOST):
            number += 1000 if self.is_device else 1
        return str(number)


def read_planes(file: Bytes, repaired: Callable[[str, bytes], None]) -> Iterator[Plane]:
    """Yield the planes of a file lazily.

    Args:
        file: the file.
        repaired: called with the fault of a text that could be repaired, and the text.

    Raises:
        WireError: what follows is not a field of an XSpace.
    """
    for one in file.fields(0, file.size):
        if one.number == SPACE_PLANES and one.wire == BYTES:
            plane = _plane(file, one.start, min(one.end, file.size), repaired)
            plane.is_cut = one.end > file.size
            yield plane


def _plane(file: Bytes, start: int, end: int, repaired: Callable[[str, bytes], None]) -> Plane:
    plane, names, about = Plane(), list[Field](), list[Field]()
    at = start
    try:
        for one in file.fields(start, end):
            if one.number == PLANE_ID:
                plane.number = signed(one.value)
            elif one.number == PLANE_NAME:
                plane.name = _text(file, one, repaired)
            elif one.number == _PLANE_LINES and one.wire == BYTES:
                plane.lines.append((one.start, one.end))
            elif one.number == _PLANE_STAT_NAMES:
                _name_stat(file, plane, one, repaired)
            elif one.number == _PLANE_EVENT_NAMES:
                names.append(one)
            elif one.number == PLANE_STATS:
                about.append(one)
            at = one.end
        # Their stats need the names of stats, which come later.
        for one in names:
            at = one.start
            _describe(file, plane, one, repaired)
        for one in about:
            at = one.start
            if (stat := _stat(file, plane.keys, one, repaired)) and not isinstance(stat.value, Field):
                plane.stats[stat.name] = stat.value
    except WireError as error:
        plane.damage, plane.skipped = str(error), end - at
    return plane


def _entry(file: Bytes, one: Field) -> tuple[int, Field | None]:
    """Return key and value of an entry of a map."""
    key, value = 0, None
    _within(file, one)
    for inner in file.fields(one.start, one.end):
        if inner.number == 1:
            key = signed(inner.value)
        elif inner.number == 2 and inner.wire == BYTES:
            value = _within(file, inner)
    return key, value


def _name_stat(file: Bytes, plane: Plane, one: Field, repaired: Callable[[str, bytes], None]) -> None:
    key, value = _entry(file, one)
    if value:
        named = (inner for inner in file.fields(value.start, value.end) if inner.number == _EVENT_NAME)
        plane.keys[key] = next((_text(file, inner, repaired) for inner in named), "")


def _describe(file: Bytes, plane: Plane, one: Field, repaired: Callable[[str, bytes], None]) -> None:
    key, value = _entry(file, one)
    if value is None:
        return
    name, shown, args = "", "", {}
    for inner in file.fields(value.start, value.end):
        if inner.number == _EVENT_NAME:
            name = _text(file, inner, repaired)
        elif inner.number == _EVENT_DISPLAY_NAME:
            shown = _text(file, inner, repaired)
        elif inner.number == _EVENT_STATS and (stat := _stat(file, plane.keys, inner, repaired)):
            args[stat.name] = stat.text
            if isinstance(stat.value, Field) and stat.name.lower() == _HLO_PROTO:
                plane.programs.append((key, name, stat.value))
    plane.events[key] = Described(shown or name, {"long_name": name} | args if shown else args)


def _stat(file: Bytes, keys: dict[int, str], one: Field, repaired: Callable[[str, bytes], None]) -> Stat | None:
    """Return a stat that has a value."""
    key, value = 0, None
    _within(file, one)
    for inner in file.fields(one.start, one.end):
        if inner.number == STAT_ID:
            key = signed(inner.value)
        elif inner.number == STAT_DOUBLE:
            value = struct.unpack("<d", inner.value.to_bytes(8, "little"))[0]
        elif inner.number == STAT_UNSIGNED:
            value = inner.value
        elif inner.number == STAT_SIGNED:
            value = signed(inner.value)
        elif inner.number == STAT_TEXT:
            value = _text(file, inner, repaired)
        elif inner.number == STAT_BYTES:
            value = _within(file, inner)
        elif inner.number == STAT_REFERENCE:
            value = keys.get(signed(inner.value), "")
    return None if value is None else Stat(keys.get(key, f"stat {key}"), value)


def _within(file: Bytes, one: Field) -> Field:
    """Return a field that is completely within the file."""
    if one.wire != BYTES:
        raise WireError(f"field {one.number} is a number and not a message")
    if one.end > file.size:
        raise WireError("the file ends inside it")
    return one


def _text(file: Bytes, one: Field, repaired: Callable[[str, bytes], None]) -> str:
    """Return a text; invalid UTF-8 in it is replaced."""
    _within(file, one)
    data = file.read(one.start, min(one.end, one.start + _LONGEST_TEXT))
    try:
        return data.decode()
    except UnicodeDecodeError:
        repaired("bytes that are not UTF-8", data)
        return data.decode("utf-8", "replace")


def json_members(args: dict[str, str]) -> str:
    """Return arguments as members of a JSON object, without its braces."""
    return json.dumps(args, ensure_ascii=False, separators=(",", ":"))[1:-1]
