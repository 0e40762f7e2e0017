"""Finds the files of a lake that cannot be read, and why.

Only some of DuckDB's errors name the file (others: "TProtocolException: Invalid data"), and some errors on a damaged
file invalidate the whole database. So the cause is not taken from the failed query: the files it read are read
again, in a separate database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .connection import database, have_read
from .errors import InputError, UsageError
from .sql import modules
from .storage.objects import store_reason
from .storage.paths import TRACE_ID, Place, parquet_rows

if TYPE_CHECKING:
    import duckdb

#: Characters of a database error that are shown.
SHOWN = 200
#: A file of the lake in an error message: of events, or of a table.
_NAMED = re.compile(rf"events/trace_id=({TRACE_ID.pattern})|tables/\w+/([0-9a-f]+\.parquet)")
_RAISED = re.compile(r"^[\w.]+Error: (?:\[Errno \d+\] )?(.+)$", re.MULTILINE)


@dataclass
class Found:
    """Files that cannot be read.

    Attributes:
        events: traces with a damaged event file, and the reason.
        stored: damaged files of stored relations, whose rows can be computed again.
        fatal: the error invalidated the connection.
    """

    events: dict[str, str] = field(default_factory=dict)
    stored: list[Place] = field(default_factory=list)
    fatal: bool = False

    def __bool__(self) -> bool:
        """Whether any damaged file was found."""
        return bool(self.events or self.stored)


class DamagedError(Exception):
    """A query met damaged files; it can be retried without them."""

    def __init__(self, found: Found) -> None:
        """Store what was found."""
        super().__init__(f"damaged: {found}")
        self.found = found


def reason_of(error: BaseException | str) -> str:
    """Return the line of a database error that has the reason; other lines quote the query or code."""
    text = str(error)
    # An error while reading an object is a Python exception, which starts with its traceback.
    raised = _RAISED.search(text) if text.startswith("Traceback") else None
    return (raised[1] if raised else text.partition("\n")[0])[:SHOWN]


def check_usable(error: BaseException) -> None:
    """Check that an error does not mean that the object store or the connection is unusable.

    Raises:
        InputError: the object store is, so it is not about any file.
        UsageError: an answer that has not been read to its end holds the connection.
    """
    import duckdb

    if isinstance(error, duckdb.ResourceInUseException):
        raise UsageError(
            "an answer has not been read to its end: read, or delete, the reader that .arrow() returned; "
            ".to_arrow_table() and .pl() return all rows at once."
        ) from error
    if reason := store_reason(error):
        raise InputError(f"{reason}.") from error


def may_be_damage(error: BaseException) -> bool:
    """Whether a damaged file may have caused an error, and not a value, memory, an interrupt or the network."""
    import duckdb

    # Errors of DuckDB's Parquet reader are often plain `duckdb.Error`.
    kinds = (
        duckdb.InvalidInputException, duckdb.IOException, duckdb.InternalException, duckdb.FatalException,
        duckdb.SerializationException,
    )  # fmt: skip
    found = (isinstance(error, kinds) and not isinstance(error, duckdb.HTTPException)) or type(error) is duckdb.Error
    return found and not store_reason(error)


def is_fatal(error: BaseException) -> bool:
    """Whether an error invalidated the database."""
    import duckdb

    return isinstance(error, duckdb.InternalException | duckdb.FatalException)


def fault(
    files: Iterable[Place], *, rows: int | None = None, whole: bool = False, columns: Iterable[str] = ()
) -> str | None:
    """Return what is wrong with Parquet files; None if nothing is.

    They are read in a separate database, since an internal error invalidates the database it occurs in.

    Args:
        files: the files.
        rows: the expected total number of rows; default: not checked.
        whole: read all data, not only the row count in the footer.
        columns: columns that each file must have.

    Raises:
        InputError: the object store cannot be used.
    """
    import duckdb

    counted = 0
    for path in files:
        try:
            with database(1) as connection:
                counted += _rows(connection, path, whole=whole, columns=columns)
        except (duckdb.Error, UnicodeDecodeError) as error:
            check_usable(error)
            # Do not name the file twice where DuckDB names it.
            reason = re.sub(rf"[Ff]ile ['\"][^'\"]*{re.escape(str(path))}['\"]", "the file", str(error))
            return f"{path}: {reason_of(reason)}"
    return f"{counted} of {rows} events are there" if rows not in (None, counted) else None


def _rows(connection: duckdb.DuckDBPyConnection, file: Place, *, whole: bool, columns: Iterable[str]) -> int:
    have_read(connection, file)
    source = parquet_rows([file])
    if named := ", ".join(f'"{column}"' for column in columns):
        connection.execute(f"SELECT {named} FROM {source} LIMIT 0")
    if whole:
        connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {source}").fetchall()
    [(count,)] = connection.execute(f"SELECT count(*) FROM {source}").fetchall()
    return int(count)


def find(
    events: Mapping[str, Sequence[Place]], stored: Iterable[tuple[modules.Module, Place]], error: BaseException
) -> Found:
    """Return which of some files cannot be read.

    Args:
        events: the event files of some traces.
        stored: files of stored relations.
        error: the query's error; if it names files, only those are checked.
    """
    found = Found(fatal=is_fatal(error))
    named = _NAMED.findall(str(error))
    traces, files = {trace_id for trace_id, _ in named}, {file for _, file in named}
    rows = [(entry, path) for entry, path in stored if not named or path.name in files]
    for whole in (False, True):
        # The footer at the end of a file has its row count, and most damage shows there.
        found.stored = [
            path
            for entry, path in rows
            if fault([path], whole=whole, columns=[column.name for column in entry.columns])
        ]
        faults = ((one, fault(events[one], whole=whole)) for one in events if not named or one in traces)
        found.events = {one: reason for one, reason in faults if reason}
        if found:
            break
    return found
