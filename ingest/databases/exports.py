"""Recognises which profiler wrote a database, by its tables, regardless of its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...engine.errors import InputError
from ...engine.secrets import redact
from ..foreign import ROCPD
from ..reader import Reading
from ..source import Source
from .folder import MAGICS, FolderTables, table_files
from .msprof import Msprof
from .nsys import Nsys
from .parts import Part
from .rocpd import Rocpd
from .sqlite import MAGIC, SqliteTables
from .tables import Tables

if TYPE_CHECKING:
    import pyarrow as pa


class Export(Protocol):
    """The databases of one profiler.

    Attributes:
        what: the name of such a database.
        advice: what to do about one without events.
        strings: its table of texts, `id, value`.
        parts: its tables of events, in reading order.
    """

    what: str
    advice: str
    strings: str
    parts: list[Part]

    def arranged(self, part: Part, batch: pa.Table) -> pa.Table:
        """Return a batch of rows with the additional columns that the part's SELECT needs."""

    def reading(self, first: int, events: int) -> Reading:
        """Return the facts about itself, after all is read; its events are those from `first` to before `events`."""


def is_export(head: bytes, path: Path | None) -> bool:
    """Whether a file's beginning is that of a database, or of a table in an export's folder."""
    if head.startswith(MAGICS):
        return path is not None and path.absolute() in table_files(path.absolute().parent)
    return head.startswith(MAGIC)


def is_later_file(path: Path | None) -> bool:
    """Whether a file is one of an export's folder, but not the first."""
    return path is not None and path.absolute() in table_files(path.absolute().parent)[1:]


def is_known(path: Path) -> bool:
    """Whether a file is a database of a supported profiler, or may be one but cannot be opened."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
        tables = SqliteTables(path)
    except OSError:
        return False
    except InputError:
        return True
    tables.close()
    return any(export.knows(set(tables.columns)) for export in (Nsys, Rocpd, Msprof))


def open_tables(source: Source) -> Tables:
    """Open the tables that a source belongs to.

    Raises:
        InputError: they cannot be read at their location.
    """
    if source.path is None:
        raise InputError("standard input: a SQLite database is read from a file; write it to one.")
    with source.path.open("rb") as file:
        head = file.read(len(MAGIC))
        if head.startswith(MAGICS):
            return FolderTables(source.path.absolute().parent)
        if head != MAGIC:
            raise InputError(f"{source.name}: a compressed SQLite database: decompress it first (gzip -d, zstd -d).")
    return SqliteTables(source.path)


def export_of(tables: Tables, name: str) -> Export:
    """Return the export format of the tables.

    Raises:
        InputError: the format is unknown.
    """
    names = set(tables.columns)
    if Nsys.knows(names):
        return Nsys(tables)
    if isinstance(tables, SqliteTables) and Rocpd.knows(names):
        return Rocpd(tables)
    if isinstance(tables, SqliteTables) and Msprof.knows(names):
        return Msprof(tables)
    if {"rocpd_api", "rocpd_op"} <= names:
        # Kernels that rpd2tracing.py writes have no category.
        raise InputError(f"{name}: not a trace but a database of RPD: {ROCPD}")
    if Nsys.is_nvprof(names):
        raise InputError(
            f"{name}: not a trace but a database of nvprof: record with Nsight Systems (nsys profile), and export the "
            "report: nsys export --type sqlite FILE.nsys-rep"
        )
    shown = redact(", ".join(sorted(names)))[:200] or "none"
    raise InputError(
        f"{name}: not a trace but a SQLite database of another tool than Nsight Systems, rocprofiler-sdk and msprof "
        f"(tables: {shown}): export the trace from the tool that wrote it."
    )
