"""Files of a lake that cannot be read: which they are, and why.

DuckDB names the file in some of its errors and none in others ("TProtocolException: Invalid data"), and some of what a
damaged file makes it meet ends its whole database. So a question that failed is not asked for the cause: the files it
read are read again, each by a database of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .connection import have_read
from .errors import InputError
from .sql import modules
from .storage.objects import ObjectPath, store_reason
from .storage.paths import TRACE_ID, Place, parquet_rows

if TYPE_CHECKING:
    import duckdb

_MAGIC = b"PAR1"
#: Characters shown of what the database says.
SHOWN = 200
#: A file of the lake in a message: of events, or of a table.
_NAMED = re.compile(rf"events/trace_id=({TRACE_ID.pattern})|tables/\w+/([0-9a-f]+\.parquet)")
_RAISED = re.compile(r"^[\w.]+Error: (?:\[Errno \d+\] )?(.+)$", re.MULTILINE)


@dataclass
class Found:
    """What cannot be read.

    Attributes:
        events: traces with a damaged file of events, and the reason.
        stored: damaged files of stored relations, whose rows can be computed again.
        fatal: the connection that met them answers no more.
    """

    events: dict[str, str] = field(default_factory=dict)
    stored: list[Place] = field(default_factory=list)
    fatal: bool = False

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.events or self.stored)


class DamagedError(Exception):
    """A question met damaged files; without them, it can be asked again."""

    def __init__(self, found: Found) -> None:
        """Remember what was found."""
        super().__init__(f"damaged: {found}")
        self.found = found


def is_parquet(path: Place) -> bool | None:
    """Return whether a file begins and ends as Parquet does; None of what is not there, or in an object store."""
    if isinstance(path, ObjectPath):
        return None
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
            if file.seek(0, os.SEEK_END) < 3 * len(_MAGIC):
                return False
            file.seek(-len(_MAGIC), os.SEEK_END)
            return begins == file.read() == _MAGIC
    except OSError:
        return None


def reason_of(error: BaseException | str) -> str:
    """Return the line of what the database says that has the reason: the others quote the query, or code."""
    text = str(error)
    # What fails in the reading of an object is Python's, which shows the way to it first.
    raised = _RAISED.search(text) if text.startswith("Traceback") else None
    return (raised[1] if raised else text.partition("\n")[0])[:SHOWN]


def check_reachable(error: BaseException) -> None:
    """Check that an error is not that of an object store that cannot be used.

    Raises:
        InputError: it is, and says nothing of any file.
    """
    if reason := store_reason(error):
        raise InputError(f"{reason}.") from error


def may_be_damage(error: BaseException) -> bool:
    """Whether a query may have failed by a damaged file, and not by a value, memory, an interrupt or a network."""
    import duckdb

    # What its Parquet reader throws is often of no class of its own.
    kinds = (
        duckdb.InvalidInputException, duckdb.IOException, duckdb.InternalException, duckdb.FatalException,
        duckdb.SerializationException,
    )  # fmt: skip
    found = (isinstance(error, kinds) and not isinstance(error, duckdb.HTTPException)) or type(error) is duckdb.Error
    return found and not store_reason(error)


def is_fatal(error: BaseException) -> bool:
    """Whether the database that met an error answers no more."""
    import duckdb

    return isinstance(error, duckdb.InternalException | duckdb.FatalException)


class Probe:
    """Reads files in a database apart: an internal error ends the database that meets it."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._connection: duckdb.DuckDBPyConnection | None = None

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def fault(
        self, files: Iterable[Place], *, rows: int | None = None, whole: bool = False, columns: Iterable[str] = ()
    ) -> str | None:
        """Return what is wrong with files of Parquet; None where nothing is.

        Args:
            files: the files.
            rows: how many rows they have together; any number where not given.
            whole: read all of each, and not only how many rows it says it has.
            columns: columns that each has.

        Raises:
            InputError: an object store cannot be used.
        """
        import duckdb

        counted = 0
        for path in files:
            try:
                counted += self._rows(path, whole=whole, columns=columns)
            except (duckdb.Error, UnicodeDecodeError) as error:
                self.__exit__()
                check_reachable(error)
                # Where DuckDB names the file, it is not named twice.
                reason = re.sub(rf"[Ff]ile ['\"]{re.escape(str(path))}['\"]", "the file", str(error))
                return f"{path}: {reason_of(reason)}"
        return f"{counted} of {rows} events are there" if rows not in (None, counted) else None

    def fault_of_all(self, files: Sequence[Place], *, rows: int) -> str | None:
        """Return what is wrong with many files, looked at together; it may be wrong with any of them.

        Raises:
            InputError: an object store cannot be used.
        """
        import duckdb

        try:
            counted = self._rows(*files) if files else 0
        except (duckdb.Error, UnicodeDecodeError) as error:
            self.__exit__()
            check_reachable(error)
            return reason_of(error)
        return None if counted == rows else f"{counted} of {rows} events are there"

    def _rows(self, *files: Place, whole: bool = False, columns: Iterable[str] = ()) -> int:
        import duckdb

        if self._connection is None:
            self._connection = duckdb.connect(config={"threads": 1})
        have_read(self._connection, files[0])
        source = parquet_rows(files)
        if named := ", ".join(f'"{column}"' for column in columns):
            self._connection.execute(f"SELECT {named} FROM {source} LIMIT 0")
        if whole:
            self._connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {source}").fetchall()
        [(count,)] = self._connection.execute(f"SELECT count(*) FROM {source}").fetchall()
        return int(count)


def find(
    events: Mapping[str, Sequence[Place]], stored: Iterable[tuple[modules.Module, Place]], error: BaseException
) -> Found:
    """Return what cannot be read of some files.

    Args:
        events: the files of events of some traces.
        stored: files of stored relations.
        error: what the query failed with; the files that it names are looked at alone.
    """
    found = Found(fatal=is_fatal(error))
    named = _NAMED.findall(str(error))
    traces, files = {trace_id for trace_id, _ in named}, {file for _, file in named}
    rows = [(entry, path) for entry, path in stored if not named or path.name in files]
    with Probe() as probe:
        for whole in (False, True):
            # How many rows a file has is at its end, and most damage shows there.
            found.stored = [
                path
                for entry, path in rows
                if probe.fault([path], whole=whole, columns=[column.name for column in entry.columns])
            ]
            faults = ((one, probe.fault(events[one], whole=whole)) for one in events if not named or one in traces)
            found.events = {one: reason for one, reason in faults if reason}
            if found:
                break
    return found
