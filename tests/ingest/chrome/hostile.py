"""Damage to traces, made up from a seed: a small trace, and what crashes, disks and editors do to its text."""

from __future__ import annotations

import gzip
import json
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import zstandard

SECRET = "s3cr3t"
_AROUND = {
    "schemaVersion": 1, "environ": {"TOKEN": SECRET, "list": [1, {"a": [SECRET]}]}, "displayTimeUnit": "ms",
    "deviceProperties": [{"id": 0, "name": "GPU [0], {x}"}],
}  # fmt: skip
_WORDS = ("aten::mm", 'say "hi"', "a\\b", "},\n{", "]}", "é鯨😀", "[", "{", "", "void f<float>(int)", "\u2028")
_NUMBERS = (
    "0", "-1", "1.5", "0.0005", "1e3", "-0.0", "123456789012.345678", "1712345678901234.567", "4503599627370497",
    "4611686018427387.903", "4611686018427387.904", "9223372036854775.807", "1e30", "1e400", "null", "true", '"7"',
    "[]", "{}", "NaN", "Infinity", "+5", "1.2.3", "05", ".5", "5.", "0x10", "--1", "1e", "nul", "1" * 30,
)  # fmt: skip
_KEYS = (
    '"zz"', '""', '"ph"', '"Ph"', '"ts"', '"p\\u0068"', '"traceEvents"', '"\\ud800"', '"a.b"', '"tracelake:rest"',
    '"id"', '"args"', '"extra"', '"' + "k" * 300 + '"', '"filename"', '"x y\'s \\"z\\""',
)  # fmt: skip
_BYTES = (b"\xff", b"\0", b"\xc3", b"\xed\xa0\x80", b"\x01", b"\x0b", b"\xef\xbb\xbf", b"\r", b"\x7f", b"\xf0\x9f")


@dataclass
class Case:
    """A file, and what it was made from.

    Attributes:
        content: the bytes of the file.
        text: its text as far as it can be decompressed; the same where it is not compressed.
        head: the text before the first event.
        events: the text of each event before anything was done to it.
        whole: the compressed stream, if it is one, is whole.
        flipped: a bit of the compressed stream is another.
        piece: bytes of a piece to read it by.
    """

    content: bytes
    text: bytes
    head: bytes
    events: list[bytes]
    whole: bool = True
    flipped: bool = False
    piece: int = 1 << 20


def case(kind: str, seed: int) -> Case:
    """Return the case of a class of damage and a seed."""
    rng = random.Random(f"{kind} {seed}")
    head, events, between, tail = _trace(rng)
    text = head + between.join(events) + tail
    made = Case(b"", b"", head, events, piece=rng.choice([150, 400, 1500, 1 << 20]))
    if kind in _PACKED:
        _PACKED[kind](rng, text, made)
        return made
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        text = DAMAGE[kind](rng, text)
    made.content = made.text = text
    return made


def _trace(rng: random.Random) -> tuple[bytes, list[bytes], bytes, bytes]:
    colon, comma = rng.choice([(": ", ", "), (":", ","), (" : ", " ,\n    ")])
    ascii_only = rng.random() < 0.5

    def written(value: object) -> str:
        return json.dumps(value, separators=(comma, colon), ensure_ascii=ascii_only)

    events = []
    for nth in range(rng.randint(12, 30)):
        event: dict[str, object] = {"ph": rng.choice("XXXiC"), "name": f"#{nth}#", "pid": rng.choice([0, 1, "gpu"])}
        event |= {"tid": 7, "ts": 1000 + nth}
        if event["ph"] == "X":
            event["dur"] = rng.choice([0, 2, 1.5, 0.001])
        if rng.random() < 0.6:
            event["args"] = {
                "External id": nth, "word": rng.choice(_WORDS), "Input Dims": [[nth, 2], []],
                "list": [{"name": rng.choice(_WORDS), "n": nth}, None, True],
            }  # fmt: skip
        if rng.random() < 0.3:
            event["cat"] = rng.choice(["kernel", "cpu_op", "python_function"])
        items = list(event.items())
        if rng.random() < 0.3:
            rng.shuffle(items)
        events.append(written(dict(items)).encode())
    between = rng.choice([b",\n  ", b",", b", ", b" ,\n"])
    if rng.random() < 0.2:
        return b"[\n", events, between, b"\n]\n"
    before = {key: _AROUND[key] for key in list(_AROUND)[: rng.randint(0, 4)]}
    after = {key: _AROUND[key] for key in list(_AROUND)[rng.randint(0, 4) :]}
    head = f"{written(before)[:-1]}{comma if before else ''}{written('traceEvents')}{colon}["
    tail = f"]{comma if after else ''}{written(after)[1:]}"
    return head.encode(), events, between, tail.encode()


def _place(rng: random.Random, text: bytes, pattern: bytes) -> re.Match[bytes] | None:
    found = list(re.finditer(pattern, text))
    return rng.choice(found) if found else None


def _swapped(text: bytes, match: re.Match[bytes] | None, new: bytes) -> bytes:
    return text if match is None else text[: match.start()] + new + text[match.end() :]


def _marks(marks: bytes) -> Callable[[random.Random, bytes], bytes]:
    """Lose, double, swap or add one of some marks."""

    def damaged(rng: random.Random, text: bytes) -> bytes:
        match = _place(rng, text, b"[" + re.escape(marks) + b"]")
        mark = bytes([rng.choice(marks)])
        if rng.random() < 0.3:
            at = rng.randrange(len(text))
            return text[:at] + mark + text[at:]
        return _swapped(text, match, rng.choice([b"", b"", mark, match.group() * 2 if match else b""]))

    return damaged


