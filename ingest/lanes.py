"""Writes rows from DuckDB to Parquet files, one folder per lane."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine import secrets
from ..engine.schema import EVENT_COLUMNS, LANES, column_list
from ..engine.sql import parsed
from ..engine.sql.modules import quoted
from ..engine.storage.paths import file_literal, parquet_rows
from . import credentials

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

#: Rows of a Parquet row group, DuckDB's own default.
ROW_GROUP = 122_880
#: Lanes whose rows are collected over several batches, so that a rare lane does not make a small file per
#: batch. Python frames are most of a batch and are written at once.
_GATHERED = ("device", "host", "flow", "meta", "pair")
#: Rows collected before they are written: a quarter of a row group, since every writer holds as many of each lane.
_GATHERED_ROWS = ROW_GROUP // 4
#: Rows of one batch and lane that are enough for a file of their own.
ROWS_OF_A_FILE = _GATHERED_ROWS // 2
_BATCH_COLUMNS = tuple(name for name in EVENT_COLUMNS if name != "event_id")
#: All events of a trace are within this many nanoseconds of zero, 146 years, so that the difference of any two times
#: fits 64 bits, and no query can fail because of it.
LARGEST_NS = 2**62 - 1
#: The lane where begin and end events wait for their partners; see `pairs`.
PAIR_LANE = "pair"


def copy_options() -> str:
    """Return the options for writing event files."""
    return f"FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, ROW_GROUP_SIZE {ROW_GROUP}"


def _in_time(query: str) -> str:
    """Return a batch's query with events rejected that begin or end beyond the largest time."""
    beyond = " OR ".join(f"{column} NOT BETWEEN -{LARGEST_NS} AND {LARGEST_NS}" for column in ("start_ns", "end_ns"))
    return f"SELECT * REPLACE (CASE WHEN {beyond} THEN 'rejected' ELSE lane END AS lane) FROM ({query})"


#: Columns with text from the file, and those of them that repeat part of `args`.
_TEXT_COLUMNS = ("ph", "category", "name", "pid", "tid", "id", "args", "extra", "input_dims", "input_types")
_REPEATED = ("input_dims", "input_types")


#: Texts of a batch that are checked one by one; if more hold a literal, the database matches the patterns.
_FEW = 500
#: Columns with usually short texts, and the minimum characters to search: a field in `extra` has
#: six of its own.
_SHORT = dict.fromkeys(("ph", "pid", "tid", "id"), secrets.SHORTEST) | {"extra": secrets.SHORTEST + 4}
#: Long categories. Python frames, most rows of a batch, have only their own category.
_CATEGORIES = f"SELECT DISTINCT category FROM batch WHERE lane <> 'python' AND strlen(category) >= {secrets.SHORTEST}"


#: The query for the content of a batch's lanes: rows, and whether one is suspect.
_LANES_HELD = "SELECT lane, count(*), bool_or(suspect), NULL FROM batch GROUP BY lane"


@functools.cache
def _names_held() -> str:
    """Return the query for the content of a batch's lanes: rows, a suspect one, names with a credential's literal.

    There are few distinct names; each is searched once.
    """
    suspected = credentials.suspected("name")
    return f"""
SELECT lane, CAST(sum(rows) AS BIGINT), coalesce(bool_or(suspect), false), list(name) FILTER ({suspected})
FROM (SELECT lane, name, count(*) AS rows, bool_or(suspect) AS suspect FROM batch GROUP BY lane, name)
GROUP BY lane"""


@functools.cache
def _suspected_names() -> str:
    """Return the query for names with a credential's literal, as rows, with a placeholder for the source."""
    # An aggregate, since a WHERE would be evaluated for every row instead of every name.
    suspected = credentials.suspected("name")
    return f"SELECT unnest(list(name) FILTER ({suspected})) FROM (SELECT DISTINCT name FROM {{file}})"


@functools.cache
def _arguments_held() -> str:
    """Return the query for arguments with a credential's literal."""
    return f"SELECT args FROM batch WHERE {credentials.suspected('args', json=True)} LIMIT {_FEW}"


@functools.cache
def _others_held() -> tuple[str, str]:
    """Return the queries for long texts in the short columns, and for suspect ones."""
    long = " OR ".join(f"strlen({column}) >= {length}" for column, length in _SHORT.items())
    text = f"concat_ws(chr(10), {', '.join(_SHORT)})"
    return (
        f"SELECT DISTINCT {text} FROM batch WHERE {long} LIMIT {_FEW}",
        f"SELECT {text} FROM batch WHERE {credentials.suspected(text)} LIMIT {_FEW}",
    )


@functools.cache
def _rows_suspected() -> str:
    """Return the query for the rows with a credential's literal in a text, by number."""
    suspected = credentials.suspected(f"concat_ws(chr(10), {', '.join(_TEXT_COLUMNS)})")
    return f"SELECT rowid, {', '.join(_TEXT_COLUMNS)} FROM batch WHERE {suspected} LIMIT {_FEW}"


