"""A SQLite file as tables: opened read-only and never changed; its damage is reported.

The file is opened as `immutable`: without locks, and without the journal of a program that
was stopped while writing. If such a journal lies beside the file, the file alone is incomplete.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engine.errors import InputError
from .tables import BATCH_ROWS, DamagedError, arrow_types, as_type

if TYPE_CHECKING:
    import pyarrow as pa

    from .btree import Left

#: The magic bytes of a SQLite file.
MAGIC = b"SQLite format 3\0"
#: Rows fetched from SQLite at once: few enough to stay in the processor's cache until they are columns.
_FETCHED = 2048
#: Values in one list of a statement, below the limit of any version of SQLite.
_LISTED = 500
_MISSING = re.compile(r"no such column: ([\w.]+)")
_DAMAGED_NAMES = "a SQLite database that is damaged: a name in its schema is not UTF-8. Copy it again."


class SqliteTables:
    """The tables of a SQLite file; see `Tables`."""

    #: SQLite itself refuses a file shorter than its header says.
    truncated: str | None = None

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            InputError: a journal lies beside it, it is truncated or damaged, or it cannot be read.
        """
        self.path = path
        self._queries: dict[str, str] = {}
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
            names = self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            ).fetchall()
        except sqlite3.Error as error:
            raise InputError(f"{path}: a SQLite database that cannot be read: {error}.") from error
        except UnicodeDecodeError as error:
            # SQLite's own message quotes the schema.
            raise InputError(f"{path}: {_DAMAGED_NAMES}") from error
        self.columns: dict[str, list[str]] = {}
        for (name,) in names:
            # A view may refer to missing tables.
            with contextlib.suppress(sqlite3.Error):
                self.columns[name] = self._columns(_name(name))

    def define(self, table: str, query: str) -> None:
        """Define a table as the rows of a query. Columns that the file lacks are NULL.

        If it lacks more than columns, the table has none, and its rows cannot be read.
        """
        read, columns = query, list[str]()
        while not columns:
            try:
                columns = self._columns(f"({read})")
            except sqlite3.Error as error:
                missing = _MISSING.fullmatch(str(error))
                given = re.sub(rf"\b{re.escape(missing[1])}\b", "NULL", read) if missing else read
                if given == read:
                    read = query
                    break
                read = given
        self._queries[table], self.columns[table] = read, columns

    def count(self, table: str) -> int:
        """Return the highest row number: rows are numbered from 1, and none was deleted.

        The rows of a view are counted, since it has no row numbers.
        """
        for column in ("max(rowid)", "count(*)"):
            try:
                [(rows,)] = self._connection.execute(f"SELECT {column} FROM {self._source(table)}").fetchall()
            except sqlite3.Error:
                continue
            if isinstance(rows, int):
                return rows
        return 0

    def rows(self, table: str, columns: Sequence[str], where: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return rows of a small table."""
        there = self.columns.get(table, ())
        conditions = where or {}
        if not there or not all(name in there for name in conditions):
            return []
        chosen = ", ".join(_name(name) if name in there else "NULL" for name in columns)
        wanted = " AND ".join(f"{_name(name)} = ?" for name in conditions)
        found: list[tuple[Any, ...]] = []
        with contextlib.suppress(sqlite3.Error):
            found.extend(
                self._connection.execute(
                    f"SELECT {chosen} FROM {_name(table)}{' WHERE ' * bool(wanted)}{wanted}", tuple(conditions.values())
                )
            )
        return found

    def answers(self, query: str) -> list[tuple[Any, ...]]:
        """Return the few rows of a query, none if the file lacks what it reads."""
        with contextlib.suppress(sqlite3.Error):
            return self._connection.execute(query).fetchall()
        return []

    def batches(self, table: str, columns: Mapping[str, str]) -> Iterator[pa.Table]:
        """Yield rows of a table in order."""
        there = {name: kind for name, kind in columns.items() if name in self.columns[table]}
        root = self._plain_root(table)
        if root is None or not there:
            yield from self._fetched(table, columns)
            return
        import pyarrow as pa

        from .btree import Left, Pages, read_rows

        try:
            pages = Pages(self.path)
        except ValueError:
            yield from self._fetched(table, columns)
            return
        with contextlib.closing(pages):
            pieces: list[pa.Table] = []
            for piece in read_rows(pages, root, self.columns[table], columns):
                left = isinstance(piece, Left)
                if not left:
                    pieces.append(piece)
                if pieces and (left or sum(map(len, pieces)) >= BATCH_ROWS):
                    yield pa.concat_tables(pieces)
                    pieces = []
                if left:
                    yield from self._fetched(table, columns, piece)
            if pieces:
                yield pa.concat_tables(pieces)

    def _fetched(self, table: str, columns: Mapping[str, str], left: Left | None = None) -> Iterator[pa.Table]:
        """Yield rows of a table through SQLite, all or those left to it."""
        import pyarrow as pa

        typed = {name: arrow_types()[kind] for name, kind in columns.items()}
        there = {name: kind for name, kind in columns.items() if name in self.columns[table]}
        chosen = ", ".join(map(_name, there)) or "NULL"
        limits = ((">", left.after), ("<=", left.last)) if left else ()
        wanted = " AND ".join(f"rowid {sign} {number}" for sign, number in limits if number is not None)
        try:
            cursor = self._connection.execute(
                f"SELECT {chosen} FROM {self._source(table)}{' WHERE ' * bool(wanted)}{wanted}"
            )
            while pieces := list(
                itertools.islice(iter(lambda: cursor.fetchmany(_FETCHED), []), BATCH_ROWS // _FETCHED)
            ):
                arrays = [
                    [
                        as_type(values, kind)
                        for values, kind in zip(zip(*rows, strict=True), there.values(), strict=False)
                    ]
                    for rows in pieces
                ]
                found = dict(zip(there, map(pa.chunked_array, zip(*arrays, strict=True)), strict=True))
                count = sum(map(len, pieces))
                yield pa.table({name: found.get(name, pa.nulls(count, kind)) for name, kind in typed.items()})
        except sqlite3.Error as error:
            raise DamagedError(str(error)) from error

    def _plain_root(self, table: str) -> int | None:
        """Return the root page of a table whose records have all its columns; None for a view or another kind of table.

        A primary key may be an alias of the row number, or order the table; a column of this name hides the number.
        """
        if table in self._queries:
            return None
        try:
            roots = self._connection.execute(
                "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ? AND rootpage > 0", (table,)
            ).fetchall()
            columns = self._connection.execute(f"PRAGMA table_xinfo({_name(table)})").fetchall()
        except sqlite3.Error:
            return None
        plain = all(not key and not hidden and name.lower() != "rowid" for _, name, *_, key, hidden in columns)
        return roots[0][0] if len(roots) == 1 and plain else None

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

    def _source(self, table: str) -> str:
        query = self._queries.get(table)
        return f"({query})" if query else _name(table)

    def _columns(self, source: str) -> list[str]:
        """Return the names of a source's columns.

        Raises:
            InputError: they are damaged.
        """
        try:
            return [column[0] for column in self._connection.execute(f"SELECT * FROM {source} LIMIT 0").description]
        except UnicodeDecodeError as error:
            raise InputError(f"{self.path}: {_DAMAGED_NAMES}") from error


def _cut_short(path: Path) -> str | None:
    """Return by how much a file is shorter than its header says, None if it is not."""
    with path.open("rb") as file:
        header = file.read(100)
    size = path.stat().st_size
    if len(header) < 100:
        return f"the file ends inside its header, at {size} bytes"
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    # The page count is valid only if the last writer updated it.
    expected = (65536 if page == 1 else page) * pages * (header[24:28] == header[92:96])
    return f"the file has {size} of its {expected} bytes" if size < expected else None


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