def _escapes(rng: random.Random, text: bytes) -> bytes:
    new = rng.choice(
        [b"\\", b"\\\\", b'\\"', b"\\x", b"\\u12", b"\\ud800", b"\\udc00\\ud800", b"\\u0041", b"\\/", b"\\n"]
    )
    match = _place(rng, text, rb'(?<=")[^"\\]{1,20}(?=")|\\.')
    if match is None or rng.random() < 0.2:
        at = rng.randrange(len(text))
        return text[:at] + new + text[at:]
    at = rng.randint(match.start(), match.end())
    return text[:at] + new + text[at:]


def _keys(rng: random.Random, text: bytes) -> bytes:
    match = _place(rng, text, rb'"[^"\\]*"(?=\s*:)')
    key = rng.choice(_KEYS).encode()
    if match is None:
        return text
    return _swapped(
        text, match, rng.choice([key, key + b": 1, " + match.group(), match.group() + b":2," + match.group()])
    )


def _numbers(rng: random.Random, text: bytes) -> bytes:
    key = rng.choice([rb'"ts"\s*:\s*', rb'"dur"\s*:\s*', rb'"pid"\s*:\s*', rb":\s*", rb"[\[,]\s*"])
    match = _place(rng, text, rb"(?:" + key + rb")(-?\d[\d.]*)")
    if match is None:
        return text
    return text[: match.start(1)] + rng.choice(_NUMBERS).encode() + text[match.end(1) :]


def _encodings(rng: random.Random, text: bytes) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(_BYTES) + text[at + rng.randint(0, 1) :]


def _space(rng: random.Random, text: bytes) -> bytes:
    match = _place(rng, text, rb"[{}\[\],:]")
    return _swapped(text, match, (match.group() if match else b"") + rng.choice([b" ", b"\n\t", b"\r\n", b" " * 3000]))


def _cuts(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(1, len(text))]


def _slices(rng: random.Random, text: bytes) -> bytes:
    """Lose, double or move a run of bytes, as a torn write does."""
    start = rng.randrange(len(text))
    end = min(len(text), start + rng.choice([1, 5, 30, 300, 4096]))
    at = rng.randrange(len(text))
    return rng.choice([
        text[:start] + text[end:], text[:end] + text[start:], text[:at] + text[start:end] + text[at:],
        text[:start] + b"\0" * (end - start) + text[end:],
    ])  # fmt: skip


def _nesting(rng: random.Random, text: bytes) -> bytes:
    depth = rng.choice([1, 2, 50, 3000])
    opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    value = opening * depth + b"1" + closing * (depth - rng.choice([0, 0, 1]))
    match = _place(rng, text, rb'\d+(?=[,}\]])|(?<=[\[,])(?=\{"|\s*\{")')
    return _swapped(text, match, rng.choice([value, opening * depth, closing * depth]))


def _arrays(rng: random.Random, text: bytes) -> bytes:
    """A further array of events, or one that is not at the top."""
    return _swapped(text, _place(rng, text, rb"(?<=\})\s*,\s*(?=\{)"), rng.choice([
        b'], "traceEvents": [', b'], "a": 1, "traceEvents" : [', b'], "x": {"traceEvents": [1]}, "traceEvents": [',
        b']}\n{"traceEvents": [', b'], "other": [', b"][", b"] , [",
    ]))  # fmt: skip


def _pack(
    rng: random.Random, text: bytes, packed: Callable[[bytes], bytes], had: Callable[[bytes], bytes], made: Case
) -> None:
    at = rng.randrange(len(text))
    content = packed(text) if rng.random() < 0.5 else packed(text[:at]) + packed(text[at:])
    change = rng.choice(["none", "cut", "flip", "more"])
    if change == "cut":
        content = content[: rng.randrange(4, len(content))]
    elif change == "flip":
        at = rng.randrange(4, len(content))
        content = content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
    elif change == "more":
        content += rng.choice([b"garbage", content[:20], b"\1" * 9])
    made.content, made.text, made.whole, made.flipped = content, had(content), change == "none", change == "flip"


def _decompressed(content: bytes, begin: Callable[[], Any], error: type[Exception], padding: bytes = b"") -> bytes:
    """Decompress streams that follow each other, byte by byte, up to the first that is damaged or cut.

    Args:
        content: the streams.
        begin: makes the decompressor of one.
        error: what it raises on damage.
        padding: bytes that may stand between two.
    """
    text = b""
    while content:
        stream = begin()
        try:
            for nth in range(len(content)):
                text += stream.decompress(content[nth : nth + 1])
                if stream.eof:
                    break
        except error:
            return text
        if not stream.eof:
            return text
        content = content[nth + 1 :].lstrip(padding)
    return text


def _gunzipped(content: bytes) -> bytes:
    return _decompressed(content, lambda: zlib.decompressobj(31), zlib.error, b"\0")


def _unzstd(content: bytes) -> bytes:
    return _decompressed(content, lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError)


DAMAGE: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "quotes": _marks(b'"'), "braces": _marks(b"{}"), "brackets": _marks(b"[]"), "commas": _marks(b",:"),
    "escapes": _escapes, "keys": _keys, "numbers": _numbers, "encodings": _encodings, "space": _space, "cuts": _cuts,
    "slices": _slices, "nesting": _nesting, "arrays": _arrays,
}  # fmt: skip
_PACKED: dict[str, Callable[[random.Random, bytes, Case], None]] = {
    "gzip": lambda rng, text, made: _pack(rng, text, gzip.compress, _gunzipped, made),
    "zstandard": lambda rng, text, made: _pack(rng, text, zstandard.compress, _unzstd, made),
}
KINDS = (*DAMAGE, *_PACKED)
