"""Chooses the reader of a file by its first bytes; its name does not matter."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

from ..engine.errors import InputError
from ..engine.secrets import redact
from .ascend.companions import DocumentReader, document_kind, table_kind
from .ascend.lines import read_header
from .ascend.table import HEADER_LIMIT, KERNELS, TableReader
from .chrome.reader import ChromeReader
from .databases.exports import is_export
from .databases.reader import DatabaseReader
from .foreign import foreign
from .lanes import LaneWriter
from .notes import Notes
from .reader import Reader
from .source import Source
from .xspace.reader import XSpaceReader
from .xspace.sniff import is_xspace

XSPACE = "xspace"
#: Separators of tables used instead of commas.
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
#: The kind of a profiler's database.
DATABASE = "database"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: Number of required columns of a table of kernels: name, start and duration. A table with some is meant as one.
_KERNEL_NEEDS = 3


def kind_of(head: bytes, name: str, path: Path | None = None) -> str:
    """Return the kind of a file: `trace`, `kernels`, `xspace`, `database`, or the kind of a companion of tables.

    Anything unrecognised is a `trace`, whose reader gives the best error.

    Raises:
        InputError: the file is a table of an unknown kind, or a file of another kind.
    """
    if binary := _binary_kind(head, name, path):
        return binary
    if about := foreign(head, name):
        raise InputError(f"{name}: not a trace but {about}")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        return document_kind(head) or "trace"
    header = None if head.startswith(_UTF16) else read_header(head)
    if header is None:
        if name.lower().endswith(".csv"):
            raise InputError(f"{name}: not a table: its first line is not a header; {_instead_of_header(head)}.")
        return "trace"
    columns = header.columns
    if not columns.missing:
        return KERNELS
    if kind := table_kind(list(columns.header)):
        return kind
    if len(columns.header) == 1:
        for mark, shown in _OTHER_SEPARATORS.items():
            if mark in header.text:
                raise InputError(f"{name}: its columns are separated by {shown}; expected commas.")
    if name.lower().endswith(".csv") or len(columns.missing) < _KERNEL_NEEDS:
        raise InputError(
            f"{name}: not a table of kernels: it lacks {', '.join(columns.missing)}; its columns are "
            f"{redact(', '.join(columns.header))[:300]}."
        )
    return "trace"


def _instead_of_header(head: bytes) -> str:
    """Return why the beginning of a table has no header."""
    if not head:
        return "the file is empty"
    try:
        # The last character may be cut off.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "the file is no text in UTF-8"
    first = head.partition(b"\n")[0].strip()
    if not first:
        return "it is blank"
    return "its lines end in CR alone; expected LF, or CR and LF" if b"\r" in first else "it has control characters"


def _binary_kind(head: bytes, name: str, path: Path | None) -> str:
    if is_xspace(head, name):
        return XSPACE
    return DATABASE if is_export(head, path) else ""


def reader_of(
    source: Source,
    writers: list[LaneWriter],
    notes: Notes,
    progress: Callable[[int], None],
    *,
    events: int = 0,
    device: int = 0,
) -> Reader:
    """Return the reader of a file.

    Args:
        source: the file's bytes; some are peeked at, none is consumed.
        writers: of the lanes.
        notes: collects what could not be read.
        progress: called with the number of events so far.
        events: events of the trace from earlier files.
        device: the device of rows that do not name one.

    Raises:
        InputError: no reader supports the file.
    """
    kind = kind_of(source.peek(HEADER_LIMIT), source.name, source.path)
    if kind == XSPACE:
        return XSpaceReader(source, writers, notes, progress, events=events)
    if kind == DATABASE:
        return DatabaseReader(source, writers, notes, progress, events)
    if kind == "trace":
        return ChromeReader(source, writers, notes, progress, events=events)
    if document_kind(source.peek(HEADER_LIMIT)):
        return DocumentReader(source, writers, notes, progress, kind, events)
    return TableReader(source, writers, notes, progress, kind, events, device)
