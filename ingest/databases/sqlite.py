"""A SQLite file as tables: opened read-only and never changed, its damage named.

The file is opened as one that nobody writes to (`immutable`): without locks, and without the journal of a program that
was stopped while it wrote. Where such a journal lies beside the file, the file alone is not what was written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engine.errors import InputError
from .tables import BATCH_ROWS, DamagedError, as_type

if TYPE_CHECKING:
    import pyarrow as pa

#: How every SQLite file begins.
MAGIC = b"SQLite format 3\0"
#: Values in one list of a statement, fewer than any version of SQLite takes.
_LISTED = 500


class SqliteTables:
    """The tables of a SQLite file; see `Tables`."""

    #: SQLite refuses a file that is shorter than it says.
    truncated: str | None = None

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            InputError: a journal lies beside it, it is cut short, or it cannot be read.
        """
        self.path = path
        for ending in ("-wal", "-journal"):
            journal = path.with_name(path.name + ending)
            if journal.is_file() and journal.stat().st_size:
                raise InputError(
                    f"{path}: {journal.name} lies beside it: whoever wrote the database is not done, or was stopped. "
                    f"Wait for it, or have SQLite finish it on a copy of both: sqlite3 {path.name} .tables"
                )
        if short := _cut_short(path):
            raise InputError(f"{path}: a SQLite database that is cut short: {short}. Copy it again.")
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
            names = self._connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            self.columns: dict[str, list[str]] = {name: self._columns(name) for (name,) in names.fetchall()}
        except sqlite3.Error as error:
            raise InputError(f"{path}: a SQLite database that cannot be read: {error}.") from error

    def count(self, table: str) -> int:
        """Return the highest row number: rows are numbered from 1 when written, and none was deleted."""
        try:
            [(rows,)] = self._connection.execute(f"SELECT max(rowid) FROM {_name(table)}").fetchall()
        except sqlite3.Error:
            return 0
        return rows if isinstance(rows, int) else 0

    def rows(self, table: str, columns: Sequence[str], where: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return rows of a small table."""
        there = self.columns.get(table, ())
        conditions = where or {}
        if not there or not all(name in there for name in conditions):
            return []
        chosen = ", ".join(_name(name) if name in there else "NULL" for name in columns)
        wanted = " AND ".join(f"{_name(name)} = ?" for name in conditions)
        found: list[tuple[Any, ...]] = []
        try:
            cursor = self._connection.execute(
                f"SELECT {chosen} FROM {_name(table)}{' WHERE ' * bool(wanted)}{wanted}", tuple(conditions.values())
            )
            found.extend(cursor)
        except sqlite3.Error:
            pass
        return found

    def batches(self, table: str, columns: Mapping[str, str]) -> Iterator[pa.Table]:
        """Yield rows of a table in their order."""
        import pyarrow as pa

        there = self.columns[table]
        chosen = ", ".join(_name(name) if name in there else "NULL" for name in columns)
        try:
            cursor = self._connection.execute(f"SELECT {chosen} FROM {_name(table)}")
            while rows := cursor.fetchmany(BATCH_ROWS):
                arrays = [
                    as_type(values, kind)
                    for values, kind in zip(zip(*rows, strict=True), columns.values(), strict=True)
                ]
                yield pa.table(arrays, names=list(columns))
        except sqlite3.Error as error:
            raise DamagedError(str(error)) from error

    def texts(self, table: str, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of ids."""
        found: dict[int, str] = {}
        if not {"id", "value"} <= set(self.columns.get(table, ())):
            return found
        for start in range(0, len(ids), _LISTED):
            some = ids[start : start + _LISTED]
            try:
                found.update(
                    self._connection.execute(
                        f"SELECT id, value FROM {_name(table)} WHERE id IN ({', '.join('?' * len(some))})", tuple(some)
                    )
                )
            except sqlite3.Error:
                continue
        return found

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self._connection.execute(f"PRAGMA table_info({_name(table)})")]


def _cut_short(path: Path) -> str | None:
    """Return by how much a file is shorter than its header says, None where it is not."""
    with path.open("rb") as file:
        header = file.read(100)
    size = path.stat().st_size
    if len(header) < 100:
        return f"the file ends inside its header, at {size} bytes"
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    # The number of pages holds where whoever wrote last wrote it, too.
    expected = (65536 if page == 1 else page) * pages * (header[24:28] == header[92:96])
    return f"the file has {size} of its {expected} bytes" if size < expected else None


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
