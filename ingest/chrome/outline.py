"""Parses what surrounds the arrays of events: one pass over the outline of the file's JSON, in constant memory.

It takes the text before and after an array of events, in chunks of any size, and reads each byte once. It
keeps the names of the first keys and the values of those that the lake needs; everything else is skipped, even a
string of a gigabyte. After a syntax error, it only searches for the next key "traceEvents".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

EVENTS = "traceEvents"
#: Maximum number of event arrays in one file. Each is read separately; what follows the last is skipped.
_MOST_ARRAYS = 100
#: Number of key names kept for messages.
_NAMES = 20
#: Maximum bytes of a key, and of a wanted value; longer ones are skipped.
_KEY_LIMIT, _VALUE_LIMIT = 4096, 8 << 20
#: Bytes by which the search for another array looks back: more than its key, colon and bracket take.
_OVERLAP = 64
_SPACE = b" \t\n\r"
_INSIDE_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
# The content of a value up to the next relevant bracket; up to four levels of brackets are skipped in one step.
_PLAIN = rb'[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PAIR = rb"%s|[\[{](?:%%s)*+[\]}]" % _PLAIN
_PASSED = re.compile(rb"(?:%s)*+" % (_PAIR % (_PAIR % (_PAIR % (_PAIR % _PLAIN)))), re.DOTALL)
_SCALAR = re.compile(rb'[^ \t\n\r"{}\[\],:]*+')
_BLANK = re.compile(rb"[ \t\n\r]*+")
#: The beginning of another array of events, in this file or in one concatenated to it.
ARRAY = re.compile(rb'"traceEvents"[ \t\n\r]*+:[ \t\n\r]*+\[')

#: Bytes at the beginning of a file within which its array must begin, to be found inside the array of another file.
_HEAD = 1 << 20
#: Maximum bytes of heads that are parsed in search of such a file, as a multiple of the text.
_TRIES = 2

# The state: before the text's first bracket; expecting a key, a colon, a value or a comma; inside a
# value; after the object; after an array that is the whole file; after a syntax error.
_START, _KEY, _COLON, _VALUE, _COMMA, _INSIDE, _DONE, _LOST = range(8)
#: Marks that only change the state. After an object another may begin: files may be concatenated.
_STEPS = {
    (_START, b"{"): _KEY, (_DONE, b"{"): _KEY, (_KEY, b"}"): _DONE, (_COLON, b":"): _VALUE, (_COMMA, b","): _KEY,
    (_COMMA, b"}"): _DONE,
}  # fmt: skip


class Outline:
    """Follows the object around the arrays of events.

    Attributes:
        names: keys of the object, in order; the first few.
        values: values of the wanted keys, if complete.
        arrays: number of event arrays so far.
        bare: the file is an array without an object around it.
        skipped: bytes, except white space, after a syntax error.
    """

    def __init__(self, wanted: Collection[str]) -> None:
        """Start before the first byte of a file; keep the values of the wanted keys."""
        self.names: list[str] = []
        self.values: dict[str, Any] = {}
        self.arrays = 0
        self.bare = False
        self.skipped = 0
        self._wanted = wanted
        self._state = _START
        self._name = ""
        self._value: bytearray | None = None
        self._depth = 0
        self._in_string = False
        self._escape = False
        self._before = b""
        self._unclosed = False

    @property
    def whole(self) -> bool:
        """Whether the text so far is complete: its arrays and the object around them are closed."""
        return self._state == _DONE and not self._unclosed

    def end_array(self, *, closed: bool = True) -> None:
        """Continue after the bracket that closes an array of events, or where it should be."""
        self._unclosed |= not closed
        if self._state != _LOST:
            self._state = _DONE if self.bare else _COMMA if closed else _KEY

    def feed(self, text: bytes) -> int | None:
        """Take the next bytes; return where in them an array of events begins, None if none does."""
        at = 0
        while True:
            if self._state == _LOST:
                return self._search(text, at)
            if self._state == _INSIDE or self._in_string:
                at = self._inside(text, at)
            at = _match_end(_BLANK, text, at)
            if at >= len(text):
                return None
            begins, at = self._step(text, at)
            if begins:
                if self.arrays == _MOST_ARRAYS:
                    self._state = _LOST
                    continue
                self.arrays += 1
                return at

    def _step(self, text: bytes, at: int) -> tuple[bool, int]:
        """Process the mark at an offset; return whether an array of events begins after it, and where to continue."""
        mark, state = text[at : at + 1], self._state
        if (after := _STEPS.get((state, mark))) is not None:
            self._state = after
            return False, at + 1
        if state == _START and mark == b"[":
            self.bare = True
            return True, at + 1
        if state == _KEY and mark == b"{" and self._unclosed:
            # The file was cut off in its array, and another one appended.
            return False, at + 1
        if state == _KEY and mark == b'"':
            self._value, self._in_string = bytearray(mark), True
            return False, at + 1
        if state == _VALUE and mark == b"[" and self._name == EVENTS:
            return True, at + 1
        if state == _VALUE and mark not in (b"}", b"]", b",", b":"):
            self._state, self._depth = _INSIDE, 0
            self._value = bytearray() if self._name in self._wanted else None
            return False, at
        self._state = _LOST
        return False, at

    def _inside(self, text: bytes, at: int) -> int:  # noqa: C901 - one state machine
        """Skip a string or a value, or the part of it that is there; return where it ends."""
        begun = at
        while at < len(text):
            if self._in_string:
                if self._escape:
                    self._escape, at = False, at + 1
                    continue
                at = _match_end(_INSIDE_STRING, text, at)
                if at < len(text) and text[at : at + 1] == b"\\":
                    self._escape, at = True, at + 1  # the last byte of this text
                elif at < len(text):
                    self._in_string, at = False, at + 1
                    if self._state == _KEY:
                        self._keep(text[begun:at])
                        self._end_key()
                        return at
                    if self._depth == 0:
                        return self._end_value(text, begun, at)
                continue
            if self._depth:
                at = _match_end(_PASSED, text, at)
            mark = text[at : at + 1]
            if mark == b'"':
                self._in_string, at = True, at + 1
            elif mark in (b"{", b"["):
                self._depth, at = self._depth + 1, at + 1
            elif mark in (b"}", b"]") and self._depth:
                self._depth, at = self._depth - 1, at + 1
                if self._depth == 0:
                    return self._end_value(text, begun, at)
            elif not self._depth:
                at = _match_end(_SCALAR, text, at)
                if at < len(text):
                    return self._end_value(text, begun, at)
        self._keep(text[begun:at])
        return at

    def _keep(self, text: bytes) -> None:
        if self._value is not None:
            self._value += text
            if len(self._value) > (_KEY_LIMIT if self._state == _KEY else _VALUE_LIMIT):
                self._value = None

    def _end_key(self) -> None:
        self._name = ""
        if self._value is not None:
            name = _parsed(bytes(self._value))
            self._name = name if isinstance(name, str) else ""
            if len(self.names) < _NAMES:
                self.names.append(self._name)
        self._value = None
        self._state = _COLON

    def _end_value(self, text: bytes, begun: int, at: int) -> int:
        self._keep(text[begun:at])
        if self._value is not None:
            found = _parsed(bytes(self._value))
            if found is not _DAMAGED:
                self.values[self._name] = found
        self._value = None
        self._state = _COMMA
        return at

    def _search(self, text: bytes, at: int) -> int | None:
        """Search for another array of events after a syntax error."""
        looked = self._before + text[at:]
        match = ARRAY.search(looked) if self.arrays < _MOST_ARRAYS else None
        end = match.end() if match else len(looked)
        self.skipped += end - len(self._before) - _blanks(looked[len(self._before) : end])
        self._before = b"" if match else looked[-_OVERLAP:]
        if match is None:
            return None
        self.arrays += 1
        return at + end - (len(looked) - (len(text) - at))


class Documents:
    """Finds where whole files begin in a text that should be inside an array of events."""

    def __init__(self, text: bytes) -> None:
        """Start without reading."""
        self._text = text
        self._spare = _TRIES * len(text)
        #: Where the next array was looked for, the offsets between which its file may begin, and where its events do.
        self._next = 0, 0, -1, 0

    def begins(self, start: int) -> bool:
        """Whether the object at `start` has an array of events as a member, before any key of an event."""
        sought, first, last, events = self._next
        if not sought <= start <= last:
            match = ARRAY.search(self._text, start)
            last, events = match.span() if match else (len(self._text), 0)
            first = max(self._text.rfind(b'"ph"', start, last) + 1, last - _HEAD) if match else last + 1
            self._next = start, first, last, events
        if not first <= start < last or self._text[start : start + 1] != b"{" or self._spare < 0:
            return False
        self._spare -= events - start
        outline = Outline(())
        return outline.feed(self._text[start:events]) is not None and not outline.skipped and self._holds_events(events)

    def _holds_events(self, at: int) -> bool:
        """Whether the array that begins before `at` has objects or nothing, and is no member of an event."""
        first = _match_end(_BLANK, self._text, at)
        if self._text[first : first + 1] not in (b"{", b"]", b""):
            return False
        beginning = self._text[at : at + _HEAD]
        self._spare -= len(beginning)
        around = Outline(("ph",))
        around.feed(b'{"":[' + beginning)
        return "ph" not in around.values


_DAMAGED = object()


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return _DAMAGED


def _blanks(text: bytes) -> int:
    return sum(text.count(blank) for blank in (b" ", b"\t", b"\n", b"\r"))


def _match_end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
