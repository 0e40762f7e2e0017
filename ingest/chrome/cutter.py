"""Cutting the arrays of events into pieces, each from the start of an event to the end of one.

Most files separate all events alike, so the last separator in a slot is the place to cut. That is a guess: nested
arrays and strings may hold the same bytes. The parser proves it right or wrong; `push_back` takes a wrong one back.
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

#: Bytes looked at first for the event array, and at once for what follows it.
FIRST_BYTES = 1 << 20
#: Bytes looked at in every piece for keys and number formats; more until they have shown what separates two events.
_SAMPLE_BYTES, _FIRST_SAMPLE_BYTES = 16 << 10, 64 << 10
#: Bytes searched for the event array.
_HEADER_LIMIT = 64 << 20
#: An event longer than this is taken for damage.
EVENT_LIMIT = 64 << 20
#: Less than this part of a piece is not worth one of its own.
_SMALL_PART = 8
#: Separators to look for, and bytes of one: looking backwards for a text costs its length where it nearly fits.
_SEPARATORS = 8
_SEPARATOR_BYTES = 64
#: How a JSON text in UTF-16 begins, with a byte order mark or without.
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"[\0", b"\0{", b"\0[")
_BETWEEN = re.compile(rb"[ \t\n\r,]*+")
_FIRST_KEY = re.compile(rb'\{\s*+"[^"\\]*+"\s*+:')


@dataclass
class Cutter:
    """Takes bytes from a source and puts pieces of the arrays of events into slots.

    Attributes:
        source: the bytes.
        dialect: what is learnt of the file on the way.
        outline: what stands around the arrays.
        partial: an event that the end of the file cuts off.
        ended: the array has ended, and what follows it is not looked at yet: `go_on` does.
        lead: what stood between the latest piece and the one before, and is blank in its slot.
        between: the latest piece ends between two elements or at the bracket, not where the bytes at hand do.
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
    #: What stands for pieces that were blank: no piece has them.
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
        """Whether the file ended before the event array did; known at the end."""
        return not self._over

    def open(self) -> None:
        """Read up to the event array.

        Raises:
            InputError: the file is no trace.
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
        """Put the next piece of about `size` bytes into a slot, close it and return its end; None where it is blank."""
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
        """Take back bytes of pieces that were cut wrongly; from now on the end of the array is looked for with care.

        Args:
            text: the bytes.
            beyond: how many of them hold no whole element: the next cut is behind them.
        """
        self._beyond = beyond
        if text and self.ended:
            text, self.ended = text + b"]", False
        self._careful = True
        self._carry, self._blank = text + self._blank + self._carry, b""

    def end_at(self, rest: bytes, *, closed: bool = True) -> None:
        """Say that the array has ended and `rest` is what follows; its bracket may be lost."""
        if self.ended:
            rest += b"]"
        self._carry, self._blank = rest + self._blank + self._carry, b""
        self.ended = True
        self._careful = False
        self.outline.end_array(closed=closed)

    def go_on(self) -> None:
        """Look at what follows the array that has ended, up to a further array of events or the end of the file."""
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
        """Cut where frames begin or end, so that they are pieces of their own; not for a small part of a piece."""
        if self._careful or self._beyond:
            return None
        cut = frames.border(slot, filled, self.separators)
        if cut is None or cut - slot.start < (filled - slot.start) // _SMALL_PART:
            return None
        self._carry = slot.copy(cut, filled) + self._carry
        return cut

    def _cut(self, slot: Slot, filled: int) -> int:
        """Cut at the last separator; without one, look carefully, and take more bytes where that fails too."""
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
                # What is damaged is not cut: less text might look like an event that goes on.
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
        """Find the end of the array in the last bytes of the file, looking from the last separator on."""
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
        # Damage, which the parser finds: what is to be done is decided then.
        return self._uncut(filled)

    def _uncut(self, filled: int) -> int:
        """Return the end of the bytes at hand, wherever it is."""
        self.between = False
        return filled

    def _cut_off(self, text: bytes, found: scan.Elements, begin: int) -> int:
        """Return where whole events end in a file that ends inside its array."""
        whole = found.spans
        if found.rest == len(text) and whole and not self._may_be_event(text[slice(*whole[-1])]):
            # The bracket of the event is lost with that of the array, and keys around the array became the event's.
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
        if text[:2] in _UTF16:
            raise InputError(f"{name}: UTF-16 text; expected UTF-8. Convert it: iconv -f utf-16 -t utf-8.")
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
