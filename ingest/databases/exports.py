"""Which profiler wrote a database: by its tables, whatever its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ...engine.errors import InputError
from ...engine.secrets import redact
from ..reader import Reading
from ..source import Source
from .nsys import Nsys
from .parts import Part
from .sqlite import MAGIC, SqliteTables
from .tables import Tables

if TYPE_CHECKING:
    import pyarrow as pa


class Export(Protocol):
    """What one profiler's databases hold.

    Attributes:
        what: how such a database is called.
        advice: what to do about one without events.
        parts: its tables of events, in the order in which they are read.
    """

    what: str
    advice: str
    parts: list[Part]

    def arranged(self, part: Part, batch: pa.Table) -> pa.Table:
        """Return a batch of rows with what the part's SELECT needs beside its columns."""

    def reading(self, first: int, events: int) -> Reading:
        """Return what it says of itself, once all is read: events from `first` to before `events` are its."""


def open_tables(source: Source) -> Tables:
    """Open what a source is the beginning of.

    Raises:
        InputError: it cannot be read where it lies.
    """
    if source.path is None:
        raise InputError("standard input: a SQLite database is read from a file; write it to one.")
    with source.path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{source.name}: a compressed SQLite database: decompress it first (gzip -d, zstd -d).")
    return SqliteTables(source.path)


def export_of(tables: Tables, name: str) -> Export:
    """Return what wrote the tables.

    Raises:
        InputError: nobody knows them.
    """
    names = set(tables.columns)
    if Nsys.knows(names):
        return Nsys(tables)
    shown = redact(", ".join(sorted(names)))[:200] or "none"
    raise InputError(
        f"{name}: not a trace but a SQLite database of another tool than Nsight Systems, rocprofiler-sdk and msprof "
        f"(tables: {shown}): export the trace from the tool that wrote it."
    )