#: The statement that replaces the texts of one row.
_REPLACE = f"UPDATE batch SET {', '.join(f'{name} = ?' for name in _TEXT_COLUMNS)} WHERE rowid = ?"


@functools.cache
def _cleaning() -> tuple[str, str]:
    """Return the statements that count a batch's credentials, and that replace them."""
    # Categories were lower-cased, including their content.
    cleaned = {name: credentials.clean(name, "gi" if name == "category" else "g") for name in _TEXT_COLUMNS}
    dirty = " OR ".join(
        f"coalesce({credentials.matches(name, 'i' * (name == 'category'))}, false)" for name in _TEXT_COLUMNS
    )
    replaced = " + ".join(
        f"{credentials.marks(text)} - {credentials.marks(name)}"
        for name, text in cleaned.items()
        if name not in _REPEATED
    )
    assigned = ", ".join(f"{name} = {text}" for name, text in cleaned.items())
    return (
        f"SELECT coalesce(sum({replaced}), 0) FROM batch WHERE {dirty}",
        f"UPDATE batch SET {assigned} WHERE {dirty}",
    )


@dataclass
class Batch:
    """The content of a batch, before it is stored.

    Attributes:
        rows: rows of all lanes, including rejected ones.
        rejected: rows that are not events.
        suspect: a value may differ from the file's.
        redacted: number of credentials replaced.
        base: the number of its first event, if it is already stored.
        lane: the lane of all rows, None if they have several.
    """

    rows: int
    rejected: int
    suspect: bool
    redacted: int = 0
    base: int | None = None
    lane: str | None = None


