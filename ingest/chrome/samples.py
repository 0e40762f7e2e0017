"""Samples of rejected elements."""

from __future__ import annotations

from .scan import MARK, QUOTE, STRING_TOKEN, TOKEN

_BYTES = 1000


def sample(text: bytes, known: frozenset[str], fault: int | None = None) -> bytes:
    """Return the part of a rejected element that may be shown: the text of one event, as far as it is one.

    It ends at a syntax error, and before a key that no event has: what follows may surround the array
    and be secret.
    """
    shown = text[: _BYTES if fault is None else min(fault, _BYTES)]
    if not shown.startswith(b"{"):
        return b""
    depth, previous = 0, None
    for match in TOKEN.finditer(shown):
        kind, at = match.lastindex, match.end()
        if kind == MARK:
            mark = shown[at - 1]
            if mark == b":"[0] and depth == 1 and previous is not None:
                key = previous.group(STRING_TOKEN)[1:-1].decode("utf-8", "replace")
                if key not in known:
                    return shown[: previous.start(STRING_TOKEN)].rstrip(b" \t\n\r,")
            depth += (mark in b"{[") - (mark in b"}]")
            if depth == 0:
                return shown[:at]
        previous = match if kind == STRING_TOKEN else None
        if kind in (QUOTE, None):
            break
    return shown
