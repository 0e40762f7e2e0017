"""Repairs single events that the parser refuses: bytes that are not UTF-8, control characters, duplicate keys."""

from __future__ import annotations

import json
import re
from typing import Any

from .parse import REST, Dialect

_SURROGATE = b"\\ud"
#: A comma before a closing bracket, which the parser accepts; or any other token.
_TOKEN = re.compile(r'(,)\s*+(?=[}\]])|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],"]|[^{}\[\],"]++', re.DOTALL)
#: Values nested more deeply, which the parser accepts too, are not parsed here.
_DEPTH = 100


class Unmendable(Exception):
    """The text cannot be repaired into an event."""


class _Number(str):
    """A number's text, preserved exactly."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object with duplicate keys."""


def mend(text: bytes, dialect: Dialect) -> tuple[bytes, str | None]:
    """Return an event's text repaired for the parser, and what was changed, None if nothing.

    Keys that get no column are moved below `REST`.

    Raises:
        Unmendable: the text is not a JSON object.
    """
    reason = None
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        decoded, reason = text.decode("utf-8", "replace"), "bytes that are not UTF-8 were replaced"
    repeated = False

    def keys_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Called for inner objects first, so the last value of `repeated` belongs to the event itself.
        nonlocal repeated
        found = dict(pairs)
        repeated = len(found) < len(pairs)
        return found

    try:
        # Numbers may be longer than Python accepts.
        given: dict[str, Any] = {"object_pairs_hook": keys_of, "parse_int": _Number}
        try:
            event = json.loads(decoded, **given)
        except (json.JSONDecodeError, RecursionError):
            plain = _plain(decoded)
            try:
                event = json.loads(plain, **given)
            except json.JSONDecodeError:
                event = json.loads(plain, **given, strict=False)
                reason = reason or "control characters in a string"
        if event is None:
            # It holds no event, as an empty object; DuckDB reads both alike.
            return b"{}", None
        if not isinstance(event, dict):
            raise Unmendable(f"not an object but {_kind(event)}")
        if repeated:
            reason = reason or "a key is given twice; the last one counts"
        without = [key for key in event if not dialect.adopt(key)]
        if reason is None and not without and _SURROGATE not in text.lower():
            return text, None
        return _rewritten(decoded, without, reason)
    except (ValueError, RecursionError) as error:
        raise Unmendable("nested too deeply" if isinstance(error, RecursionError) else f"not JSON: {error}") from error


def _plain(text: str) -> str:
    """Return JSON text without commas before closing brackets and without what is nested deeply."""
    parts, depth = [], 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        depth -= token in ("}", "]")
        if depth <= _DEPTH and not match[1]:
            parts.append(token)
        depth += token in ("{", "[")
    return "".join(parts)


def _rewritten(decoded: str, without: list[str], reason: str | None) -> tuple[bytes, str | None]:
    numbers: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _Number)
    pairs = json.loads(decoded, object_pairs_hook=_Pairs, strict=False, **numbers)
    fields: dict[str, Any] = dict(pairs)
    if without:
        fields[REST] = _Pairs((key, fields.pop(key)) for key in without)
    written = _written(_Pairs(fields.items()))
    try:
        return written.encode(), reason
    except UnicodeEncodeError:
        return written.encode("utf-8", "replace"), reason or "half a surrogate pair in a string"


def _written(value: Any) -> str:
    """Return JSON text with numbers and duplicate keys unchanged."""
    if isinstance(value, _Number):
        return value
    if isinstance(value, _Pairs):
        return "{" + ",".join(f"{_written(key)}:{_written(item)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _kind(value: object) -> str:
    return {bool: "a boolean", list: "an array", str: "a string"}.get(type(value), "a number")
