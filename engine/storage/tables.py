"""The tables of a lake: Delta tables of Parquet files, appended to.

A file of rows is written first, beside the table; then the table's log names it, in one step. What a log does not name
is not there: a writer that was killed leaves a file that nobody reads. Delta's own library keeps the logs; DuckDB reads
the files that they name, which is why each file's range of traces stands in the log.

Among objects the log is written by conditional puts, so that of two writers one is later: each adds to what the other
wrote. The catalog alone is written on condition that nobody was faster, see `insert`.
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
from .paths import Place, as_text, is_plain_folder, plain_folders
from .table_types import delta_schema, statistics, write_rows

if TYPE_CHECKING:
    import pyarrow
    from deltalake import DeltaTable

#: Changes of a table that are tried again where another writer was faster, before it is called an error.
MOST_CONFLICTS = 100

#: Changes from which on a table's log is summed up: to open it costs what has come since.
_CONFIGURATION = {"delta.checkpointInterval": "10"}
#: What is read of a table's files in its log.
_OF_FILES = {"path", "size_bytes", "min.trace_id", "max.trace_id", "min.batch_id", "max.batch_id"}


@dataclass(frozen=True)
class DataFile:
    """A file of a table.

    Attributes:
        path: the file.
        traces: the first and the last trace that it has rows of.
        batches: the first and the last batch that computed its rows.
    """

    path: Place
    traces: tuple[str, str] = ("", "g")
    batches: tuple[str, str] = ("", "")

    def may_have(self, trace_id: str) -> bool:
        """Whether the file may have rows of a trace."""
        return self.traces[0] <= trace_id <= self.traces[1]

    def may_hold(self, trace_id: str, batch_id: str) -> bool:
        """Whether the file may have rows of a trace that a batch computed."""
        return self.may_have(trace_id) and self.batches[0] <= batch_id <= self.batches[1]


class OvertakenError(Exception):
    """Another writer has changed a table since it was looked at."""


def overtaken(name: str) -> OSError:
    """Return the error of a writer that was overtaken too often."""
    return OSError(errno.EIO, f"the log of {name} cannot be written: others write to it all the time")


class Tables:
    """The Delta tables in a folder, by name."""

    #: Files that cannot be read: for all of this process, they are not among those of their table any more.
    lost: ClassVar[set[Place]] = set()

    def __init__(self, root: Place) -> None:
        """Read nothing yet."""
        self._root = root
        #: What was read of a table's log, and the version it was.
        self._known: dict[str, tuple[int, list[DataFile]]] = {}
        #: Tables in a folder whose logs were read: of these only what is new is read again.
        self._handles: dict[str, DeltaTable] = {}
        #: Tables in an object store that were looked at since `look_again`.
        self._looked: set[str] = set()

    @property
    def is_remote(self) -> bool:
        """Whether the tables lie in an object store, where others may write to them at any time."""
        return isinstance(self._root, ObjectPath)

    def path(self, name: str) -> Place:
        """Return the folder of a table."""
        return self._root / name

    def names(self) -> list[str]:
        """Return the tables that are there."""
        if isinstance(self._root, ObjectPath):
            return [path.name for path in plain_folders(self._root)]
        return sorted(path.name for path in self._root.glob("*") if is_plain_folder(path / "_delta_log"))

    def version(self, name: str) -> int:
        """Return the number of the last change of a table, -1 where it is not there."""
        log = self.path(name) / "_delta_log"
        if isinstance(log, ObjectPath):
            last = self._known[name][0] if name in self._known else -1
            later = [path.name[:20] for path in log.below(f"{last:020d}~" if last >= 0 else "")]
            return max((int(number) for number in later if number.isdecimal()), default=last)
        try:
            # Of old changes only a checkpoint may be left.
            numbers = [entry[:20] for entry in os.listdir(log)]  # noqa: PTH208
        except FileNotFoundError:
            return -1
        return max((int(number) for number in numbers if number.isdecimal()), default=-1)

    def files(self, name: str) -> list[DataFile]:
        """Return the files of a table as it is now, of those that can be read; none where it is not there.

        Raises:
            InputError: its log cannot be read.
        """
        return [file for file in self.named(name) if file.path not in self.lost]

    def named(self, name: str) -> list[DataFile]:
        """Return the files that a table's log names."""
        known = self._known.get(name)
        if known is None or name not in self._looked:
            version = Tables.version(self, name)
            if known is None or known[0] != version:
                known = self._known[name] = (version, [] if version < 0 else self._read(name, version))
            if self.is_remote:
                self._looked.add(name)
        return known[1]

    def look(self, names: Iterable[str]) -> None:
        """Read the logs of tables that are about to be asked for: in an object store many at once take as long as one.

        Raises:
            InputError: a log cannot be read.
        """
        if self.is_remote and (new := [name for name in names if name not in self._looked]):
            each(self.files, new)

    def look_again(self) -> None:
        """Have the tables looked at again; in an object store that is a request for each."""
        self._looked.clear()

    def append(self, name: str, files: Iterable[tuple[Path, Mapping[str, Any]]], columns: Mapping[str, str]) -> None:
        """Move files of Parquet into a table, made first where it is not there.

        Args:
            name: the table.
            files: files on the same file system, each with its statistics by Delta's words: numRecords, minValues,
                maxValues.
            columns: the columns and DuckDB's types of them; those that the table does not have yet are added.
        """
        folder = self.path(name)
        folder.mkdir(parents=True, exist_ok=True)
        actions = [_moved(file, folder, found) for file, found in files]
        for _ in range(MOST_CONFLICTS):
            with contextlib.suppress(OvertakenError):
                return self._commit(name, actions, columns)
        raise overtaken(name)

    def _commit(self, name: str, actions: Sequence[Any], columns: Mapping[str, str], after: int | None = None) -> None:
        """Have a table's log name files, made first where it is not there.

        Args:
            name: the table.
            actions: what adds the files to the log.
            columns: the columns and DuckDB's types of them.
            after: the last change that the writer knows of.

        Raises:
            OvertakenError: another writer was faster; without `after`, where what it did does not go with this.
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
                # Columns of other types: what is there was computed by other rules, and is renewed.
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
        """Append a few rows, given by column, each of a trace; NULL where one is missing.

        Args:
            name: the table.
            rows: the rows.
            columns: the columns and DuckDB's types of them; those that the table does not have yet are added.
            after: in an object store, the last change that the writer knows of.

        Raises:
            OvertakenError: there are later changes, and nothing was appended.
        """
        folder = self.path(name)
        folder.mkdir(parents=True, exist_ok=True)
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

    def rewrite(
        self,
        name: str,
        files: Iterable[tuple[Path, Mapping[str, Any]]],
        schema: pyarrow.Schema,
        former: Iterable[DataFile],
    ) -> None:
        """Put files in the place of those that a table had when it was looked at.

        Raises:
            OvertakenError: another process has taken some of these out.
        """
        from deltalake import Schema

        folder = self.path(name)
        actions = [_moved(file, folder, found) for file, found in files]
        with _committing(folder):
            table = self._open(name, self._known[name][0] if self.is_remote else None)
            if self.is_remote:
                # What others have added meanwhile stays.
                table.create_write_transaction([*actions, *map(_removed, former)], "append", table.schema())
            else:
                table.create_write_transaction(actions, "overwrite", Schema.from_arrow(schema))
            # Anew: a table that was opened before the change would write a checkpoint of before it.
            self._open(name).create_checkpoint()

    def drop(self, name: str, files: Iterable[DataFile]) -> None:
        """Take files out of a table; those that another process takes out at once are gone as well."""
        with contextlib.suppress(OvertakenError), _committing(self.path(name)):
            table = self._open(name)
            table.create_write_transaction([*map(_removed, files)], "append", table.schema())

    def vacuum(self, hours: float) -> None:
        """Remove files that no version of the last hours names, of all tables."""

        def one(name: str) -> None:
            if self.version(name) < 0:
                # A writer that was killed has left a file, and no table.
                return
            with contextlib.suppress(OvertakenError), _committing(self.path(name)):
                self._open(name).vacuum(retention_hours=int(hours), dry_run=False, enforce_retention_duration=False)

        self.each(one, self.names())

    def each(self, work: Callable[[str], None], names: Iterable[str]) -> None:
        """Do work on tables; in an object store, where it waits, on many at once."""
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
            # A lake may be a stranger's: what it reads lies inside it.
            if "/" in row["path"] or "\\" in row["path"] or (folder / row["path"]).is_symlink():
                raise InputError(f"{folder}: the table's log names a file elsewhere: {row['path']!r}.")
        return [
            DataFile(
                _file(folder, row["path"], row["size_bytes"]),
                (row.get("min.trace_id") or "", row.get("max.trace_id") or "g"),
                (row.get("min.batch_id") or "", row.get("max.batch_id") or ""),
            )
            for row in rows
        ]

    def _asked(self, name: str) -> list[dict[str, Any]]:
        """Return the files of a table, of which Delta's library tells."""
        from deltalake.exceptions import DeltaError

        try:
            found = self._open(name).get_add_actions(flatten=True)
        except (DeltaError, OSError, ValueError) as error:
            reason = reason_of(error) if self.is_remote else str(error).partition("\n")[0]
            raise InputError(f"{self.path(name)}: the table's log cannot be read: {reason}") from error
        columns = [(column, found.column(column).to_pylist()) for column in found.schema.names if column in _OF_FILES]
        return [{column: values[nth] for column, values in columns} for nth in range(found.num_rows)]


def _address(folder: Place) -> str:
    """Return where a table lies, as Delta's library takes it."""
    return folder.url if isinstance(folder, ObjectPath) else as_text(folder)


def _options(folder: Place) -> dict[str, str] | None:
    return storage_options() if isinstance(folder, ObjectPath) else None


def _file(folder: Place, name: str, size: int) -> Place:
    """Return a file of a table: no other is ever written under its name."""
    return ObjectPath.lasting(f"{folder}/{name}", size) if isinstance(folder, ObjectPath) else folder / name


@contextlib.contextmanager
def _committing(folder: Place) -> Iterator[None]:
    """Have what a disk or a store refuses be an error of it.

    Raises:
        OvertakenError: among objects another writer was faster.
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
    """Move a file into a table's folder and return what adds it to the log."""
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
    """Return what takes a file out of a table's log."""
    from deltalake.transaction import RemoveAction

    return RemoveAction(file.path.name, data_change=True, deletion_timestamp=int(time.time() * 1000))
