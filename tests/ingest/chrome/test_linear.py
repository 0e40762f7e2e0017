"""Every scan is linear: four times the text takes about four times the bytes looked at, whatever the text."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tracelake.engine.errors import InputError
from tracelake.ingest import slots
from tracelake.ingest.chrome import cutter, outline, scan
from tracelake.ingest.chrome import reader as chrome

from ...support import ingest_bytes, new_lake, pieces_of

#: Bytes of the smaller text: pieces have an eighth of them, and an event of more than a quarter is damage.
SIZE = 30_000
EVENT = b'{"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "span", "args": {"a": [1, 2]}}'


def spread(text: bytes) -> Callable[[int], bytes]:
    """Events with something between them, up to a size."""
    return lambda size: b'{"traceEvents": [' + (EVENT + text) * (size // len(EVENT + text)) + EVENT + b'], "a": 1}'


def filled(text: bytes, head: bytes = b'{"traceEvents": [' + EVENT + b",", tail: bytes = b"," + EVENT + b"]}"):
    """One text again and again between a head and a tail, up to a size."""
    return lambda size: head + text * (size // len(text)) + tail


SHAPES: dict[str, Callable[[int], bytes]] = {
    "whole": spread(b", "),
    "escaped quotes in a key before the events": filled(b'\\"', b'{"', b'": 1, "traceEvents": [' + EVENT + b"]}"),
    "a string before the events that nothing closes": filled(b'\\"', b'{"a": "', b""),
    "a notebook": filled(json.dumps({"source": 'say "hi" \\ {"ph": 1}'}).encode() + b",", b'{"cells": [', b'{}]}'),
    "space between events": lambda size: b'{"traceEvents": [' + (EVENT + b"," + b" " * (size // 8)) * 8 + EVENT + b"]}",
    "space behind the events": filled(b" ", tail=b""),
    "a lost quote in each event": spread(b',{"ph": "X, "ts": 5},'),
    "a lost brace in each event": spread(b',{"ph": "X", "args": {"a": 1, "ts": 5},'),
    "a word too many in each event": filled(b'{"ph": oops "X"},'),
    "events that nothing closes": filled(b'{"ph": ['),
    "arrays in events in arrays": filled(b'[{"ph": 1, "a": '),
    "an array opened before each event": filled(b'[{"ph": 1}, '),
    "the same in a file without an object around": filled(b'[{"ph": 1}, ', b"", b""),
    "many arrays opened before each event": filled(b'[[[[[[{"ph": 1}, '),
    "an array in an object opened before each event": filled(b'{"a": [{"ph": 1}, '),
    "an array in an event opened before each event": filled(b'{"ph": 1, "a": [{"ph": 1}, '),
    "objects opened before each event": filled(b'{"a": {"ph": 1}, '),
    "an array and a quote before each event": filled(b'[{"ph": 1}, "'),
    "arrays opened in a text that fits with its quotes moved by one": filled(b'{",":"\\"ph"}, [",", '),
    "arrays of events that a string follows": lambda size: (
        b'{"traceEvents": [' + b'[{"ph": 1}, ' * (size // 24) + b'], "x"' * (size // 24) + b"]}"
    ),
    "ends of the array that a word behind many more proves none": filled(
        b'{"ph": 1}], "a": [' * (SIZE // 300) + b' oops {"ph": 1}, '
    ),
    "opening brackets": filled(b"["),
    "opening braces": filled(b"{"),
    "closing brackets": filled(b"]"),
    "closing brackets and keys": filled(b'], "a": 1'),
    "closing braces": filled(b"}"),
    "quotes": filled(b'"'),
    "backslashes": filled(b"\\"),
    "escaped quotes": filled(b'\\"'),
    "commas": filled(b","),
    "words": filled(b"oops "),
    "zeros": filled(b"\0"),
    "half of a pair of surrogates in each event": spread(b',{"ph": "X", "ts": 5, "name": "\\ud800"},'),
    "a key of its own in each event": lambda size: (
        b"[" + b",".join(b'{"ph": "X", "ts": 5, "k%d": 1}' % nth for nth in range(size // 30)) + b"]"
    ),
    "one long string": filled(b"x", b'{"traceEvents": [{"ph": "X", "ts": 5, "name": "', b'"}]}'),
    "one long string that nothing closes": filled(b"x", b'{"traceEvents": [' + EVENT + b',{"ph": "', b""),
    "a long text behind the events": filled(b'{"a": [1, "b"]},', b'{"traceEvents": [' + EVENT + b'], "x": [', b"1]}"),
    "a long damaged text behind the events": filled(
        b'{"a": [1, "b},', b'{"traceEvents": [' + EVENT + b'], "x": [', b"]"
    ),
    "many arrays": filled(b'"traceEvents": [' + EVENT + b"], ", b"{", b'"a": 1}'),
}  # fmt: skip


@contextlib.contextmanager
def counted() -> Iterator[list[int]]:
    """Count the bytes that Python looks at, searches, copies or hands to the parser."""
    looked = [0]

    def counting(owner: Any, name: str, size: Callable[..., int]) -> None:
        real = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            answer = real(*arguments, **named)
            looked[0] += size(answer, *arguments)
            return answer

        patch.setattr(owner, name, call)

    with pytest.MonkeyPatch.context() as patch:
        counting(scan, "element", lambda answer, text, start, *_: answer[1] - start)
        counting(scan, "_matching", lambda answer, text, start, limit: (answer or limit) - start)
        counting(scan, "_end", lambda answer, pattern, text, at: answer - at)
        counting(scan._Walk, "_begin", lambda answer, walk, after, end: (end if answer is None else answer) - after)
        counting(outline.Outline, "feed", lambda answer, walk, text, *_: len(text))
        counting(chrome, "quote_times", lambda answer, text, *_: len(text))
        counting(chrome, "mend", lambda answer, text, *_, **__: len(text))
        counting(slots.Slot, "copy", lambda answer, slot, start, end: end - start)
        counting(slots.Slot, "put", lambda answer, slot, start, data: len(data))
        counting(slots.Slot, "find_last", lambda answer, slot, text, end: end - max(answer, slot.start))
        counting(cutter.Cutter, "push_back", lambda answer, cut, text, *_: len(text))
        counting(cutter.Cutter, "end_at", lambda answer, cut, rest, *_, **__: len(cut._carry))
        yield looked


def steps(folder: Any, text: bytes) -> int:
    with counted() as looked, pieces_of(SIZE // 8), pytest.MonkeyPatch.context() as patch:
        for module in (chrome, cutter):
            patch.setattr(module, "EVENT_LIMIT", SIZE // 4)
        with contextlib.suppress(InputError):
            ingest_bytes(new_lake(folder), text)
    return looked[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_text_takes_about_four_times_the_bytes_looked_at(tmp_path, shape):
    few, many = (steps(tmp_path / str(size), SHAPES[shape](size)) for size in (SIZE, 4 * SIZE))
    # Sixteen times where a scan is quadratic. How pieces wait for each other decides some: 5.5 to 8.9 times were seen.
    assert many < 12 * few
    # And not much more than the text itself: the tries in vain are bounded.
    assert many < 100 * 4 * SIZE
