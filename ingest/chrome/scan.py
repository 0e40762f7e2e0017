"""Exact structure of JSON text: where elements are, where the syntax breaks, and where the next event begins.

This is the careful way through a file: some 50 MB/s, compared with 700 MB/s of the parser. The reader uses it for the
few bytes around the event array, and where a piece of the array did not parse. It finds damage by the syntax
of objects and arrays; the values between the brackets are left to the parser.
"""

from __future__ import annotations

import enum
import re
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field

from .outline import ARRAY, Documents

# Strings and white space may be megabytes long: possessive repeats keep the regex engine from storing backtracking
# state, and from retrying a failed token at each of its bytes.
_SPACE = rb"[ \t\n\r]*+"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SCALAR = rb'[^ \t\n\r"{}\[\],:]++'
#: White space and a string, a bracket, comma or colon, a run of anything else, or an unclosed quote; or the end.
TOKEN = re.compile(rb"%s(?:(%s)|([{}\[\],:])|(%s)|(\")|\Z)" % (_SPACE, _STRING, _SCALAR), re.DOTALL)
STRING_TOKEN, MARK, QUOTE = 1, 2, 4
# Members with plain values, and plain items of an array, each with the comma after it: many tokens in one step. Arrays
# of plain values, arrays of those, and objects of all these are plain here.
_PLAIN = rb"(?:%s|%s)" % (_STRING, _SCALAR)
_ROW = rb"(?:%s|\[%s(?:%s%s(?:,%s(?!\])|(?=\])))*+\])" % (_PLAIN, _SPACE, _PLAIN, _SPACE, _SPACE)
_TABLE = rb"(?:%s|\[%s(?:%s%s(?:,%s(?!\])|(?=\])))*+\])" % (_PLAIN, _SPACE, _ROW, _SPACE, _SPACE)
_OBJECT = rb"\{%s(?:%s%s:%s%%s%s(?:,%s(?!\})|(?=\})))*+\}" % (_SPACE, _STRING, _SPACE, _SPACE, _SPACE, _SPACE)
_FLAT = rb"(?:%s|%s)" % (_TABLE, _OBJECT % _TABLE)
#: The shape of most events.
_EVENT = re.compile(_OBJECT % _FLAT, re.DOTALL)
_MEMBERS = re.compile(rb"(?:%s%s%s:%s%s%s,)*+" % (_SPACE, _STRING, _SPACE, _SPACE, _FLAT, _SPACE), re.DOTALL)
_ITEMS = re.compile(rb"(?:%s%s%s,)*+" % (_SPACE, _TABLE, _SPACE), re.DOTALL)
_BLANK = re.compile(_SPACE)
_BETWEEN = re.compile(rb"[ \t\n\r,]*+")
#: The beginning of an event.
_BEGIN = re.compile(rb'\{%s"[^"\\]{1,64}+"%s:' % (_SPACE, _SPACE))
#: Bytes inspected before a brace: after a colon it begins a value and not an event.
_BEFORE = 256
#: Maximum bytes scanned in vain in search of the next event, as a multiple of the text.
_TRIES = 8
_COMMA, _COLON, _OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b",:{}[]"
#: Bytes of a damaged element searched at first for the end of its brackets.
_WINDOW = 4096


class Outcome(enum.Enum):
    """How the scan of an element ended."""

    WHOLE = enum.auto()
    OPEN = enum.auto()
    FAULT = enum.auto()


#: What the syntax expects next: a value, or the end of an array; a key, or the end of an object; a colon; a comma, or
#: the end of either.
VALUE, KEY, COLON, COMMA = range(4)


