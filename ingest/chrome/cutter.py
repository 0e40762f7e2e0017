"""Cuts the arrays of events into pieces, each from the start of an event to the end of one.

Most files separate all events in the same way, so the last separator in a slot is where to cut. This is a guess:
nested arrays and strings may contain the same bytes. The parser confirms it; `push_back` undoes a wrong cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from ...engine.errors import InputError
from ...engine.secrets import redact
from ..describe import KEPT_KEYS
from ..slots import Slot
from ..source import Source
from . import frames, scan
from .outline import Outline
from .parse import EVENT_KEYS, FORMAT_KEYS, Dialect, sample_events

#: Bytes read at first to find the event array, and per read of what follows it.
FIRST_BYTES = 1 << 20
#: Bytes sampled in every piece for keys and number formats; more until the separator of events is known.
_SAMPLE_BYTES, _FIRST_SAMPLE_BYTES = 16 << 10, 64 << 10
#: Bytes searched for the event array.
_HEADER_LIMIT = 64 << 20
#: A longer event is treated as damage.
EVENT_LIMIT = 64 << 20
#: A part smaller than this fraction of a piece does not become a piece of its own.
_SMALL_PART = 8
#: Number of separators to look for, and maximum bytes of one: a backward search costs its length at near matches.
_SEPARATORS = 8
_SEPARATOR_BYTES = 64
#: The possible first bytes of JSON text in UTF-32, and after these in UTF-16, with or without a byte order mark.
_UTF32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"{\0\0\0", b"[\0\0\0", b"\0\0\0{", b"\0\0\0[")
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"[\0", b"\0{", b"\0[")
_BETWEEN = re.compile(rb"[ \t\n\r,]*+")
_FIRST_KEY = re.compile(rb'\{\s*+"[^"\\]*+"\s*+:')


@dataclass
class Cutter:
    """Takes bytes from a source and puts pieces of the arrays of events into slots.

    Attributes:
        source: the bytes.
        dialect: what is learnt about the file on the way.
        outline: parses what surrounds the arrays.
        partial: an event truncated by the end of the file.
        ended: the array has ended, and what follows has not been read yet; `go_on` does so.
        lead: the text between the latest piece and the previous one, which is blank in its slot.
        between: the latest piece ends between two elements or at the bracket, not at an arbitrary byte.
    """

    source: Source
    dialect: Dialect
    outline: Outline = field(default_factory=lambda: Outline(KEPT_KEYS))
    partial: bytes = b""
    ended: bool = False
    lead: bytes = b""
    between: bool = False
    separators: dict[bytes, None] = field(default_factory=dict)
    _carry: bytes = b""
    #: Text in place of pieces that were blank, which are not returned.
    _blank: bytes = b""
    _exhausted: bool = False
    _careful: bool = False
    _beyond: int = 0
    _over: bool = False

    @property
    def done(self) -> bool:
        """Whether no piece of this array is left."""
        return self.ended or self._over or (self._exhausted and not self._carry)

    @property
    def truncated(self) -> bool:
        """Whether the file ended before the event array did; known only at the end."""
        return not self._over

    def open(self) -> None:
        """Read up to the event array.

        Raises:
            InputError: the file is not a trace.
        """
        seen = 0
        begins = None
        while begins is None and seen < _HEADER_LIMIT and not self._exhausted:
            text = self.source.read(FIRST_BYTES)
            self._exhausted = len(text) < FIRST_BYTES
            if not seen:
                text = text.removeprefix(b"\xef\xbb\xbf")
                self._check_beginning(text)
            seen += len(text)
            begins = self.outline.feed(text)
        if begins is None:
            raise InputError(f"{self.source.name}: not a trace: {self._why_not(seen)}")
        self._carry = text[begins:]
        if "schemaVersion" not in self.outline.names:
            self.dialect.extra_keys |= dict.fromkeys(FORMAT_KEYS)

    def fill(self, slot: Slot, size: int) -> int | None:
        """Put the next piece of about `size` bytes into a slot, seal it and return its end; None if it is blank."""
        slot.unseal()
        room = slot.start + 1
        if size + room > slot.size:
            slot.grow(size + room)
        begun, self._carry = self._carry[: slot.size - room], self._carry[slot.size - room :]
        slot.put(slot.start, begun)
        filled = self._read(slot, slot.start + len(begun), slot.start + size)
        begin = slot.match_end(_BETWEEN, filled)
        self.lead, self._blank = self._blank + slot.copy(slot.start, begin), b""
        if begin == filled:
            self._blank = b"," if b"," in self.lead else b" "
            return None
        slot.put(slot.start, b" " * (begin - slot.start))
        sample = _SAMPLE_BYTES if self.separators else _FIRST_SAMPLE_BYTES
        self._learn(slot.copy(begin, min(filled, begin + sample)))
        self.between = True
        end = self._part(slot, filled)
        if end is None:
            end = self._last(slot, filled) if self._exhausted and not self._carry else self._cut(slot, filled)
        self._beyond = 0
        if begin >= end:
            return None
        slot.seal(end)
        return end

    def push_back(self, text: bytes, beyond: int = 0) -> None:
        """Take back the bytes of wrongly cut pieces; from now on the end of the array is searched for carefully.

        Args:
            text: the bytes.
            beyond: how many of them contain no whole element: the next cut is after them.
        """
        self._beyond = beyond
        if text and self.ended:
            text, self.ended = text + b"]", False
        self._careful = True
        self._carry, self._blank = text + self._blank + self._carry, b""

    def end_at(self, rest: bytes, *, closed: bool = True) -> None:
        """Record that the array has ended and that `rest` follows; its bracket may be missing."""
        if self.ended:
            rest += b"]"
        self._carry, self._blank = rest + self._blank + self._carry, b""
        self.ended = True
        self._careful = False
        self.outline.end_array(closed=closed)

    def go_on(self) -> None:
        """Read what follows an array that has ended, up to another array of events or the end of the file."""
        text, self._carry = self._carry, b""
        while (begins := self.outline.feed(text)) is None and not self._exhausted:
            text = self.source.read(FIRST_BYTES)
            self._exhausted = len(text) < FIRST_BYTES
        self.ended = False
        if begins is None:
            self._over = True
        else:
            self._carry = text[begins:]

    def _read(self, slot: Slot, filled: int, limit: int) -> int:
        limit = min(max(limit, filled), slot.size - 1)
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

    def _part(self, slot: Slot, filled: int) -> int | None:
        """Cut where frames begin or end, so that they form separate pieces; not for a small part of a piece."""
        if self._careful or self._beyond:
            return None
        cut = frames.border(slot, filled, self.separators)
        if cut is None or cut - slot.start < (filled - slot.start) // _SMALL_PART:
            return None
        self._carry = slot.copy(cut, filled) + self._carry
        return cut

    def _cut(self, slot: Slot, filled: int) -> int:
        """Cut at the last separator; without one, scan carefully, and read more bytes if that fails too."""
        while True:
            cut = 1 + max((slot.find_last(separator, filled) for separator in self.separators), default=-1)
            if cut > slot.start + self._beyond:
                self._carry = slot.copy(cut, filled) + self._carry
                return cut
            text = slot.copy(slot.start, filled)
            found = scan.elements(text, bare=self.outline.bare)
            if found.end is not None:
                self.end_at(text[found.end + 1 :])
                return slot.start + found.end
            if found.rest == len(text) or found.faults:
                # Damaged text is not cut: less of it might look like an unfinished event.
                return self._uncut(filled)
            end = slot.start + (found.spans[-1][1] if found.spans else 0)
            if end > slot.start + self._beyond:
                self._carry = slot.copy(end, filled) + self._carry
                return end
            if filled - slot.start >= EVENT_LIMIT:
                return self._uncut(filled)
            slot.grow(max(slot.size, 2 * filled))
            taken, self._carry = self._carry[: slot.size - 1 - filled], self._carry[slot.size - 1 - filled :]
            slot.put(filled, taken)
            filled = self._read(slot, filled + len(taken), slot.size)
            if self._exhausted and not self._carry:
                return self._last(slot, filled)

    def _last(self, slot: Slot, filled: int) -> int:
        """Find the end of the array in the last bytes of the file, starting at the last separator."""
        if self._careful:
            return self._uncut(filled)
        last = 1 + max((slot.find_last(separator, filled) for separator in self.separators), default=-1)
        for begin in dict.fromkeys((last or slot.start, slot.start)):
            text = slot.copy(begin, filled)
            found = scan.elements(text, final=True, bare=self.outline.bare)
            if found.faults:
                continue
            if found.end is not None and found.closed:
                self.end_at(text[found.end + 1 :])
                return begin + found.end
            if begin == slot.start and found.end is None:
                return self._cut_off(text, found, begin)
        # Damage: the parser will find it, and recovery is decided then.
        return self._uncut(filled)

    def _uncut(self, filled: int) -> int:
        """Return the end of the available bytes, wherever it is."""
        self.between = False
        return filled

    def _cut_off(self, text: bytes, found: scan.Elements, begin: int) -> int:
        """Return the end of the last whole event in a file that ends inside its array."""
        whole = found.spans
        if found.rest == len(text) and whole and not self._may_be_event(text[slice(*whole[-1])]):
            # Both the event's bracket and the array's are missing, so keys around the array were taken for the event's.
            whole, found.rest = whole[:-1], whole[-1][0]
        self.partial = text[found.rest :]
        return begin + (whole[-1][1] if whole else 0)

    def _may_be_event(self, text: bytes) -> bool:
        return all(event.keys() <= EVENT_KEYS for event in sample_events([text]))

    def _learn(self, beginning: bytes) -> None:
        found = scan.elements(beginning)
        whole = [span for nth, span in enumerate(found.spans) if nth not in found.faults]
        self.dialect.learn(sample_events([beginning[start:end] for start, end in whole]))
        for (_, end), (start, _) in pairwise(whole):
            key = _FIRST_KEY.match(beginning, start)
            if (
                key
                and key.end() - end < _SEPARATOR_BYTES
                and _BETWEEN.fullmatch(beginning, end, start)
                and len(self.separators) < _SEPARATORS
            ):
                self.separators[b"}" + beginning[end : key.end()]] = None

    def _check_beginning(self, text: bytes) -> None:
        name = self.source.name
        if not text.strip():
            what = f"no text could be read: {self.source.cut_short}" if self.source.cut_short else "empty"
            raise InputError(f"{name}: {what}. Expected a trace: JSON with an array of events.")
        if bits := 32 if text[:4] in _UTF32 else 16 if text[:2] in _UTF16 else 0:
            raise InputError(f"{name}: UTF-{bits} text; expected UTF-8. Convert it: iconv -f utf-{bits} -t utf-8.")
        if text.lstrip()[:1] not in (b"{", b"["):
            kind = (
                "binary data"
                if b"\0" in text[:4096]
                else f"text beginning {redact(text[:4096].decode('utf-8', 'replace'))[:20]!r}"
            )
            raise InputError(f"{name}: not a trace: expected JSON beginning with {{ or [, found {kind}.")

    def _why_not(self, seen: int) -> str:
        keys = self.outline.names
        shown = ", ".join(list(dict.fromkeys(keys))[:8]) or "none"
        if self.source.cut_short:
            return f"no events in the {seen} bytes that could be read ({self.source.cut_short})."
        if not self._exhausted:
            return f'no "traceEvents" array in the first {_HEADER_LIMIT >> 20} MiB (keys: {shown}).'
        reason = f'the top level is an object without a "traceEvents" array (keys: {shown}).'
        if {"nodes", "schema"} <= set(keys):
            reason += "\n  An execution trace (Chakra) looks like this; tracelake reads profiler traces."
        return reason
