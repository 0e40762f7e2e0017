"""Files of a lake that cannot be read: which they are, and why.

DuckDB names the file in some of its errors and none in others ("TProtocolException: Invalid data"), and some of what a
damaged file makes it meet ends its whole database. So a question that failed is not asked for the cause: the files it
read are read again, each by a database of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from . import modules
from .errors import InputError
from .layout import Layout
from .paths import TRACE_ID, is_plain_file, parquet_rows

if TYPE_CHECKING:
    import duckdb

#: Characters shown of what the database says.
SHOWN = 200
#: A file of the lake in a message: of a stored relation, or of events.
_NAMED = re.compile(rf"(?:marts/(\w+)|events)/trace_id=({TRACE_ID.pattern})")


@dataclass
class Found:
    """What cannot be read.

    Attributes:
        events: traces with a damaged file of events, and the reason.
        stored: damaged files of stored relations, which can be computed again.
        fatal: the connection that met them answers no more.
    """

    events: dict[str, str] = field(default_factory=dict)
    stored: list[tuple[str, Path]] = field(default_factory=list)
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


def reason_of(error: BaseException) -> str:
    """Return the first line of what the database says: the others quote the query."""
    return str(error).partition("\n")[0][:SHOWN]


def may_be_damage(error: BaseException) -> bool:
    """Whether a query may have failed by a damaged file, and not by a value, memory or an interrupt."""
    import duckdb

    # What its Parquet reader throws is often of no class of its own.
    kinds = (
        duckdb.InvalidInputException, duckdb.IOException, duckdb.InternalException, duckdb.FatalException,
        duckdb.SerializationException,
    )  # fmt: skip
    return (isinstance(error, kinds) and not isinstance(error, duckdb.HTTPException)) or type(error) is duckdb.Error


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
        self, files: Iterable[Path], *, rows: int | None = None, whole: bool = False, columns: Iterable[str] = ()
    ) -> str | None:
        """Return what is wrong with files of Parquet; None where nothing is.

        Args:
            files: the files.
            rows: how many rows they have together; any number where not given.
            whole: read all of each, and not only how many rows it says it has.
            columns: columns that each has.
        """
        import duckdb

        counted = 0
        for path in files:
            try:
                counted += self._rows(path, whole=whole, columns=columns)
            except (duckdb.Error, UnicodeDecodeError) as error:
                self.__exit__()
                # Where DuckDB names the file, it is not named twice.
                reason = re.sub(rf"[Ff]ile ['\"]{re.escape(str(path))}['\"]", "the file", str(error))
                return f"{path}: {reason.partition(chr(10))[0][:SHOWN]}"
        return f"{counted} of {rows} events are there" if rows not in (None, counted) else None

    def fault_of_all(self, files: Sequence[Path], *, rows: int) -> str | None:
        """Return what is wrong with many files, looked at together; it may be wrong with any of them."""
        import duckdb

        try:
            counted = self._rows(*files) if files else 0
        except (duckdb.Error, UnicodeDecodeError) as error:
            self.__exit__()
            return reason_of(error)
        return None if counted == rows else f"{counted} of {rows} events are there"

    def value(self, path: Path, column: str) -> object:
        """Return the value of a column of a file with one row; None where it cannot be read."""
        import duckdb

        try:
            if self._rows(path) == 1 and self._connection is not None:
                return self._connection.execute(f"SELECT {column} FROM {parquet_rows([path])}").fetchall()[0][0]
        except (duckdb.Error, UnicodeDecodeError):
            self.__exit__()
        return None

    def _rows(self, *files: Path, whole: bool = False, columns: Iterable[str] = ()) -> int:
        import duckdb

        if self._connection is None:
            self._connection = duckdb.connect(config={"threads": 1})
        source = parquet_rows(files)
        if named := ", ".join(f'"{column}"' for column in columns):
            self._connection.execute(f"SELECT {named} FROM {source} LIMIT 0")
        if whole:
            self._connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {source}").fetchall()
        [(count,)] = self._connection.execute(f"SELECT count(*) FROM {source}").fetchall()
        return int(count)


def find(layout: Layout, traces: Iterable[str], relations: Iterable[str], error: BaseException) -> Found:
    """Return what cannot be read of the events of some traces, and of what is stored of some relations.

    Args:
        layout: the lake.
        traces: traces whose events were read.
        relations: stored relations that were read.
        error: what the query failed with; the files that it names are looked at alone.
    """
    wanted, stored = set(traces), set(relations)
    named = {(relation, trace_id) for relation, trace_id in _NAMED.findall(str(error))}
    events = [one for one in sorted(wanted) if not named or ("", one) in named]
    rows = [
        (relation, path)
        for relation in sorted(stored)
        for trace_id in layout.trace_ids()
        if not named or (relation, trace_id) in named
        if is_plain_file(path := layout.mart_file(relation, trace_id))
    ]
    found = Found(fatal=is_fatal(error))
    with Probe() as probe:
        for whole in (False, True):
            # How many rows a file has is at its end, and most damage shows there.
            found.stored = [
                (relation, path)
                for relation, path in rows
                if probe.fault([path], whole=whole, columns=_columns_of(relation))
            ]
            faults = ((one, probe.fault(layout.event_files(one), whole=whole)) for one in events)
            found.events = {one: reason for one, reason in faults if reason}
            if found:
                break
    return found


def _columns_of(relation: str) -> list[str]:
    """Return the columns of a stored relation: a sound file of Parquet may be another table's."""
    entry = modules.module(relation)
    return [column.name for column in entry.columns] if entry else []


def remove_stored(found: Found) -> None:
    """Remove damaged rows that can be computed again.

    Raises:
        InputError: the lake cannot be written to.
    """
    for relation, path in found.stored:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path}: stored rows of {relation} can be neither read nor removed: {error.strerror}. "
                "Without the file they are computed again."
            ) from error
