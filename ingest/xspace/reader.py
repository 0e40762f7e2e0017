"""Reads an XSpace file into lanes, with its planes and lines as the processes and threads of a Chrome trace.

Tracelake's queries are written for Chrome traces of the same profilers, which name processes and threads as this file
does planes and lines, so that an event of either file becomes the same row. The file is read forward, plane by plane:
first what surrounds the events, then these, some ten thousand decoded together while earlier ones are stored.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...engine.errors import InputError
from ..lanes import ROWS_OF_A_FILE, LaneWriter
from ..notes import Notes
from ..reader import Reading
from ..source import Source
from .events import Line, event_table
from .facts import facts_of, metadata_of
from .hlo import program_rows
from .lines import pieces, read_line
from .names import Names
from .planes import METADATA, Plane, json_members, read_planes
from .wire import Bytes, WireError

if TYPE_CHECKING:
    import pyarrow as pa

_SAMPLES = 20
#: Lanes of events.
_EVENTS = ("device", "host", "python")
#: Limits of rows, bytes and batches that are stored together.
_ROWS_STORED, _BYTES_STORED, _MOST_GATHERED = 1 << 16, 16 << 20, 200
#: The number shared by a launch and what it launched, if it is not a plain number.
_CORRELATION = "TRY_CAST(args ->> '$.correlation_id' AS BIGINT) AS correlation"
_BEYOND = "no time that a number can hold"
_QUERY = """
SELECT
    {number}, ph, CAST(NULL AS VARCHAR) AS category, name, pid, tid, start_ns, TRY(end_ns - start_ns) AS dur_ns, end_ns,
    {correlation}, CAST(NULL AS BIGINT) AS external_id, CAST(NULL AS INTEGER) AS device, CAST(NULL AS BIGINT) AS stream,
    CAST(NULL AS VARCHAR) AS input_dims, CAST(NULL AS VARCHAR) AS input_types,
    CAST(NULL AS VARCHAR) AS id, args, CAST(NULL AS VARCHAR) AS extra
