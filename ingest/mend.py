"""Mending single events that the parser refuses: bytes that are not UTF-8, control characters, keys given twice."""

from __future__ import annotations

import json
from typing import Any

_REFUSED = b"\\ud"


class Unmendable(Exception):
    """The text is no event, whatever is done to it."""


def mend(text: bytes) -> tuple[bytes, str | None]:
    """Return an event's text as the parser takes it, and what had to be changed, None when nothing.

    Raises:
        Unmendable: the text is no JSON object.
    """
    reason = None
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        decoded, reason = text.decode("utf-8", "replace"), "bytes that are not UTF-8 were replaced"
    repeated: list[str] = []

    def gather(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Called for inner objects first: what is left in `repeated` at the end belongs to the event itself.
        gathered = dict(pairs)
        repeated.clear()
        if len(gathered) < len(pairs):
            repeated.append("a key is given twice; the last one counts")
        return gathered

    try:
        try:
            event = json.loads(decoded, object_pairs_hook=gather)
        except json.JSONDecodeError:
            event = json.loads(decoded, object_pairs_hook=gather, strict=False)
            reason = reason or "control characters in a string"
    except (ValueError, RecursionError) as error:
        raise Unmendable(f"not JSON: {error}") from error
    if not isinstance(event, dict):
        raise Unmendable(f"not an object but {_kind(event)}")
    if repeated:
        reason = reason or repeated[0]
    if _REFUSED in text.lower():
        reason = reason or "half a surrogate pair in a string"
    if reason is None:
        return text, None
    times = json.loads(decoded, parse_float=str, parse_int=str, strict=False)
    event |= {key: times[key] for key in ("ts", "dur") if key in times}
    return json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"), reason


def _kind(value: object) -> str:
    return (
        "null" if value is None else {bool: "a boolean", list: "an array", str: "a string"}.get(type(value), "a number")
    )
