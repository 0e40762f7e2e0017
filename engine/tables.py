"""The tables of a lake: Delta tables of Parquet files, appended to.

A file of rows is written first, beside the table; then the table's log names it, in one step. What a log does not name
is not there: a writer that was killed leaves a file that nobody reads. Delta's own library keeps the logs; DuckDB reads
the files that they name, which is why each file's range of traces stands in the log.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .errors import InputError
from .files import fsync_path
from .paths import as_text, is_plain_folder

if TYPE_CHECKING:
    import pyarrow
    from deltalake import DeltaTable

#: DuckDB's types that Delta does not have, and those that hold all their values.
_STORED_AS = {"UBIGINT": "DECIMAL(20, 0)", "HUGEINT": "DECIMAL(38, 0)"}

#: Changes from which on a table's log is summed up: to open it costs what has come since.
_CONFIGURATION = {"delta.checkpointInterval": "10"}


@dataclass(frozen=True)
class DataFile:
    """A file of a table.

    Attributes:
        path: the file.
        traces: the first and the last trace that it has rows of.
        batches: the first and the last batch that computed its rows.
    """

    path: Path
    traces: tuple[str, str] = ("", "g")
    batches: tuple[str, str] = ("", "")

    def may_have(self, trace_id: str) -> bool:
        """Whether the file may have rows of a trace."""
        return self.traces[0] <= trace_id <= self.traces[1]


def stored_type(kind: str) -> str:
    """Return the type in which a column of a DuckDB type is stored."""
    return _STORED_AS.get(kind, kind)


class Tables:
    """The Delta tables in a folder, by name."""

    #: Files that cannot be read: for all of this process, they are not among those of their table any more.
    lost: ClassVar[set[Path]] = set()

    def __init__(self, root: Path) -> None:
        """Read nothing yet."""
        self._root = root
        #: What was read of a table's log, and the version it was.
        self._known: dict[str, tuple[int, list[DataFile]]] = {}
        #: The tables whose logs were read: of these only what is new is read again.
        self._open: dict[str, DeltaTable] = {}

    def path(self, name: str) -> Path:
        """Return the folder of a table."""
        return self._root / name

    def names(self) -> list[str]:
        """Return the tables that are there."""
        return sorted(path.name for path in self._root.glob("*") if is_plain_folder(path / "_delta_log"))

    def version(self, name: str) -> int:
        """Return the number of the last change of a table, -1 where it is not there."""
        log = self.path(name) / "_delta_log"
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
        version = Tables.version(self, name)
        known = self._known.get(name)
        if known is None or known[0] != version:
            known = self._known[name] = (version, [] if version < 0 else self._read(name))
        return known[1]

    def append(self, name: str, files: Iterable[tuple[Path, Mapping[str, Any]]], columns: Mapping[str, str]) -> None:
        """Move files of Parquet into a table, made first where it is not there.

        Args:
            name: the table.
            files: files on the same file system, each with its statistics by Delta's words: numRecords, minValues,
                maxValues.
            columns: the columns and DuckDB's types of them; those that the table does not have yet are added.
        """
        from deltalake import Schema
        from deltalake.transaction import create_table_with_add_actions

        folder = self.path(name)
        folder.mkdir(parents=True, exist_ok=True)
        actions = [_moved(file, folder, found) for file, found in files]
        wanted = Schema.from_arrow(_schema(columns))
        with _committing():
            if self.version(name) < 0:
                create_table_with_add_actions(as_text(folder), wanted, actions, configuration=_CONFIGURATION)
                return
            table = self._table(name)
            there = {field.name: field.type for field in table.schema().fields}
            if any(there.get(field.name, field.type) != field.type for field in wanted.fields):
                # Columns of other types: what is there was computed by other rules, and is renewed.
                table.create_write_transaction(actions, "overwrite", wanted)
                return
            if new := [field for field in wanted.fields if field.name not in there]:
                table.alter.add_columns(new)
            table.create_write_transaction(actions, "append", table.schema())

    def insert(self, name: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
        """Append a few rows, given by column, each of a trace; NULL where one is missing."""
        import pyarrow.parquet

        folder = self.path(name)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f".{uuid.uuid4().hex}"
        try:
            # Opened here: whatever the locale is, the name's bytes stay what they are.
            with path.open("wb") as out:
                pyarrow.parquet.write_table(_table(rows, columns), out, compression="zstd")
            traces = [str(row["trace_id"]) for row in rows]
            self.append(name, [(path, statistics(len(rows), traces))], columns)
        finally:
            path.unlink(missing_ok=True)

    def rewrite(self, name: str, files: Iterable[tuple[Path, Mapping[str, Any]]], schema: pyarrow.Schema) -> None:
        """Put files in the place of all that a table has."""
        from deltalake import Schema

        actions = [_moved(file, self.path(name), found) for file, found in files]
        with _committing():
            self._table(name).create_write_transaction(actions, "overwrite", Schema.from_arrow(schema))
            self._table(name).create_checkpoint()

    def drop(self, name: str, files: Iterable[DataFile]) -> None:
        """Take files out of a table."""
        from deltalake.transaction import AddAction, RemoveAction

        gone: list[AddAction | RemoveAction] = [
            RemoveAction(file.path.name, data_change=True, deletion_timestamp=int(time.time() * 1000)) for file in files
        ]
        with _committing():
            table = self._table(name)
            table.create_write_transaction(gone, "append", table.schema())

    def vacuum(self, name: str, hours: float) -> int:
        """Remove files that no version of the last hours names; return how many."""
        table = self._table(name)
        return len(table.vacuum(retention_hours=int(hours), dry_run=False, enforce_retention_duration=False))

    def _table(self, name: str) -> DeltaTable:
        """Return a table as it is now."""
        from deltalake import DeltaTable

        if name in self._open:
            self._open[name].update_incremental()
        else:
            self._open[name] = DeltaTable(as_text(self.path(name)))
        return self._open[name]

    def _read(self, name: str) -> list[DataFile]:
        from deltalake.exceptions import DeltaError

        folder = self.path(name)
        try:
            actions = self._table(name).get_add_actions(flatten=True)
        except (DeltaError, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{folder}: the table's log cannot be read: {reason}") from error
        import pyarrow

        rows = pyarrow.table(actions).to_pylist()
        for row in rows:
            # A lake may be a stranger's: what it reads lies inside it.
            if "/" in row["path"] or "\\" in row["path"] or (folder / row["path"]).is_symlink():
                raise InputError(f"{folder}: the table's log names a file elsewhere: {row['path']!r}.")
        return [
            DataFile(
                folder / row["path"],
                (row.get("min.trace_id") or "", row.get("max.trace_id") or "g"),
                (row.get("min.batch_id") or "", row.get("max.batch_id") or ""),
            )
            for row in rows
        ]


class Here(Tables):
    """The tables of a lake that cannot be written to, with rows of this process on top."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Add nothing yet.

        Args:
            root: the folder of the tables.
            folder: where the files go that are added.
        """
        super().__init__(root)
        self.folder = folder
        self._added: dict[str, list[DataFile]] = {}

    def version(self, name: str) -> int:
        """Return a number that another change of a table gives another."""
        return super().version(name) + len(self._added.get(name, ()))

    def files(self, name: str) -> list[DataFile]:
        """Return the files of a table, those that were added here among them."""
        return [*super().files(name), *self._added.get(name, ())]

    def append(
        self,
        name: str,
        files: Iterable[tuple[Path, Mapping[str, Any]]],
        columns: Mapping[str, str],  # noqa: ARG002
    ) -> None:
        """Add files."""
        for file, found in files:
            moved = file.replace(self.folder / f"{uuid.uuid4().hex}.parquet")
            traces, batches = ((found["minValues"][key], found["maxValues"][key]) for key in ("trace_id", "batch_id"))
            self._added.setdefault(name, []).append(DataFile(moved, traces, batches))

    def insert(self, name: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
        """Add a few rows, given by column."""
        import pyarrow.parquet

        self.folder.mkdir(mode=0o700, exist_ok=True)
        path = self.folder / f"{uuid.uuid4().hex}.parquet"
        with path.open("wb") as out:
            pyarrow.parquet.write_table(_table(rows, columns), out)
        self._added.setdefault(name, []).append(DataFile(path))


def _table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> pyarrow.Table:
    """Return rows, given by column, as Arrow has them; NULL where one is missing."""
    import pyarrow

    schema = _schema(columns)
    return pyarrow.Table.from_pylist([dict(row) for row in rows], schema)


@contextlib.contextmanager
def _committing() -> Iterator[None]:
    """Have what a disk refuses be an error of the disk."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except DeltaError as error:
        raise OSError(errno.EIO, f"a table's log cannot be written: {str(error).partition(chr(10))[0]}") from error


