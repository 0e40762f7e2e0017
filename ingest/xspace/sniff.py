"""Recognises an XSpace by its first bytes."""

from __future__ import annotations

import codecs

from ...engine.errors import InputError
from .planes import SPACE_PLANES
from .wire import BYTES, WireError, varint_at

_LONGEST_NAME = 256
#: The replacement character, if the binary file was once read as text.
_UNKNOWN = "\ufffd"


def is_xspace(head: bytes, name: str) -> bool:
    """Return whether a file begins like an XSpace: with a plane, which begins with its number or its name.

    Raises:
        InputError: it is one whose bytes were corrupted.
    """
    if _was_text(head):
        raise InputError(f"{name}: an XSpace that was once read as text: bytes are lost. Copy it again, as binary.")
    try:
        key, at = varint_at(head, 0)
        _, at = varint_at(head, at)
        if key != SPACE_PLANES << 3 | BYTES:
            return False
        inner, at = varint_at(head, at)
        if inner == 1 << 3:
            _, at = varint_at(head, at)
            inner, at = varint_at(head, at)
        length, at = varint_at(head, at)
    except WireError:
        return False
    found = head[at : at + length]
    if inner != 2 << 3 | BYTES or not 0 < length < _LONGEST_NAME or len(found) < length:
        return False
    return found.isascii() and found.decode().isprintable()


def _was_text(head: bytes) -> bool:
    if not head.startswith(b"\n"):
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return text.count(_UNKNOWN) > 3 and ("/device:" in text or "/host:" in text)
