"""The messages of Perfetto's trace format that a timeline needs, as bytes.

A file is a sequence of packets (`TracePacket` in protos/perfetto/trace of google/perfetto): descriptors of tracks, and
events on them with exact times in ns. Names are interned: written once and then referred to by number. Hand-written,
since it is a page of code, needs no library, and is faster than messages as Python objects.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

from ...engine.text import printable

#: Packets written at once.
_CHUNK = 4096
#: Maximum number of interned names: beyond that all are reset and written again, so that memory stays constant.
MOST_NAMES = 1 << 16
#: Fields of InternedData: the tables of names, each with its own numbering.
_CATEGORIES, _NAMES, _ARGUMENTS, _STRINGS = 1, 2, 3, 29

Argument = str | int | float | bool | None


def varint(number: int) -> bytes:
    """Return a number as a varint: groups of seven bits, the lowest first.

    Raises:
        ValueError: it is below 0.
    """
    if number < 0:
        raise ValueError(f"{number} is below 0")
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


_SMALL = [varint(number) for number in range(1 << 14)]
#: Two varint bytes of fourteen bits that are followed by others.
_MORE = [bytes((number & 127 | 128, number >> 7 | 128)) for number in range(1 << 14)]
_FLOW, _VALUE = varint(47 << 3 | 1), varint(44 << 3 | 1)


def _number(number: int) -> bytes:
    if number < 1 << 14:
        return _SMALL[number]
    return _MORE[number & 16383] + _SMALL[number >> 14] if number < 1 << 28 else varint(number)


def field(number: int, value: int | bytes) -> bytes:
    """Return a field of a message: a non-negative number, or text, bytes or a nested message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Packets:
    """Encodes packets and passes them on in chunks.

    Args:
        write: called with bytes of the file, in order.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._chunk: list[bytes] = []
        self._tables: dict[int, dict[str, bytes]] = {}
        self._known = 0
        self._tracks = 0
        self._children: dict[int, int] = {}
        self._top, self._top_text = 0, varint(0)
        self._ends: dict[int, bytes] = {}
        self._forget_names()

    def track(self, name: str, parent: int = 0, unit: str | None = None) -> int:
        """Describe a track, below its parent's existing ones; return its number.

        Args:
            name: the label of the track.
            parent: number of the track that it belongs to, 0 for none.
            unit: of the values, for a counter.
        """
        self._tracks += 1
        place = self._children[parent] = self._children.get(parent, 0) + 1
        descriptor = field(1, self._tracks) + field(2, _text(name)) + field(12, place)
        # Sorted by `place`; tracks with the same name are not merged.
        descriptor += field(11, 3) + field(15, 2)
        if parent:
            descriptor += field(5, parent)
        if unit is not None:
            descriptor += field(8, field(6, _text(unit)))
        self._add(b"\x50\x01" + field(60, descriptor))
        return self._tracks

    def begin(
        self, track: int, at_ns: int, name: str, category: str | None = None,
        arguments: Iterable[tuple[str, Argument]] = (), flows: Sequence[int] = (), *, moment: bool = False,
    ) -> None:  # fmt: skip
        """Begin a slice, which `end` ends, or write an instant.

        Args:
            track: the track.
            at_ns: when, ns, 0 or later.
            name: its label.
            category: its category.
            arguments: its arguments; those without a value are left out.
            flows: flow ids: slices with the same id are connected.
            moment: it is an instant.
        """
        if self._known >= MOST_NAMES:
            self._forget_names()
        kind = b"\x48\x03\x58" if moment else b"\x48\x01\x58"
        parts = [kind, _number(track), b"\x50", self._iid(_NAMES, name)]
        if category is not None:
            parts += (b"\x18", self._iid(_CATEGORIES, category))
        for key, value in arguments:
            if value is not None:
                body = b"\x08" + self._iid(_ARGUMENTS, key) + self._value(value)
                parts += (b"\x22", _SMALL[len(body)], body)
        for flow in flows:
            parts += (_FLOW, struct.pack("<Q", flow))
        self._event(at_ns, b"".join(parts))

    def end(self, track: int, at_ns: int) -> None:
        """End the slice of a track that was begun last."""
        event = self._ends.get(track)
        if event is None:
            event = self._ends[track] = field(9, 2) + field(11, track)
        self._event(at_ns, event)

    def count(self, track: int, at_ns: int, value: float) -> None:
        """Set the value of a counter from a time on."""
        self._event(at_ns, b"\x48\x04\x58" + _number(track) + _VALUE + struct.pack("<d", value))

    def flush(self) -> None:
        """Pass on what is left."""
        self._write(b"".join(self._chunk))
        self._chunk.clear()

    def _event(self, at_ns: int, event: bytes) -> None:
        top = at_ns >> 28
        if top != self._top:
            self._top, self._top_text = top, varint(top)
        # A time always takes at least five bytes: varints may have leading zeros.
        self._add(
            b"\x40" + _MORE[at_ns & 16383] + _MORE[at_ns >> 14 & 16383] + self._top_text
            + b"\x50\x01\x68\x02\x5a" + _number(len(event)) + event
        )  # fmt: skip

    def _add(self, packet: bytes) -> None:
        self._chunk.append(b"\x0a" + _number(len(packet)) + packet)
        if len(self._chunk) >= _CHUNK:
            self.flush()

    def _value(self, value: str | int | float | bool) -> bytes:
        if isinstance(value, str):
            return b"\x88\x01" + self._iid(_STRINGS, value)
        if isinstance(value, bool):
            return b"\x10" + _SMALL[value]
        if isinstance(value, int):
            return b"\x20" + _number(value if value >= 0 else value + (1 << 64))
        return b"\x29" + struct.pack("<d", value)

    def _iid(self, table: int, text: str) -> bytes:
        """Return the encoded number of a text, preceded by the text itself if it is new."""
        known = self._tables[table]
        number = known.get(text)
        if number is None:
            self._known += 1
            number = known[text] = varint(len(known) + 1)
            entry = b"\x08" + number + field(2, _text(text))
            self._add(b"\x50\x01\x68\x02" + field(12, field(table, entry)))
        return number

    def _forget_names(self) -> None:
        self._tables = {table: {} for table in (_CATEGORIES, _NAMES, _ARGUMENTS, _STRINGS)}
        self._known = 0
        # The sequence's state is cleared here; the first packet says that there was none before.
        self._add(b"\x50\x01\x68\x01" + (b"" if self._tracks else field(87, 1)))


def _text(text: str) -> bytes:
    return printable(text).encode()
