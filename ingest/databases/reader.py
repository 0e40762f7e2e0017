"""Reader of databases that profilers export: recognises the format, and reads its tables in order, batch by batch.

This thread reads batches and others store them: one fewer than there are writers. Events are numbered across
all tables, in reading order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from ...engine.errors import InputError
from ..lanes import ROWS_OF_A_FILE, LaneWriter
from ..notes import LIMIT, Notes
from ..reader import Reading
from ..source import Source
from .exports import Export, export_of, is_later_file, open_tables
from .parts import ROWS, Part
from .said import Said
from .tables import DamagedError

if TYPE_CHECKING:
    import pyarrow as pa

#: Maximum number of texts cached for later batches.
_MOST_TEXTS = 200_000
_NO_EVENT = "no time within 2^62 nanoseconds of zero"


@dataclass
class _Stored:
    """The result of storing a batch.

    Attributes:
        lane: the lane of all of its rows, None if they have several, or are few.
        rejected: number of rows that are not events.
        samples: some of them.
        redacted: number of credentials replaced.
    """

    lane: str | None
    rejected: int = 0
    samples: list[tuple[int, str]] = field(default_factory=list)
    redacted: int = 0


@dataclass
class _Worker:
    """A writer, its cache of texts, and the running task: of which table, from which event on."""

    writer: LaneWriter
    said: Said = field(default_factory=Said)
    table: str = ""
    base: int = 0
    storing: Future[_Stored] | None = None


@dataclass
class DatabaseReader:
    """Reads the events of one export into lanes.

    Attributes:
        source: the bytes of the file; for a folder, of its first file.
        writers: of the lanes.
        notes: collects what could not be read.
        progress: called with the number of events so far.
        events: events of the trace so far.
    """

    source: Source
    writers: list[LaneWriter]
    notes: Notes
    progress: Callable[[int], None] = lambda _: None
    events: int = 0
    _texts: dict[int, str | None] = field(default_factory=dict)
    #: The lane of a table's rows, if those of the last batch had a single one.
    _lanes: dict[str, str | None] = field(default_factory=dict)
    _expected: int = 0

    def read(self) -> Reading:
        """Read all tables of events. For a folder, the first file represents all; the others give nothing.

        Raises:
            InputError: the export format is unknown, or none of its tables can be read.
        """
        if is_later_file(self.source.path):
            return Reading()
        self.tables = open_tables(self.source)
        try:
            export = export_of(self.tables, self.source.name)
            first = self.events
            parts = [part for part in export.parts if part.table in self.tables.columns]
            self._expected = sum(self.tables.count(part.table) for part in parts)
            with ThreadPoolExecutor(max(1, len(self.writers) - 1), "tracelake-ingest") as pool:
                self._read_parts(export, parts, pool)
            if self.tables.truncated:
                self.notes.truncate(self.events, self.tables.truncated)
            if self.events == first and not self.notes.rejected:
                raise InputError(f"{self.source.name}: {export.what} without an event: {export.advice}.")
            return export.reading(first, self.events)
        finally:
            self.tables.close()

    def _read_parts(self, export: Export, parts: list[Part], pool: ThreadPoolExecutor) -> None:
        workers = deque(_Worker(writer) for writer in self.writers)
        for part in parts:
            try:
                for batch in self.tables.batches(part.table, part.columns):
                    arranged = self._arranged(export, part, batch)
                    # The oldest first, so that its notes come in event order.
                    worker = workers.popleft()
                    self._finish(worker)
                    worker.table, worker.base = part.table, self.events
                    worker.storing = pool.submit(
                        _store, worker, part, arranged, self.events, self._lanes.get(part.table, part.lane)
                    )
                    workers.append(worker)
                    self.events += batch.num_rows
            except DamagedError as error:
                self.notes.reject(self.events, f"{part.table}: its rows from here on cannot be read: {error}", "")
        for worker in workers:
            self._finish(worker)

    def _arranged(self, export: Export, part: Part, batch: pa.Table) -> pa.Table:
        """Return a batch with texts instead of their ids, the export's additional columns, and its rows numbered."""
        import numpy as np
        import pyarrow as pa

        for column in part.names:
            place = batch.schema.get_field_index(column)
            batch = batch.set_column(place, column, self._named(batch.column(place).combine_chunks(), export.strings))
        batch = export.arranged(part, batch)
        return batch.append_column("nth", pa.array(np.arange(batch.num_rows)))

    def _named(self, ids: pa.Array, strings: str) -> pa.Array:
        import pyarrow as pa

        encoded = ids.dictionary_encode()
        known = encoded.dictionary.to_pylist()
        if len(self._texts) > _MOST_TEXTS:
            self._texts.clear()
        if unknown := [one for one in known if one not in self._texts]:
            self._texts.update(dict.fromkeys(unknown) | self.tables.texts(strings, unknown))
        return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(map(self._texts.get, known), pa.string()))

    def _finish(self, worker: _Worker) -> None:
        """Wait until a worker's batch is stored, and record its faults."""
        if worker.storing is None:
            return
        try:
            stored = worker.storing.result()
        except duckdb.InvalidInputException as error:
            raise InputError(f"{self.source.name}: {worker.table}: {error}") from error
        worker.storing = None
        self._lanes[worker.table] = stored.lane
        for nth, text in stored.samples:
            self.notes.reject(worker.base + nth, f"{worker.table}: {_NO_EVENT}", text)
        self.notes.rejected += stored.rejected - len(stored.samples)
        self.notes.redacted += stored.redacted
        self._hash_along()
        self.progress(self.events)

    def _hash_along(self) -> None:
        """Hash as many of the file's bytes as were read as rows, while they are in memory."""
        goal = (self.source.file_bytes or 0) * self.events // max(1, self._expected)
        while self.source.consumed < goal and self.source.read(1 << 20):
            pass


def _store(worker: _Worker, part: Part, rows: pa.Table, base: int, lane: str | None) -> _Stored:
    """Store a batch whose rows are likely all of one lane, None if they are not."""
    writer = worker.writer
    rows, suspect = worker.said.added(writer, part, rows)
    with writer.given(ROWS, rows):
        if lane and not suspect and rows.num_rows >= ROWS_OF_A_FILE:
            if writer.copy(part.events, base, lane, searched=True) == rows.num_rows:
                return _Stored(lane)
            writer.undo(lane)
        batch = writer.load(part.events, searched=not suspect)
    samples = writer.rejected(LIMIT) if batch.rejected else []
    writer.store(base)
    return _Stored(batch.lane, batch.rejected, samples, batch.redacted)