class LaneWriter:
    """Takes batches of rows and writes them to the lanes' files; one per thread.

    A batch is a SELECT with the columns nth, suspect, lane and the event columns except the id. It is loaded first and
    stored once its position in the file is known: ids count events in file order, across all batches.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path, number: int) -> None:
        """Write below `folder`; `number` is part of the names of this writer's files."""
        self._cursor = connection.cursor()
        self.folder = folder
        self._number = number
        self._files = 0
        self._pending = dict.fromkeys(_GATHERED, 0)
        #: Rows of each lane of the held batch.
        self._lanes: dict[str, int] = {}
        for lane in (*LANES, PAIR_LANE):
            (folder / f"lane={lane}").mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def given(self, name: str, rows: pa.Table) -> Iterator[None]:
        """Let queries read an Arrow table as a relation of this name."""
        self._cursor.register(name, rows)
        try:
            yield
        finally:
            self._cursor.unregister(name)

    def table(self, query: str) -> pa.Table:
        """Return the rows of a query that runs for every batch."""
        return self._cursor.sql(query).to_arrow_table()

    def load(self, query: str, *, searched: bool = False) -> Batch:
        """Run a batch's query and hold its rows; search their texts for credentials unless `searched`.

        Raises:
            duckdb.Error: the query failed; nothing is held.
        """
        parsed.execute(self._cursor, f"CREATE OR REPLACE TEMP TABLE batch AS {_in_time(query)}")
        found = parsed.execute(self._cursor, _LANES_HELD if searched else _names_held()).fetchall()
        self._lanes = {lane: count for lane, count, *_ in found}
        redacted = 0 if searched else self._redact([name for *_, names in found for name in names or ()])
        suspect = any(suspect for _, _, suspect, _ in found)
        lane = next(iter(self._lanes), None) if len(self._lanes) == 1 else None
        return Batch(sum(self._lanes.values()), self._lanes.get("rejected", 0), suspect, redacted, lane=lane)

    def _redact(self, names: list[str]) -> int:
        """Replace the credentials in the held batch, and return their number.

        Each row is checked separately, so the result does not depend on how the file was cut into batches. If few are
        suspect, Python replaces them: DuckDB compiles the patterns for each column, which takes half a second.

        Args:
            names: those names in it that may hold one.
        """
        in_category = any(map(credentials.holds_any_in_lower_case, self._asked(_CATEGORIES)))
        if not in_category and not self._holds_secrets(names):
            return 0
        rows = [] if in_category else parsed.execute(self._cursor, _rows_suspected()).fetchall()
        if rows and len(rows) < _FEW:
            return self._redact_rows(rows)
        count, replace = _cleaning()
        [(replaced,)] = self._cursor.execute(count).fetchall()
        self._cursor.execute(replace)
        return int(replaced)

    def _redact_rows(self, rows: Sequence[tuple[Any, ...]]) -> int:
        """Replace the credentials in rows of the batch, each its number and texts, and return their number."""
        replaced = 0
        for row, *texts in rows:
            cleaned = [text and secrets.redact(text) for text in texts]
            if cleaned != texts:
                replaced += sum(
                    new.count(secrets.MARK) - old.count(secrets.MARK)
                    for name, old, new in zip(_TEXT_COLUMNS, texts, cleaned, strict=True)
                    if old and name not in _REPEATED
                )
                self._cursor.execute(_REPLACE, [*cleaned, row])
        return replaced

    def _holds_secrets(self, names: list[str]) -> bool:
        texts = names + self._asked(_arguments_held())
        long, suspected = _others_held()
        others = self._asked(long)
        texts += others if len(others) < _FEW else self._asked(suspected)
        return len(texts) >= _FEW or any(map(credentials.holds_any, texts))

    def rejected(self, limit: int) -> list[tuple[int, str]]:
        """Return position and text of some of the batch's rejected rows."""
        return self._cursor.execute(
            "SELECT nth, concat_ws(' ', 'ph=' || ph, 'name=' || name, args)[:200] FROM batch"
            f" WHERE lane = 'rejected' ORDER BY nth LIMIT {limit}"
        ).fetchall()

    def column(self, query: str) -> list[Any]:
        """Return the single column of a query about the batch."""
        return [value for (value,) in self._cursor.execute(query).fetchall()]

    def _asked(self, query: str) -> list[Any]:
        """Return the single column of a query that runs for every batch."""
        return [value for (value,) in parsed.execute(self._cursor, query).fetchall()]

    def relane(self, device_pids: set[str]) -> None:
        """Move the batch's events of device processes to the device lane, as a query that knows these would."""
        pids = ", ".join(map(quoted, sorted(device_pids)))
        self._cursor.execute(f"UPDATE batch SET lane = 'device' WHERE lane = 'host' AND pid IN ({pids})")
        self._lanes = dict(self._cursor.execute("SELECT lane, count(*) FROM batch GROUP BY lane").fetchall())

    def store(self, base: int, *, last: bool = False) -> None:
        """Write the held batch; its first row is event `base` of the file. If `last`, no rows are kept for later."""
        columns = f"{base} + nth AS event_id, " + ", ".join(_BATCH_COLUMNS)
        for lane in (*LANES, PAIR_LANE):
            rows = self._lanes.get(lane, 0)
            query = f"SELECT {columns} FROM batch WHERE lane = '{lane}'"
            if rows and (last or lane not in self._pending or rows >= ROWS_OF_A_FILE):
                self._copy(query, lane)
            elif rows:
                if not self._pending[lane]:
                    self._cursor.execute(
                        f"CREATE TEMP TABLE IF NOT EXISTS pending_{lane} ({column_list(EVENT_COLUMNS)})"
                    )
                self._cursor.execute(f"INSERT INTO pending_{lane} {query}")
                self._pending[lane] += rows
                if self._pending[lane] >= _GATHERED_ROWS:
                    self._flush(lane)
        self._cursor.execute("DROP TABLE batch")

    def copy(self, query: str, base: int, lane: str, *, searched: bool = False) -> int:
        """Write a batch directly to a file of one lane, and return its rows.

        The text of its rows is all repeated in their arguments. Rows of another lane, suspect ones, and rows with a
        credential are left out: if rows are missing, the caller removes the file with `undo` and loads the batch
        instead. If the query is `searched`, rows that may hold a credential are among the suspect ones.
        """
        columns = f"{base} + nth AS event_id, " + ", ".join(_BATCH_COLUMNS)
        wanted = f"lane = '{lane}' AND NOT suspect" + ("" if searched else f" AND NOT {credentials.found('args')}")
        return self._copy(f"SELECT {columns} FROM ({_in_time(query)}) WHERE {wanted}", lane)

    def write(self, query: str, lane: str, *, searched: bool = False) -> int | None:
        """Write rows of a query with all event columns directly to a file of one lane, and return how many.

        Only the names are searched, in the file, where each is stored once: if one holds a credential, the
        file is removed and the result is None. If all text was already `searched`, this is skipped.

        Raises:
            duckdb.Error: the query failed; nothing is written.
        """
        try:
            rows = self._copy(query, lane)
        except BaseException:
            self.undo(lane)
            raise
        if searched:
            return rows
        file = parquet_rows([self._path(lane, self._files - 1)])
        if any(map(credentials.holds_any, self.column(_suspected_names().replace("{file}", file)))):
            self.undo(lane)
            return None
        return rows

    def undo(self, lane: str) -> None:
        """Remove the file that was written last."""
        self._path(lane, self._files - 1).unlink(missing_ok=True)

    def flush(self) -> None:
        """Write the collected rows."""
        for lane, rows in self._pending.items():
            if rows:
                self._flush(lane)

    def close(self) -> None:
        """Write the collected rows and free the memory."""
        self.flush()
        self._cursor.close()

    def _flush(self, lane: str) -> None:
        self._copy(f"SELECT * FROM pending_{lane}", lane)
        self._cursor.execute(f"TRUNCATE pending_{lane}")
        self._pending[lane] = 0

    def _copy(self, query: str, lane: str) -> int:
        path = self._path(lane, self._files)
        self._files += 1
        [(rows,)] = self._cursor.execute(f"COPY ({query}) TO {file_literal(path)} ({copy_options()})").fetchall()
        return int(rows)

    def _path(self, lane: str, number: int) -> Path:
        return self.folder / f"lane={lane}" / f"part-{self._number}-{number:05d}.parquet"
