"""The tables of a lake: Delta tables of Parquet files, written by appending.

A data file is written first; then the table's log names it, in one atomic step. A file that no log names does not
exist for readers: a writer that was killed leaves one behind. Delta's library keeps the logs; DuckDB reads the
files that they name, so the log has each file's range of traces.

In an object store the log is written by conditional puts, so one of two writers is later and adds to what the other
wrote. Only the catalog is written on condition that there was no other change, see `insert`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import InputError
from . import logs
from .files import fsync_path
from .objects import ObjectPath, StoreError, each, reason_of, storage_options
from .paths import Place, as_text, is_plain_folder, plain_files, plain_folders
from .table_types import delta_schema, statistics, write_rows

if TYPE_CHECKING:
    from deltalake import DeltaTable

#: The number of retries after conflicts with other writers before giving up.
MOST_CONFLICTS = 100

#: Changes between checkpoints of a log: opening a table reads the changes since the last one.
_CONFIGURATION = {"delta.checkpointInterval": "10"}
#: What is read of a table's files in its log.
_OF_FILES = {"path", "size_bytes", "min.trace_id", "max.trace_id", "min.batch_id", "max.batch_id"}


@dataclass(frozen=True)
class DataFile:
    """A file of a table.

    Attributes:
        path: the file.
        traces: the first and last trace with rows in it.
        batches: the first and last batch that computed its rows.
        size: its bytes, 0 if unknown.
    """

    path: Place
    traces: tuple[str, str] = ("", "g")
    batches: tuple[str, str] = ("", "")
    size: int = 0

    def may_have(self, trace_id: str) -> bool:
        """Whether the file may have rows of a trace."""
        return self.traces[0] <= trace_id <= self.traces[1]

    def may_hold(self, trace_id: str, batch_id: str) -> bool:
        """Whether the file may have rows of a trace computed by a batch."""
        return self.may_have(trace_id) and self.batches[0] <= batch_id <= self.batches[1]

    def fault(self) -> str | None:
        """Return how the file on disk differs from the table's log, if it does: it is missing, or of another size."""
        try:
            there = self.path.stat().st_size
        except OSError as error:
            return f"{self.path}: cannot be read: {error.strerror}."
        if there == (self.size or there):
            return None
        return f"{self.path}: {there} bytes, where the table's log has {self.size}: a file was replaced or changed."


class OvertakenError(Exception):
    """Another writer has changed a table since its log was read."""


def overtaken(name: str) -> OSError:
    """Return the error of a writer that lost too many conflicts."""
    return OSError(errno.EIO, f"the log of {name} cannot be written: others write to it all the time")