def _schema(columns: Mapping[str, str]) -> pyarrow.Schema:
    """Return the columns of a table, given by DuckDB's types, as Arrow has them."""
    import pyarrow

    kinds = {
        "VARCHAR": pyarrow.string(), "BIGINT": pyarrow.int64(), "INTEGER": pyarrow.int32(),
        "BOOLEAN": pyarrow.bool_(), "DOUBLE": pyarrow.float64(), "TIMESTAMP": pyarrow.timestamp("us", "UTC"),
        "UBIGINT": pyarrow.decimal128(20, 0), "HUGEINT": pyarrow.decimal128(38, 0),
    }  # fmt: skip

    def arrow(kind: str) -> pyarrow.DataType:
        return pyarrow.list_(arrow(kind.removesuffix("[]"))) if kind.endswith("[]") else kinds[kind]

    return pyarrow.schema([(name, arrow(kind)) for name, kind in columns.items()])


def _moved(file: Path, folder: Path, found: Mapping[str, Any]) -> Any:
    """Move a file into a table's folder and return what adds it to the log."""
    from deltalake.transaction import AddAction

    moved = folder / f"{uuid.uuid4().hex}.parquet"
    fsync_path(file)
    file.replace(moved)
    return AddAction(moved.name, moved.stat().st_size, {}, int(time.time() * 1000), True, json.dumps(found))


def statistics(rows: int, traces: Sequence[str], batches: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a log says of a file: its rows, and the range of its traces and batches."""
    ranges = {"trace_id": traces} | ({"batch_id": batches} if batches else {})
    return {
        "numRecords": rows,
        "minValues": {column: min(values) for column, values in ranges.items()},
        "maxValues": {column: max(values) for column, values in ranges.items()},
        "nullCount": dict.fromkeys(ranges, 0),
    }
