"""Cutting the event array into pieces, each from the start of an event to the end of one.

Most files separate all events alike, so the last separator in a slot is the place to cut. That is a guess: nested
arrays and strings may hold the same bytes. The parser proves it right or wrong; `push_back` takes a wrong one back.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ..engine.errors import InputError
from . import scan
from .parse import FORMAT_KEYS, Dialect, sample_events
from .slots import Slot
from .source import Source

#: Bytes read first: they hold the header, and what they teach about the file holds for the rest.
FIRST_BYTES = 1 << 20
#: Bytes looked at in every piece for keys and number formats.
_SAMPLE_BYTES = 64 << 10
#: Bytes searched for the event array, and kept of what stands after it.
_HEADER_LIMIT = 64 << 20
#: An event longer than this is taken for damage.
EVENT_LIMIT = 64 << 20
_SEPARATORS = 8
#: How a JSON text in UTF-16 begins, with a byte order mark or without.
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"[\0", b"\0{", b"\0[")
#: What an element that is no bare number or word ends in.
_LAST_BYTES = (b"}", b"]", b'"')
_LEADING_COMMA = re.compile(rb"\s*,")
_FIRST_KEY = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:')


@dataclass
class Cutter:
    """Takes bytes from a source and puts pieces of the event array into slots.

    Attributes:
        source: the bytes.
        dialect: what is learnt of the file on the way.
        header: text before the event array.
        trailer: text after the event array, None until its end is found.
        partial: an event that the end of the file cuts off.
        bare: the file is an array with no object around it.
    """

    source: Source
    dialect: Dialect
    header: bytes = b""
    trailer: bytes | None = None
    partial: bytes = b""
    bare: bool = False
    separators: dict[bytes, None] = field(default_factory=dict)
    _carry: bytes = b""
    _exhausted: bool = False

    @property
    def done(self) -> bool:
        """Whether no piece is left."""
        return self.trailer is not None or (self._exhausted and not self._carry)

    @property
    def truncated(self) -> bool:
        """Whether the file ended before the event array did; known when `done`."""
        return self.trailer is None

    def open(self) -> None:
        """Read up to the event array.

        Raises:
            InputError: the file is no trace.
        """
        text, size = b"", FIRST_BYTES
        found = scan.Header(None, [], bare=False)
        while found.start is None and len(text) < _HEADER_LIMIT and not self._exhausted:
            more = self.source.read(size)
            self._exhausted = len(more) < size
            if not text:
                more = more.removeprefix(b"\xef\xbb\xbf")
                self._check_beginning(more)
            text += more
            size = len(text)
            found = scan.header(text)
        if found.start is None:
            raise InputError(f"{self.source.name}: not a trace: {self._why_not(text, found.keys)}")
        self.header, self._carry, self.bare = text[: found.start - 1], text[found.start :], found.bare
        if "schemaVersion" not in found.keys:
            self.dialect.extra_keys |= dict.fromkeys(FORMAT_KEYS)

    def fill(self, slot: Slot, size: int) -> int | None:
        """Put the next piece of about `size` bytes into a slot, close it and return its end; None at the end."""
        slot.unseal()
        if size + 2 > slot.size:
            slot.grow(size + 2)
        begun, self._carry = self._carry[: slot.size - 2], self._carry[slot.size - 2 :]
        slot.put(1, begun)
        filled = self._read(slot, 1 + len(begun), size)
        beginning = slot.copy(1, min(filled, _SAMPLE_BYTES))
        if comma := _LEADING_COMMA.match(beginning):
            slot.put(comma.end(), b" ")
        self._learn(beginning[comma.end() if comma else 0 :])
        end = self._last(slot, filled) if self._exhausted and not self._carry else self._cut(slot, filled, size)
        if not slot.copy(1, min(end, 4096)).strip() and not slot.copy(1, end).strip():
            return None
        slot.seal(end)
        return end

    def push_back(self, text: bytes) -> None:
        """Take back bytes of pieces that were cut wrongly."""
        if text and self.trailer is not None:
            text, self.trailer = text + b"]" + self.trailer, None
        self._carry = text + self._carry

    def end_at(self, rest: bytes) -> None:
        """Say that the array has ended and `rest` is what follows; the source is kept from there."""
        rest += self._carry
        if self.trailer is not None:
            rest += b"]" + self.trailer
        self._carry = b""
        while not self._exhausted and len(rest) < _HEADER_LIMIT:
            more = self.source.read(FIRST_BYTES)
            self._exhausted = len(more) < FIRST_BYTES
            rest += more
        self.trailer = rest

    def metadata(self) -> tuple[dict[str, object], bool]:
        """Return the keys of the object around the array, and whether the text around it is whole."""
        if self.bare:
            return {}, self.trailer is not None and not self.trailer.strip()
        for trailer in (self.trailer, b"}"):
            try:
                found = _parsed(self.header + b"[]" + (trailer or b""))
            except (ValueError, RecursionError):
                continue
            return found, trailer is self.trailer
        return {}, False

    def _read(self, slot: Slot, filled: int, size: int) -> int:
        limit = min(max(size, filled), slot.size - 1)
        if self._carry:
            return filled
        view = slot.view(0, slot.size)
        try:
            while filled < limit and not self._exhausted:
                count = self.source.readinto(view[filled:limit])
                self._exhausted = count == 0
                filled += count
        finally:
            view.release()
        return filled

    def _cut(self, slot: Slot, filled: int, size: int) -> int:
        """Cut at the last separator; where there is none, look carefully, and take more bytes where that fails too."""
        cut = 1 + max((slot.find_last(separator, filled) for separator in self.separators), default=-1)
        if cut > 1:
            self._carry = slot.copy(cut, filled) + self._carry
            return cut
        text = slot.copy(1, filled)
        found = scan.elements(text)
        if found.end is not None:
            self.end_at(text[found.end + 1 :])
            return 1 + found.end
        # A number at the very end may go on in the bytes to come.
        ends = [end for _, end in found.spans if end < len(text) or text.endswith(_LAST_BYTES)]
        if ends:
            end = ends[-1]
            self._carry = text[end:] + self._carry
            return 1 + end
        if filled >= EVENT_LIMIT:
            return filled
        slot.grow(max(slot.size, 2 * filled))
        taken, self._carry = self._carry[: slot.size - 1 - filled], self._carry[slot.size - 1 - filled :]
        slot.put(filled, taken)
        filled = self._read(slot, filled + len(taken), 2 * max(size, filled))
        return self._last(slot, filled) if self._exhausted and not self._carry else self._cut(slot, filled, size)

    def _last(self, slot: Slot, filled: int) -> int:
        """Find the end of the array in the last bytes of the file, looking from the last separator on."""
        start = 1 + max((slot.find_last(separator, filled) for separator in self.separators), default=0)
        for begin in dict.fromkeys((start, 1)):
            text = slot.copy(begin, filled)
            found = scan.elements(text)
            if found.end is not None and self._closes(text[found.end + 1 :]):
                self.end_at(text[found.end + 1 :])
                return begin + found.end
        if found.end is not None:
            self.end_at(text[found.end + 1 :])
            return 1 + found.end
        self.partial = text[found.rest :]
        return 1 + (found.spans[-1][1] if found.spans else 0)

    def _closes(self, rest: bytes) -> bool:
        """Whether what follows a bracket is what follows the event array."""
        if self.bare:
            return not rest.strip()
        try:
            _parsed(b'{"traceEvents":[]' + rest)
        except (ValueError, RecursionError):
            return False
        return True

    def _learn(self, beginning: bytes) -> None:
        found = scan.elements(beginning)
        texts = [beginning[start:end] for start, end in found.spans]
        self.dialect.learn(sample_events(texts))
        for (_, end), (start, _) in zip(found.spans, found.spans[1:], strict=False):
            key = _FIRST_KEY.match(beginning, start)
            if key and len(self.separators) < _SEPARATORS:
                self.separators[b"}" + beginning[end : key.end()]] = None

    def _check_beginning(self, text: bytes) -> None:
        name = self.source.name
        if not text.strip():
            why = f" ({self.source.cut_short})" if self.source.cut_short else ""
            raise InputError(f"{name}: empty{why}. Expected a trace: JSON with an array of events.")
        if text[:2] in _UTF16:
            raise InputError(f"{name}: UTF-16 text; expected UTF-8. Convert it: iconv -f utf-16 -t utf-8.")
        if text.lstrip()[:1] not in (b"{", b"["):
            kind = "binary data" if b"\0" in text[:4096] else f"text beginning {text[:20].decode('utf-8', 'replace')!r}"
            raise InputError(f"{name}: not a trace: expected JSON beginning with {{ or [, found {kind}.")

    def _why_not(self, text: bytes, keys: list[str]) -> str:
        shown = ", ".join(list(dict.fromkeys(keys))[:8]) or "none"
        if self.source.cut_short:
            return f"no events in the {len(text)} bytes that could be read ({self.source.cut_short})."
        if not self._exhausted:
            return f'no "traceEvents" array in the first {_HEADER_LIMIT >> 20} MiB (keys: {shown}).'
        reason = f'the top level is an object without a "traceEvents" array (keys: {shown}).'
        if {"nodes", "schema"} <= set(keys):
            reason += "\n  An execution trace (Chakra) looks like this; tracelake reads profiler traces."
        return reason


def _parsed(text: bytes) -> Any:
    return json.loads(text.decode("utf-8", "replace"), strict=False)