class Tables:
    """The Delta tables in a folder, by name."""

    #: Files that cannot be read: excluded from their tables for the rest of this process.
    lost: ClassVar[set[Place]] = set()

    def __init__(self, root: Place) -> None:
        """Initialise without reading."""
        self._root = root
        #: The files of each table, and the version of its log they come from.
        self._known: dict[str, tuple[int, list[DataFile]]] = {}
        #: Open tables in a folder; they are updated incrementally.
        self._handles: dict[str, DeltaTable] = {}
        #: Tables in an object store whose version was checked since `look_again`.
        self._looked: set[str] = set()

    @property
    def is_remote(self) -> bool:
        """Whether the tables are in an object store, where others may write to them at any time."""
        return isinstance(self._root, ObjectPath)

    def path(self, name: str) -> Place:
        """Return the folder of a table."""
        return self._root / name

    def names(self) -> list[str]:
        """Return the names of the existing tables."""
        if isinstance(self._root, ObjectPath):
            return [path.name for path in plain_folders(self._root)]
        return sorted(path.name for path in self._root.glob("*") if is_plain_folder(path / "_delta_log"))

    def has_lost_log(self, name: str) -> bool:
        """Whether a table has files but no log, which was deleted, or whose first writer was killed."""
        return Tables.version(self, name) < 0 and bool(plain_files(self.path(name), ".parquet"))

    def version(self, name: str) -> int:
        """Return the number of a table's latest change, -1 if there is no table."""
        log = self.path(name) / "_delta_log"
        if isinstance(log, ObjectPath):
            last = self._known[name][0] if name in self._known else -1
            later = [path.name[:20] for path in log.below(f"{last:020d}~" if last >= 0 else "")]
            return max((int(number) for number in later if number.isdecimal()), default=last)
        try:
            # Of old changes possibly only a checkpoint is left.
            numbers = [entry[:20] for entry in os.listdir(log)]  # noqa: PTH208
        except FileNotFoundError:
            return -1
        return max((int(number) for number in numbers if number.isdecimal()), default=-1)

    def files(self, name: str) -> list[DataFile]:
        """Return the readable files of a table's latest version; empty if there is no table.

        Raises:
            InputError: its log cannot be read.
        """
        return [file for file in self.named(name) if file.path not in self.lost]

    def named(self, name: str) -> list[DataFile]:
        """Return the files that a table's log names, readable or not."""
        known = self._known.get(name)
        if known is None or name not in self._looked:
            version = Tables.version(self, name)
            if known is None or known[0] != version:
                known = self._known[name] = (version, [] if version < 0 else self._read(name, version))
            if self.is_remote:
                self._looked.add(name)
        return known[1]

    def look(self, names: Iterable[str]) -> None:
        """Read the logs of tables about to be used: in an object store concurrently, in the time of one.

        Raises:
            InputError: a log cannot be read.
        """
        if self.is_remote and (new := [name for name in names if name not in self._looked]):
            each(self.files, new)

    def look_again(self) -> None:
        """Have the tables' versions checked again; in an object store that is a request each."""
        self._looked.clear()

    def append(self, name: str, files: Iterable[tuple[Path, Mapping[str, Any]]], columns: Mapping[str, str]) -> None:
        """Move Parquet files into a table, creating it if missing.

        Args:
            name: the table.
            files: files on the same file system, each with its statistics in Delta's format: numRecords, minValues,
                maxValues.
            columns: the columns and their DuckDB types; columns that the table lacks are added.
        """
        folder = self.path(name)
        folder.mkdir(parents=True, exist_ok=True)
        actions = [_moved(file, folder, found) for file, found in files]
        for _ in range(MOST_CONFLICTS):
            with contextlib.suppress(OvertakenError):
                return self._commit(name, actions, columns)
        raise overtaken(name)

    def _commit(self, name: str, actions: Sequence[Any], columns: Mapping[str, str], after: int | None = None) -> None:
        """Add files to a table's log, creating the table if missing.

        Args:
            name: the table.
            actions: Delta's actions that add the files.
            columns: the columns and their DuckDB types.
            after: the latest change that the writer has seen.

        Raises:
            OvertakenError: another writer was faster; without `after`, only if its change conflicts with this one.
            OSError: the log cannot be written.
        """
        from deltalake import CommitProperties
        from deltalake.transaction import create_table_with_add_actions

        wanted = delta_schema(columns)
        with _committing(self.path(name)):
            version = Tables.version(self, name)
            if after not in (None, version):
                raise OvertakenError
            if version < 0:
                folder = self.path(name)
                create_table_with_add_actions(
                    _address(folder), wanted, [*actions], storage_options=_options(folder), configuration=_CONFIGURATION
                )
                return
            table = self._open(name, after)
            there = {field.name: field.type for field in table.schema().fields}
            if any(there.get(field.name, field.type) != field.type for field in wanted.fields):
                # Column types have changed: the old rows were computed by other rules and will be renewed.
                table.create_write_transaction([*actions], "overwrite", wanted)
                return
            if new := [field for field in wanted.fields if field.name not in there]:
                table.alter.add_columns(new)
                if after is not None:
                    raise OvertakenError
            once = None if after is None else CommitProperties(max_commit_retries=0)
            table.create_write_transaction([*actions], "append", table.schema(), commit_properties=once)

    def insert(
        self, name: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], after: int | None = None
    ) -> None:
        """Append a few rows, given as dicts, each of a trace; missing values are NULL.

        Args:
            name: the table.
            rows: the rows.
            columns: the columns and their DuckDB types; columns that the table lacks are added.
            after: in an object store, the latest change that the writer has seen.

        Raises:
            OvertakenError: there are later changes; nothing was appended.
        """
        folder = self.path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if not self.is_remote and self.version(name) < 0:
            # The log first: a reader that finds a file without a log takes it for deleted.
            self._commit(name, [], columns)
        with tempfile.TemporaryDirectory() if self.is_remote else contextlib.nullcontext(str(folder)) as beside:
            path = Path(beside) / f".{uuid.uuid4().hex}"
            try:
                write_rows(path, rows, columns)
                found = statistics(len(rows), [str(row["trace_id"]) for row in rows])
                if after is None:
                    self.append(name, [(path, found)], columns)
                else:
                    self._commit(name, [_moved(path, folder, found)], columns, after)
            finally:
                path.unlink(missing_ok=True)

    def rewrite(self, name: str, files: Iterable[tuple[Path, Mapping[str, Any]]], former: Iterable[DataFile]) -> None:
        """Replace files that a table had when its log was read; those that others have added since stay.

        Files that cannot be read are taken out as well.

        Raises:
            OvertakenError: another process has removed some of these.
        """
        folder = self.path(name)
        actions = [_moved(file, folder, found) for file, found in files]
        gone = [*former, *(file for file in self.named(name) if file.path in self.lost)]
        with _committing(folder):
            table = self._open(name, self._known[name][0] if self.is_remote else None)
            table.create_write_transaction([*actions, *map(_removed, gone)], "append", table.schema())
            # Reopened: a table opened before the change would write a checkpoint of the old version.
            self._open(name).create_checkpoint()

    def drop(self, name: str, files: Iterable[DataFile]) -> None:
        """Remove files from a table; it is no error if another process removes them concurrently."""
        with contextlib.suppress(OvertakenError), _committing(self.path(name)):
            table = self._open(name)
            table.create_write_transaction([*map(_removed, files)], "append", table.schema())

    def vacuum(self, hours: float) -> None:
        """Delete files of all tables that no version of the last hours names."""

        def one(name: str) -> None:
            if self.version(name) < 0:
                # A writer that was killed left a file but no table.
                return
            with contextlib.suppress(OvertakenError), _committing(self.path(name)):
                self._open(name).vacuum(retention_hours=int(hours), dry_run=False, enforce_retention_duration=False)

        self.each(one, self.names())

    def each(self, work: Callable[[str], None], names: Iterable[str]) -> None:
        """Run work on tables; in an object store concurrently, since it waits for requests."""
        if self.is_remote:
            each(work, names)
        else:
            for name in names:
                work(name)

    def _open(self, name: str, version: int | None = None) -> DeltaTable:
        from deltalake import DeltaTable

        if version is None and name in self._handles:
            self._handles[name].update_incremental()
            return self._handles[name]
        folder = self.path(name)
        opened = DeltaTable(_address(folder), version, storage_options=_options(folder))
        if version is None and not self.is_remote:
            self._handles[name] = opened
        return opened

    def _read(self, name: str, version: int) -> list[DataFile]:
        folder = self.path(name)
        rows = None if isinstance(folder, ObjectPath) or name in self._handles else logs.rows(folder, version)
        if rows is None:
            rows = self._asked(name)
        for row in rows:
            # The lake may be untrusted: only files inside the table are read.
            if "/" in row["path"] or "\\" in row["path"] or (folder / row["path"]).is_symlink():
                raise InputError(f"{folder}: the table's log names a file elsewhere: {row['path']!r}.")
        return [
            DataFile(
                _file(folder, row["path"], row["size_bytes"]),
                (row.get("min.trace_id") or "", row.get("max.trace_id") or "g"),
                (row.get("min.batch_id") or "", row.get("max.batch_id") or ""),
                row["size_bytes"],
            )
            for row in rows
        ]

    def _asked(self, name: str) -> list[dict[str, Any]]:
        """Return the files of a table, read by Delta's library."""
        from deltalake.exceptions import DeltaError

        try:
            found = self._open(name).get_add_actions(flatten=True)
        except (DeltaError, OSError, ValueError) as error:
            reason = reason_of(error) if self.is_remote else str(error).partition("\n")[0]
            again = "" if name in ("traces", "settings") else "\n  Remove this folder: its rows are computed again."
            raise InputError(f"{self.path(name)}: the table's log cannot be read: {reason}{again}") from error
        columns = [(column, found.column(column).to_pylist()) for column in found.schema.names if column in _OF_FILES]
        return [{column: values[nth] for column, values in columns} for nth in range(found.num_rows)]


