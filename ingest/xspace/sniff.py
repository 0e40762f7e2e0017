"""Recognises an XSpace by its first bytes."""

from __future__ import annotations

import codecs

from ...engine.errors import InputError
from .planes import PLANE_ID, PLANE_NAME, PLANE_STATS, SPACE_PLANES
from .wire import BYTES, VARINT, WireError, field_at

_LONGEST_NAME = 256
#: The wire type of each field of a plane.
_WIRES = {PLANE_ID: VARINT} | dict.fromkeys(range(PLANE_NAME, PLANE_STATS + 1), BYTES)
#: The replacement character, if the binary file was once read as text.
_UNKNOWN = "\ufffd"


def is_xspace(head: bytes, name: str) -> bool:
    """Return whether a file begins like an XSpace: with a plane, whose name is preceded by fields of a plane alone.

    Writers put the fields in the order of their numbers, as a rule. If the name is beyond `head`, the file's decides.

    Raises:
        InputError: it is one whose bytes were corrupted.
    """
    if _was_text(head):
        raise InputError(f"{name}: an XSpace that was once read as text: bytes are lost. Copy it again, as binary.")
    try:
        plane = field_at(head, 0)
        if (plane.number, plane.wire) != (SPACE_PLANES, BYTES):
            return False
        at = plane.start
        while at < min(plane.end, len(head)):
            one = field_at(head, at)
            if one.wire != _WIRES.get(one.number):
                return False
            if one.number == PLANE_NAME:
                found = head[one.start : one.end]
                is_whole = 0 < one.end - one.start == len(found) < _LONGEST_NAME
                return is_whole and found.isascii() and found.decode().isprintable()
            at = one.end
    except WireError:
        return False
    return at > len(head) and ".xplane.pb" in name.lower()


def _was_text(head: bytes) -> bool:
    if not head.startswith(b"\n"):
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return text.count(_UNKNOWN) > 3 and ("/device:" in text or "/host:" in text)
