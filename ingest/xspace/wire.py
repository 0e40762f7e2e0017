"""Protobuf's wire format: fields of messages in a file or in bytes, without a schema and without loading the message.

A message is a sequence of fields: a key (number << 3 | wire type) and a value. Wire type 0 is a varint, 1 eight bytes,
2 a length and so many bytes, 5 four bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5
#: Maximum bytes of a varint.
LONGEST = 10
#: Bytes of a file read at once to find its fields.
_WINDOW = 64 << 10
_MASK = (1 << 64) - 1


class WireError(ValueError):
    """Bytes that are not fields of a message."""


@dataclass(frozen=True)
class Field:
    """A field of a message.

    Attributes:
        number: its field number.
        wire: its wire type.
        value: a varint, or the bits of four or eight bytes; 0 for bytes.
        start: where its bytes begin.
        end: where the field ends, even if beyond the message.
    """

    number: int
    wire: int
    value: int
    start: int
    end: int


class Bytes:
    """A file with random access, buffered in part."""

    def __init__(self, descriptor: int, size: int) -> None:
        """Read the file behind a descriptor, which has `size` bytes."""
        self._descriptor = descriptor
        self.size = size
        self._window, self._from = b"", 0

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes in [start, end), fewer at the end of the file."""
        parts = []
        while start < end and (part := os.pread(self._descriptor, min(end - start, 64 << 20), start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def fields(self, start: int, end: int) -> Iterator[Field]:
        """Yield the fields of the message in [start, end); only the last may end beyond it.

        Raises:
            WireError: what comes next is not a field.
        """
        while start < end:
            near = self._near(start)
            field = field_at(near, start - self._from, self._from)
            yield field
            start = field.end

    def _near(self, start: int) -> bytes:
        """Return bytes that hold a field's key and value at `start`."""
        if not self._from <= start <= self._from + len(self._window) - 2 * LONGEST:
            self._window, self._from = self.read(start, start + _WINDOW), start
        return self._window


def varint_at(data: bytes, at: int) -> tuple[int, int]:
    """Return the varint at a position and the position after it.

    Raises:
        WireError: it is unterminated.
    """
    value = shift = 0
    for place in range(at, min(at + LONGEST, len(data))):
        byte = data[place]
        value |= (byte & 127) << shift
        if byte < 128:
            return value & _MASK, place + 1
        shift += 7
    raise WireError("a number does not end")


def field_at(data: bytes, at: int, offset: int = 0) -> Field:
    """Return the field at a position of `data`, which itself is at an offset.

    Raises:
        WireError: there is no field.
    """
    key, at = varint_at(data, at)
    number, wire = key >> 3, key & 7
    if not number:
        raise WireError("a field without a number")
    if wire == VARINT:
        value, end = varint_at(data, at)
        return Field(number, wire, value, end + offset, end + offset)
    if wire == BYTES:
        length, at = varint_at(data, at)
        return Field(number, wire, 0, at + offset, at + length + offset)
    if wire in (EIGHT, FOUR):
        end = at + (8 if wire == EIGHT else 4)
        if end > len(data):
            raise WireError("a number does not end")
        return Field(number, wire, int.from_bytes(data[at:end], "little"), at + offset, end + offset)
    raise WireError(f"a field of the unknown type {wire}")


def fields_of(data: bytes) -> Iterator[tuple[Field, bytes]]:
    """Yield the fields of a message, each with its bytes, which are empty for numbers.

    Raises:
        WireError: what comes next is not a whole field.
    """
    at = 0
    while at < len(data):
        field = field_at(data, at)
        if field.end > len(data):
            raise WireError("a text does not end")
        yield field, data[field.start : field.end] if field.wire == BYTES else b""
        at = field.end


def signed(value: int) -> int:
    """Return the number encoded by an int64 varint."""
    return value - (1 << 64) if value >> 63 else value