def _address(folder: Place) -> str:
    """Return the address of a table for Delta's library."""
    return folder.url if isinstance(folder, ObjectPath) else as_text(folder)


def _options(folder: Place) -> dict[str, str] | None:
    return storage_options() if isinstance(folder, ObjectPath) else None


def _file(folder: Place, name: str, size: int) -> Place:
    """Return a file of a table; it is immutable."""
    return ObjectPath.lasting(f"{folder}/{name}", size) if isinstance(folder, ObjectPath) else folder / name


@contextlib.contextmanager
def _committing(folder: Place) -> Iterator[None]:
    """Translate errors of the disk or the store.

    Raises:
        OvertakenError: in an object store another writer was faster.
        OSError: the table's log cannot be written.
    """
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except (DeltaError, OSError) as error:
        if isinstance(folder, ObjectPath):
            if isinstance(error, CommitFailedError) or "already exists" in str(error):
                raise OvertakenError from error
            raise StoreError(folder.url, error) from error
        if isinstance(error, OSError):
            raise
        raise OSError(errno.EIO, f"a table's log cannot be written: {str(error).partition(chr(10))[0]}") from error


def _moved(file: Path, folder: Place, found: Mapping[str, Any]) -> Any:
    """Move a file into a table's folder and return the action that adds it to the log."""
    from deltalake.transaction import AddAction

    moved = folder / f"{uuid.uuid4().hex}.parquet"
    size = file.stat().st_size
    if isinstance(moved, ObjectPath):
        moved.write(file)
    else:
        fsync_path(file)
        file.replace(moved)
    return AddAction(moved.name, size, {}, int(time.time() * 1000), True, json.dumps(found))


def _removed(file: DataFile) -> Any:
    """Return the action that removes a file from a table's log."""
    from deltalake.transaction import RemoveAction

    return RemoveAction(file.path.name, data_change=True, deletion_timestamp=int(time.time() * 1000))