def element(  # noqa: C901 - one state machine
    text: bytes, start: int, opened: array[int] | None = None, *, around: int = 0, want: int = VALUE
) -> tuple[Outcome, int]:
    """Scan the element that begins at `start`; or, given the bracket around it, to the end of that one.

    Args:
        text: contains the element.
        start: the offset to start at.
        opened: an empty array; receives the offsets from `start` on of the brackets that are open where the scan stops.
        around: a bracket that is open at `start`, 0 for none.
        want: what the syntax expects at `start`.

    Returns:
        WHOLE and its end; FAULT and the offset of the error; OPEN and the text's length if the text ends inside.
    """
    if not around and (match := _EVENT.match(text, start)):
        return Outcome.WHOLE, match.end()
    opened = array("q") if opened is None else opened
    inside = around
    token, members, items = TOKEN.match, _MEMBERS.match, _ITEMS.match
    at = start
    while True:
        if want == KEY:
            match = members(text, at)
            at = match.end() if match else at
        elif want == VALUE and inside == _OPEN_ARRAY:
            match = items(text, at)
            at = match.end() if match else at
        match = token(text, at)
        kind = match.lastindex if match else None
        if match is None or kind is None or kind == QUOTE:
            return Outcome.OPEN, len(text)
        at = match.end()
        if kind != MARK:
            if want == VALUE:
                want = COMMA
            elif want == KEY and kind == STRING_TOKEN:
                want = COLON
                continue
            else:
                return Outcome.FAULT, match.start(kind)
        else:
            mark = text[at - 1]
            if mark == _COMMA and want == COMMA:
                want = KEY if inside == _OPEN_OBJECT else VALUE
                continue
            if mark == _COLON and want == COLON:
                want = VALUE
                continue
            if mark in (_OPEN_OBJECT, _OPEN_ARRAY) and want == VALUE:
                opened.append(at - 1)
                inside = mark
                want = KEY if mark == _OPEN_OBJECT else VALUE
                continue
            if not (
                (mark == _CLOSE_OBJECT and inside == _OPEN_OBJECT and want in (KEY, COMMA))
                or (mark == _CLOSE_ARRAY and inside == _OPEN_ARRAY)
            ):
                return Outcome.FAULT, at - 1
            if opened:
                opened.pop()
                inside = text[opened[-1]] if opened else around
            else:
                inside = 0
            want = COMMA
        if not inside:
            return Outcome.WHOLE, at


