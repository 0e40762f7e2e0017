"""From rows in DuckDB to Parquet files, one folder per lane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.paths import file_literal
from ..engine.schema import EVENT_COLUMNS, LANES, column_list

if TYPE_CHECKING:
    import duckdb

#: Rows of a Parquet row group, DuckDB's own default.
ROW_GROUP = 122_880
#: Lanes whose rows are gathered over several batches, so that a small share of the events does not make a small file of
#: every batch. Python frames are most of a batch and are written straight away.
_GATHERED = ("device", "host", "flow", "meta", "pair")
#: Rows gathered before they are written: a quarter of a row group, since every writer holds as many of each lane.
_GATHERED_ROWS = ROW_GROUP // 4
_BATCH_COLUMNS = tuple(name for name in EVENT_COLUMNS if name != "event_id")
#: Nanoseconds from zero, 146 years, within which all events of a trace lie: whatever two times are taken from each
#: other, the difference fits 64 bits, and no question can fail for it.
LARGEST_NS = 2**62 - 1
#: Begin and end events wait here for their partners; see `pairs`.
PAIR_LANE = "pair"


def copy_options() -> str:
    """Return the options every event file is written with."""
    return f"FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, ROW_GROUP_SIZE {ROW_GROUP}"


def _in_time(query: str) -> str:
    """Return a batch's query with events rejected that begin or end beyond the largest time."""
    beyond = " OR ".join(f"{column} NOT BETWEEN -{LARGEST_NS} AND {LARGEST_NS}" for column in ("start_ns", "end_ns"))
    return f"SELECT * REPLACE (CASE WHEN {beyond} THEN 'rejected' ELSE lane END AS lane) FROM ({query})"


@dataclass
class Batch:
    """What a batch holds, before it is stored."""

    rows: int
    rejected: int
    suspect: bool


class LaneWriter:
    """Takes batches of rows and writes them to the lanes' files; one per thread.

    A batch is a SELECT with the columns nth, suspect, lane and the event columns but the id. It is loaded first and
    stored once its place in the file is known: ids count events in file order, over all batches.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path, number: int) -> None:
        """Write below `folder`; `number` tells this writer's files from those of others."""
        self._cursor = connection.cursor()
        self._folder = folder
        self._number = number
        self._files = 0
        self._pending = dict.fromkeys(_GATHERED, 0)
        for lane in _GATHERED:
            self._cursor.execute(f"CREATE TEMP TABLE pending_{lane} ({column_list(EVENT_COLUMNS)})")
        for lane in (*LANES, PAIR_LANE):
            (folder / f"lane={lane}").mkdir(parents=True, exist_ok=True)

    def load(self, query: str) -> Batch:
        """Run a batch's query and hold its rows.

        Raises:
            duckdb.Error: the query failed; nothing is held.
        """
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE batch AS {_in_time(query)}")
        [counted] = self._cursor.execute(
            "SELECT count(*), count(*) FILTER (lane = 'rejected'), coalesce(bool_or(suspect), false) FROM batch"
        ).fetchall()
        return Batch(*counted)

    def rejected(self, limit: int) -> list[tuple[int, str]]:
        """Return position and text of some of the batch's rejected rows."""
        return self._cursor.execute(
            "SELECT nth, concat_ws(' ', 'ph=' || ph, 'name=' || name, args)[:200] FROM batch"
            f" WHERE lane = 'rejected' ORDER BY nth LIMIT {limit}"
        ).fetchall()

    def column(self, query: str) -> list[str]:
        """Return the single column of a question about the batch."""
        return [value for (value,) in self._cursor.execute(query).fetchall()]

    def store(self, base: int) -> None:
        """Write the batch held; its first row is event `base` of the file."""
        columns = f"{base} + nth AS event_id, " + ", ".join(_BATCH_COLUMNS)
        lanes = dict(self._cursor.execute("SELECT lane, count(*) FROM batch GROUP BY lane").fetchall())
        if lanes.get("python"):
            self._copy(f"SELECT {columns} FROM batch WHERE lane = 'python'", "python")
        for lane in _GATHERED:
            if lanes.get(lane):
                self._cursor.execute(f"INSERT INTO pending_{lane} SELECT {columns} FROM batch WHERE lane = '{lane}'")
                self._pending[lane] += lanes[lane]
                if self._pending[lane] >= _GATHERED_ROWS:
                    self._flush(lane)
        self._cursor.execute("DROP TABLE batch")

    def copy(self, query: str, base: int, lane: str) -> int:
        """Write a batch straight to a file of one lane, and return its rows.

        What another lane or a closer look wants is left out: where rows are missing, the caller takes the file back
        with `undo` and loads the batch instead.
        """
        columns = f"{base} + nth AS event_id, " + ", ".join(_BATCH_COLUMNS)
        return self._copy(f"SELECT {columns} FROM ({_in_time(query)}) WHERE lane = '{lane}' AND NOT suspect", lane)

    def undo(self, lane: str) -> None:
        """Remove the file that was written last."""
        self._path(lane, self._files - 1).unlink(missing_ok=True)

    def close(self) -> None:
        """Write what is gathered and free the memory."""
        for lane, rows in self._pending.items():
            if rows:
                self._flush(lane)
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
        return self._folder / f"lane={lane}" / f"part-{self._number}-{number:05d}.parquet"