FROM xspace_events
"""


@dataclass
class _Worker:
    """A writer, and the running task."""

    writer: LaneWriter
    storing: Future[_Stored] | None = None


@dataclass
class _Stored:
    """The result of storing a batch: rejected events, samples with number, reason and text, and redactions."""

    rejected: int
    samples: list[tuple[int, str, str]]
    redacted: int


@dataclass
class XSpaceReader:
    """Reads one XSpace into lanes.

    Attributes:
        source: the bytes.
        writers: one more than the batches stored at once.
        notes: collects what could not be read.
        progress: called with the number of events so far.
        events: events of the trace so far; the first row gets this number.
    """

    source: Source
    writers: list[LaneWriter]
    notes: Notes
    progress: Callable[[int], None] = lambda _: None
    events: int = 0
    _pids: set[str] = field(default_factory=set)
    _devices: set[str] = field(default_factory=set)
    _gathered: list[pa.Table] = field(default_factory=list)
    _plain: bool = True

    def read(self) -> Reading:
        """Read the file to its end and store its events.

        Raises:
            InputError: it contains nothing of an XSpace.
        """
        planes: list[Plane] = []
        with ExitStack() as stack:
            file = self._file(stack)
            pool = stack.enter_context(ThreadPoolExecutor(max(1, len(self.writers) - 1), "tracelake-ingest"))
            self._workers = deque(map(_Worker, self.writers))
            try:
                for plane in read_planes(file, lambda why, text: self.notes.repair(self.events, why, text)):
                    self._read_plane(file, plane, pool)
                    # Stats of devices and hosts are needed later, their names are not.
                    planes.append(Plane(plane.name, plane.number, stats=plane.stats))
            except WireError as error:
                self.notes.reject(self.events, f"what follows the plane {len(planes)} is damaged: {error}", "")
            for worker in self._workers:
                self._finish(worker)
        if self.source.cut_short:
            self.notes.truncate(self.events, self.source.cut_short)
        if not any(plane.name for plane in planes):
            raise InputError(f"{self.source.name}: not an XSpace: it has no plane that can be read.")
        return Reading(device_pids=self._devices, facts=facts_of(planes), metadata=metadata_of(planes))

    def _file(self, stack: ExitStack) -> Bytes:
        """Return the decompressed bytes as a file with random access."""
        if self.source.path is not None and self.source.is_plain and self.source.path.is_file():
            opened = stack.enter_context(self.source.path.open("rb"))
            return Bytes(opened.fileno(), os.fstat(opened.fileno()).st_size)
        # A stream can be read once, but this file is read twice: it is spooled to the lake's disk.
        spooled = tempfile.TemporaryFile(dir=self.writers[0].folder.parent)  # noqa: SIM115
        stack.enter_context(spooled)
        while data := self.source.read(1 << 20):
            spooled.write(data)
            self.progress(self.events)
        spooled.flush()
        return Bytes(spooled.fileno(), spooled.tell())

    def _read_plane(self, file: Bytes, plane: Plane, pool: ThreadPoolExecutor) -> None:
        pid = plane.pid(self._pids)
        self._pids.add(pid)
        if plane.is_device:
            self._devices.add(pid)
        if plane.is_cut:
            self.notes.truncate(self.events, f"the file ends inside the plane {plane.name}")
        elif plane.damage is not None:
            self._damaged(f"plane {plane.name}: {plane.damage}", plane.skipped)
        if plane.name == METADATA:
            self._store_programs(file, plane)
        if not plane.lines:
            return
        rows: list[tuple[str, str | None, str]] = [("process_name", None, plane.name)]
        taken: set[str] = set()
        lines = []
        for start, end in plane.lines:
            line = read_line(file, start, end, taken)
            lines.append(line)
            rows.append(("thread_name", line.tid, line.name))
        self._store_names(pid, rows)
        names = Names(plane)
        for line, (start, end) in zip(lines, plane.lines, strict=True):
            for piece in pieces(file, start, end):
                for some in names.take(piece.data, piece.starts, piece.ends):
                    table, plain = event_table(piece.data, piece.starts[some], piece.ends[some], line, names)
                    self._gather(pool, self._with_place(table, plane, pid, line), plain)
                if piece.damage:
                    self._damaged(f"line {line.name} of {plane.name}: {piece.damage}", piece.skipped)
                self._follow(piece.offset)
        self._submit(pool)

    def _damaged(self, what: str, skipped: int) -> None:
        """Count bytes that cannot be read, as a rejected event."""
        self.notes.skipped += skipped
        self.notes.reject(self.events, f"{what}; {skipped} bytes cannot be read", "")

    def _with_place(self, table: pa.Table, plane: Plane, pid: str, line: Line) -> pa.Table:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        lane = pc.if_else(pc.starts_with(table.column("name"), "$"), "python", "device" if plane.is_device else "host")
        lane = pc.if_else(pc.is_valid(table.column("reason")), "rejected", lane)
        table = table.append_column("lane", lane)
        table = table.append_column("nth", pa.array(np.arange(self.events, self.events + len(table))))
        for name, value in (("ph", "X"), ("pid", pid), ("tid", line.tid)):
            table = table.append_column(name, pa.repeat(pa.scalar(value), len(table)))
        return table

    def _store_names(self, pid: str, rows: list[tuple[str, str | None, str]]) -> None:
        self._store_rows([(name, pid, tid, "{" + json_members({"name": text}) + "}") for name, tid, text in rows])

    def _store_programs(self, file: Bytes, plane: Plane) -> None:
        """Store the compiled programs, each a row of many bytes, in a separate file."""
        writer = self._idle().writer
        writer.flush()
        for row in program_rows(file, plane.programs, self.notes, self.events):
            self._store_rows([("hlo_module", None, None, row)])
            writer.flush()

    def _store_rows(self, rows: list[tuple[str, str | None, str | None, str]]) -> None:
        """Store rows of metadata: name, process, thread, arguments."""
        import pyarrow as pa

        text = pa.string()
        table = pa.table(
            {
                "nth": pa.array(range(self.events, self.events + len(rows)), pa.int64()),
                "ph": pa.array(["M"] * len(rows)),
                "lane": pa.array(["meta"] * len(rows)),
                **{key: pa.array([row[nth] for row in rows], text) for nth, key in enumerate(("name", "pid", "tid"))},
                "args": pa.array([row[3] for row in rows], text),
                **{key: pa.nulls(len(rows), pa.int64()) for key in ("start_ns", "end_ns", "correlation")},
                "reason": pa.nulls(len(rows), text),
            }
        )
        stored = _store(self._idle().writer, table, plain=True)
        self.events += len(rows)
        self._note(stored)

    def _idle(self) -> _Worker:
        """Return a worker whose batch is stored, the one that started first."""
        worker = self._workers[0]
        self._finish(worker)
        return worker

    def _gather(self, pool: ThreadPoolExecutor, table: pa.Table, plain: bool) -> None:
        """Collect a batch; those of short lines are stored together."""
        if self._gathered and plain != self._plain:
            self._submit(pool)
        self._plain = plain
        self._gathered.append(table)
        self.events += len(table)
        enough = (
            sum(map(len, self._gathered)) >= _ROWS_STORED or sum(one.nbytes for one in self._gathered) >= _BYTES_STORED
        )
        if enough or len(self._gathered) >= _MOST_GATHERED:
            self._submit(pool)

    def _submit(self, pool: ThreadPoolExecutor) -> None:
        """Submit what is collected for storing."""
        import pyarrow as pa

        if self._gathered:
            worker = self._idle()
            self._workers.rotate(-1)
            worker.storing = pool.submit(_store, worker.writer, pa.concat_tables(self._gathered), plain=self._plain)
            self._gathered = []

    def _finish(self, worker: _Worker) -> None:
        """Wait until a worker's batch is stored, and record its faults."""
        if worker.storing is not None:
            self._note(worker.storing.result())
            worker.storing = None

    def _note(self, stored: _Stored) -> None:
        for event, reason, text in stored.samples:
            self.notes.reject(event, reason, text)
        self.notes.rejected += stored.rejected - len(stored.samples)
        self.notes.redacted += stored.redacted
        self.progress(self.events)

    def _follow(self, place: int) -> None:
        """Consume as much of the source as was read of the file, for its progress and its digest."""
        while self.source.content_bytes < place and self.source.read(1 << 20):
            pass