@dataclass
class Elements:
    """Result of a careful scan of the inside of an array.

    Attributes:
        spans: [start, end) of each whole element, and of each damaged text between them, in order.
        faults: for each damaged text, by its index in `spans`, the offset of the syntax error from its start.
        rest: offset of an element that the text ends in; the text's length if it ends between elements.
        end: offset of the bracket that closes the array, None if the text does not contain it.
        closed: the bracket is there. If it is missing, `end` is where what follows the array begins.
        skipped: bytes of damaged text with unbalanced brackets, so that its events cannot be separated.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    faults: dict[int, int] = field(default_factory=dict)
    rest: int = 0
    end: int | None = None
    closed: bool = True
    skipped: int = 0


def elements(text: bytes, *, final: bool = False, between: bool = False, bare: bool = False) -> Elements:
    """Split the inside of a JSON array, given from the start of an element, into its elements.

    Damaged text extends to the next whole event. The bytes scanned are at most a fixed multiple of the text.

    Args:
        text: the inside of the array, and what follows it.
        final: no more text follows, so open brackets stay open.
        between: the text ends between two elements, so a number at its end is complete.
        bare: the array is the whole file, with no object around it.
    """
    return _Walk(text, final=final, between=between, bare=bare).elements()


class _Walk:
    """The state of `elements`."""

    def __init__(self, text: bytes, *, final: bool, between: bool, bare: bool) -> None:
        self.text, self.final, self.between, self.bare = text, final, between, bare
        self.found = Elements(rest=len(text))
        self.spare = _TRIES * len(text)
        #: Empty, except while an element is scanned.
        self.opened = array("q")
        self.documents = Documents(text)
        #: The furthest failed scan: the brackets open where it stopped, and its outcome and offset.
        self.vain = array("q"), Outcome.FAULT, 0

    def elements(self) -> Elements:
        text, found, at = self.text, self.found, 0
        while True:
            at = _end(_BETWEEN, text, at)
            if at == len(text):
                return found
            if text[at] == _CLOSE_ARRAY:
                ends = self._ends(at)
                if ends is None:
                    found.rest = at
                    return found
                if ends:
                    found.rest = found.end = at
                    return found
                outcome, end = Outcome.FAULT, at
            elif self.documents.begins(at):
                self._unclosed(at)
                return found
            else:
                outcome, end = self._one(at)
            if outcome is Outcome.WHOLE:
                found.spans.append((at, end))
                at = end
                continue
            if outcome is Outcome.OPEN and not self.final:
                found.rest = at
                return found
            after = self._next(at, end)
            if after is None:
                return found
            at = after

    def _one(self, at: int) -> tuple[Outcome, int]:
        """Scan one element, and check what follows: numbers, words and arrays do not show their own end."""
        text = self.text
        outcome, end = self._element(at)
        if outcome is not Outcome.WHOLE or text[at] == _OPEN_OBJECT:
            return outcome, end
        after = _end(_BLANK, text, end)
        if text[at] != _OPEN_ARRAY:
            if after == len(text):
                return (Outcome.WHOLE, end) if self.final or self.between else (Outcome.OPEN, after)
            return (outcome, end) if text[after] in (_COMMA, _CLOSE_ARRAY) else (Outcome.FAULT, after)
        if self.spare < 0 or self._begin(at + 1, end) is None:
            return outcome, end
        # An array of events among the events: if the other bracket is missing, this one is surplus.
        after = _end(_BETWEEN, text, end)
        if after == len(text):
            if self.between:
                return outcome, end
            return (Outcome.FAULT, at) if self.final else (Outcome.OPEN, after)
        if text[after] not in b'"}':
            return outcome, end
        self.spare -= end - at
        return Outcome.FAULT, at

    def _element(self, at: int) -> tuple[Outcome, int]:
        """Scan an element; if an earlier failed scan left it open, its end is known."""
        opened, outcome, end = self.vain
        if at < end and (place := bisect_left(opened, at)) < len(opened) and opened[place] == at:
            return outcome, end
        outcome, end = element(self.text, at, self.opened)
        if outcome is not Outcome.WHOLE:
            self.spare -= end - at
            if end > self.vain[2]:
                self.vain = self.opened, outcome, end
            self.opened = array("q")
        return outcome, end

    def _next(self, lost: int, fault: int) -> int | None:
        """Find the event after damage that begins at `lost`; return where to continue, None if the text ends first."""
        text, found = self.text, self.found
        if fault > lost and (end := self._brackets_end(lost)) is not None:
            found.faults[len(found.spans)] = fault - lost
            found.spans.append((lost, end))
            return end
        # Once the tries are used up, the text scanned in vain is skipped.
        after, opened = lost + 1 if self.spare >= 0 else max(lost + 1, fault), None
        while (start := self._begin(after, len(text))) is not None:
            if self.documents.begins(start):
                self._lose(lost, start, fault)
                self._unclosed(start)
                return None
            after = start + 1
            outcome, end = self._element(start)
            if outcome is Outcome.WHOLE:
                if b'"ph"' in text[start:end]:
                    self._lose(lost, start, fault)
                    found.spans.append((start, end))
                    return end
                after = end
                continue
            if outcome is Outcome.OPEN and not self.final:
                self._lose(lost, start, fault)
                found.rest = start
                return None
            if outcome is Outcome.OPEN and opened is None:
                opened = start
            if self.spare < 0:
                after = max(after, end)
        if not self.final:
            found.rest = lost
        elif not self._end_after(lost, fault):
            if opened is not None:
                self._lose(lost, opened, fault)
                lost = opened
            found.rest = lost
        return None

    def _begin(self, after: int, end: int) -> int | None:
        """Return the next place that looks like the beginning of an event; None if there is none before `end`."""
        while match := _BEGIN.search(self.text, after, end):
            after = match.start()
            before = self.text[max(0, after - _BEFORE) : after].rstrip(b" \t\n\r")[-1:]
            if before != b":":
                return after
            after += 1
        return None

    def _brackets_end(self, start: int) -> int | None:
        """Return the end of a damaged element with balanced brackets, if another may begin there and none before."""
        text, window = self.text, _WINDOW
        if text[start] not in (_OPEN_OBJECT, _OPEN_ARRAY):
            return None
        while True:
            limit = min(len(text), start + window)
            begins = self._begin(start + 1, limit)
            end = _matching(text, start, limit if begins is None else begins)
            if end is not None:
                after = _end(_BETWEEN, text, end)
                goes_on = after == len(text) or text[after] in (_OPEN_OBJECT, _CLOSE_ARRAY)
                return end if goes_on else None
            if begins is not None or limit == len(text):
                return None
            window *= 2

    def _lose(self, start: int, end: int, fault: int) -> None:
        found = self.found
        length = len(self.text[start:end].rstrip(b" \t\n\r,"))
        found.skipped += length
        found.faults[len(found.spans)] = min(fault - start, length)
        found.spans.append((start, start + length))

    def _end_after(self, lost: int, fault: int) -> bool:
        """Find the end of the array after damage that no event follows; return whether there is one."""
        if not self.bare and self._follows(lost, KEY):
            # The bracket is missing: what looked like an element is the first key after the array.
            self._unclosed(lost)
            return True
        at = lost - 1
        while self.spare > 0 and (at := self.text.find(b"]", at + 1)) >= 0:
            if self._follows(at + 1, COMMA):
                self._lose(lost, at, fault)
                self.found.rest = self.found.end = at
                return True
        return False

    def _unclosed(self, at: int) -> None:
        """End an array whose bracket is missing where something else begins."""
        self.found.rest = self.found.end = at
        self.found.closed = False

    def _follows(self, at: int, want: int) -> bool:
        """Whether the rest of the text is a valid continuation after an array of events."""
        if self.bare:
            return _end(_BLANK, self.text, at) == len(self.text)
        outcome, end = element(self.text, at, around=_OPEN_OBJECT, want=want)
        self.spare -= end - at
        return outcome is Outcome.WHOLE and _end(_BLANK, self.text, end) == len(self.text)

    def _ends(self, at: int) -> bool | None:
        """Whether a bracket between two elements ends the array; None if more text is needed to decide."""
        text = self.text
        outcome, end = (Outcome.WHOLE if self.bare else Outcome.FAULT), at + 1
        if not self.bare and self.spare >= 0:
            outcome, end = element(text, at + 1, around=_OPEN_OBJECT, want=COMMA)
            self.spare -= end - at
        blank = _end(_BLANK, text, end) == len(text)
        if outcome is Outcome.OPEN or (outcome is Outcome.WHOLE and blank):
            # If a long text fits so far, do not wait for its end.
            return True if self.final or _end(_BLANK, text, at + 1) < len(text) else None
        begins = self._begin(at, len(text))
        if begins is not None and self.documents.begins(begins):
            # Two concatenated files.
            return True
        if begins is not None and not ARRAY.search(text, at, begins) and self._is_event(begins):
            return False
        return True if self.final else None

    def _is_event(self, start: int) -> bool:
        outcome, end = self._element(start)
        return outcome is not Outcome.FAULT and b'"ph"' in self.text[start:end]


def _matching(text: bytes, start: int, limit: int) -> int | None:
    """Return the end of the element that begins at a bracket, from brackets and strings only; None if it has none."""
    opened = bytearray()
    for match in TOKEN.finditer(text, start, limit):
        if match.lastindex == MARK:
            mark = text[match.end() - 1]
            if mark in (_OPEN_OBJECT, _OPEN_ARRAY):
                opened.append(mark)
            elif mark in (_CLOSE_OBJECT, _CLOSE_ARRAY):
                if not opened or opened.pop() != mark - 2:
                    return None
                if not opened:
                    return match.end()
        elif match.lastindex in (QUOTE, None):
            return None
    return None


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Return where a match of a pattern ends; the pattern matches anywhere."""
    match = pattern.match(text, at)
    return match.end() if match else at