def _store(writer: LaneWriter, table: pa.Table, *, plain: bool) -> _Stored:
    """Write a batch: if plain, lanes with many rows directly to their files; the rest as a table first."""
    import pyarrow.compute as pc

    held = pc.value_counts(table.column("lane")).to_pylist() if plain else []
    for lane in [one["values"] for one in held if one["values"] in _EVENTS and one["counts"] >= ROWS_OF_A_FILE]:
        of_lane = pc.equal(table.column("lane"), lane)
        with writer.given("xspace_events", table if len(held) == 1 else table.filter(of_lane)):
            writer.write(_query("nth AS event_id", "correlation"), lane, searched=True)
        table = table.filter(pc.invert(of_lane))
    if not len(table):
        return _Stored(0, [], 0)
    with writer.given("xspace_events", table):
        number = "nth, lane, false AS suspect"
        loaded = writer.load(_query(number, "correlation" if plain else _CORRELATION) + " ORDER BY nth")
    samples = writer.rejected(_SAMPLES) if loaded.rejected else []
    reasons = dict(zip(*(table.column(key).to_pylist() for key in ("nth", "reason")), strict=True)) if samples else {}
    writer.store(0)
    return _Stored(loaded.rejected, [(nth, reasons[nth] or _BEYOND, text) for nth, text in samples], loaded.redacted)


def _query(number: str, correlation: str) -> str:
    return _QUERY.format(number=number, correlation=correlation)
