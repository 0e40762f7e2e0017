"""Reader of the tables written by Ascend's profilers: kernels (`kernel_details.csv`, `op_summary_*.csv`), and others.

The table is read once, forward: decompressed into slots of memory, cut at line endings, and passed piece by piece to
DuckDB's CSV reader, several pieces at once, which writes a Parquet file for each. A piece is right exactly if it gives
a row for each of its lines. If not, its lines are checked one by one, and those that are not rows are
rejected and counted. Events are numbered by lines, so every piece knows its numbers in advance.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ...engine import secrets
from ...engine.errors import InputError
from ...engine.storage.paths import readable
from ..lanes import LaneWriter
from ..notes import Notes
from ..reader import Reading
from ..slots import Slot
from ..source import Source
from .lines import (
    LINE_LIMIT,
    STYLES,
    Header,
    count_lines,
    harmless_texts,
    names_credentials,
    read_header,
    row_of,
    split_lines,
    starts_in_ns,
    style_of,
)
from .rows import companion_query, kernel_query

#: The table whose rows are kernels; rows of the others are stored as metadata.
KERNELS = "kernels"
#: Bytes of a piece.
PIECE_BYTES = 16 << 20
#: Bytes searched for the header: the longest real ones have two thousand.
HEADER_LIMIT = 64 << 10
#: DuckDB's errors for an invalid piece. The message quotes the piece, maybe half a character, and may be undecodable.
_REFUSALS = (duckdb.InvalidInputException, duckdb.ConversionException, UnicodeDecodeError)
_SAMPLES = 20
#: In smaller pieces the arguments are searched, not the cells, since that query takes 10 ms to plan.
_SMALL = 4 << 20


@dataclass
class _Worker:
    """A slot, the writer of what is parsed from it, and the running task."""

    slot: Slot
    writer: LaneWriter
    storing: Future[_Stored] | None = None


@dataclass
class _Stored:
    """The result of storing a piece.

    Attributes:
        rejected: number of lines that are not rows.
        refused: some of them: line number in the file, reason, text.
        repaired: lines that were repaired, likewise.
        redacted: number of credentials replaced.
        cut_off: the last line is incomplete.
    """

    rejected: int = 0
    redacted: int = 0
    refused: list[tuple[int, str, bytes]] = field(default_factory=list)
    repaired: list[tuple[int, str, bytes]] = field(default_factory=list)
    cut_off: bool = False


@dataclass
class TableReader:
    """Reads the rows of one table into lanes.

    Attributes:
        source: the bytes.
        writers: one more than the pieces parsed at once, so that a slot can be filled meanwhile.
        notes: collects what could not be read.
        progress: called with the number of events so far.
        kind: the table's kind, `kernels` or a companion.
        events: events of the trace so far; the first row gets this number.
        device: the device of rows that do not name one.
        piece_bytes: bytes of a piece.
    """

    source: Source
    writers: list[LaneWriter]
    notes: Notes
    progress: Callable[[int], None] = lambda _: None
    kind: str = KERNELS
    events: int = 0
    device: int = 0
    piece_bytes: int = PIECE_BYTES
    _carry: bytes = b""
    _ended: bool = False
    _last: bytes = b"\n"
    _style: str | None = None
    #: Texts of the first lines that hold no credential, by column; None if the arguments are searched as a whole.
    _harmless: dict[int, tuple[str, ...]] | None = None
    _starts_in_ns: bool = False
    _cut_off: bool = False
    _header_cut_off: bool = False

    def read(self) -> Reading:
        """Read the table to its end and store its rows.

        Raises:
            InputError: the file has no header, or one without the columns a kernel needs.
        """
        self.header = self._open()
        first = self.events
        workers = [_Worker(Slot(self.piece_bytes, opening=b"", closing=b""), one) for one in self.writers]
        try:
            with ThreadPoolExecutor(max(1, len(workers) - 1), "tracelake-ingest") as pool:
                self._read_pieces(deque(workers), pool)
        finally:
            for worker in workers:
                worker.slot.close()
        if self.source.cut_short:
            self.notes.truncate(self.events, self.source.cut_short)
        elif self._header_cut_off:
            self.notes.truncate(self.events, "the file ends inside its header, or right behind it")
        elif self._cut_off and self._last != b"\n":
            # The incomplete row is already among the rejected ones.
            self.notes.truncate(self.events, "the file ends inside a row")
        return Reading(metadata={"files": [self._about(first)]}, facts={"format": "ascend"})

    def _open(self) -> Header:
        name = self.source.name
        beginning = self.source.peek(HEADER_LIMIT)
        header = read_header(beginning)
        if header is None:
            raise InputError(f"{name}: not a table: its first line is no header of columns.")
        if self.kind == KERNELS and (missing := header.columns.missing):
            raise InputError(
                f"{name}: not a table of kernels: it lacks {', '.join(missing)}; its columns are "
                f"{secrets.redact(', '.join(header.columns.header))[:300]}."
            )
        if self.kind == KERNELS and header.columns.start_lacks_unit:
            in_ns = starts_in_ns(beginning, header.columns)
            if in_ns is None and header.columns.start_is_of_torch_npu:
                raise InputError(
                    f"{name}: Start Time has no unit, and the rows do not show whether it is µs or ns. Write the "
                    "starts in µs, and Start Time(us) in the header."
                )
            if in_ns is None:
                self.notes.repair(self.events, "starts without a unit; read as ns", header.text)
            self._starts_in_ns = in_ns is not False
        line, newline, _ = beginning.partition(b"\n")
        self._header_cut_off = not newline
        self.source.read(len(line) + 1)
        return header

    def _read_pieces(self, workers: deque[_Worker], pool: ThreadPoolExecutor) -> None:
        while not self._ended:
            # The oldest first, so that its notes come in line order.
            worker = workers.popleft()
            self._finish(worker)
            end = self._fill(worker.slot)
            if end:
                base, lines = self.events, count_lines(worker.slot.copy(0, end))
                self.events += lines
                worker.storing = pool.submit(self._store, worker, end, base, lines)
            workers.append(worker)
        for worker in workers:
            self._finish(worker)

    def _fill(self, slot: Slot) -> int:
        """Put the next lines into a slot and return their end; 0 if there are none."""
        slot.unseal()
        slot.put(0, self._carry)
        filled = len(self._carry)
        while filled < slot.size:
            with slot.view(filled, slot.size) as view:
                count = self.source.readinto(view)
            if not count:
                self._ended = True
                break
            filled += count
        end = filled if self._ended else slot.find_last(b"\n", filled) + 1
        if end == 0 and filled:
            self._skip_line(slot.copy(0, 1024))
            return 0
        self._carry = slot.copy(end, filled)
        if end:
            self._last = slot.copy(end - 1, end)
            if self._style is None:
                beginning = slot.copy(0, min(end, HEADER_LIMIT))
                self._style = style_of(beginning)
                if self.kind == KERNELS and not names_credentials(self.header):
                    self._harmless = harmless_texts(beginning, len(self.header.columns.header))
            slot.seal(end)
        return end

    def _skip_line(self, beginning: bytes) -> None:
        """Reject and skip a line that is longer than a piece."""
        self._carry = b""
        self.notes.reject(self.events, f"a line longer than {self.piece_bytes} bytes", beginning)
        self.events += 1
        while more := self.source.read(1 << 20):
            _, newline, rest = more.partition(b"\n")
            if newline:
                self._carry = rest
                return
        self._ended = True

    def _store(self, worker: _Worker, end: int, base: int, lines: int) -> _Stored:
        """Parse a piece and write its rows; if rows and lines differ, check each line."""
        lane = "device" if self.kind == KERNELS else "meta"
        text = worker.slot.copy(max(0, end - LINE_LIMIT), end)
        if not text.endswith(b"\n"):
            # The end of the file may have truncated a credential in the last cell.
            last = text[text.rfind(b"\n") + 1 :].decode("utf-8", "replace")
            cleaned, count = secrets.redacted(last, cut_off=True)
            if count > secrets.redacted(last)[1]:
                whole = worker.slot.copy(0, end - len(text) + text.rfind(b"\n") + 1) + cleaned.encode()
                stored = self._store_lines(worker.writer, whole, base)
                stored.redacted += count
                return stored
        # First search the cells, which may take a harmless text for a credential, then the arguments, which does not.
        known = self._harmless if end >= _SMALL or self._harmless is None else {}
        for harmless in [known, None] if known is not None else [None]:
            rows = None
            with contextlib.suppress(*_REFUSALS):
                query = self._query(worker.slot.path, harmless=harmless)
                rows = worker.writer.copy(query, base, lane, searched=harmless is not None)
            if rows == lines:
                if harmless is None:
                    # The following pieces will have such texts too.
                    self._harmless = None
                return _Stored()
            worker.writer.undo(lane)
            if rows is None:
                break
        return self._store_lines(worker.writer, worker.slot.copy(0, end), base)

    def _store_lines(self, writer: LaneWriter, text: bytes, base: int) -> _Stored:
        """Store the lines of a piece that are rows. The others keep their numbers, as rows without values."""
        stored, data = _Stored(), io.StringIO()
        table = csv.writer(data, quoting=csv.QUOTE_ALL, lineterminator="\n")
        lines = list(split_lines(text))
        reasons: dict[int, str] = {}
        for nth, line in enumerate(lines):
            fields, reasons[nth] = row_of(line, len(self.header.columns.header))
            if "\ufffd" in "".join(fields) and b"\xef\xbf\xbd" not in line:
                stored.repaired.append((base + nth, "bytes that are not UTF-8", line[:1024]))
            table.writerow(fields)
        content = data.getvalue().encode()
        slot = Slot(len(content), opening=b"", closing=b"")
        try:
            slot.fill(content)
            stored.redacted = writer.load(self._query(slot.path, careful=True)).redacted
            rejected = [nth for nth, _ in writer.rejected(len(lines)) if lines[nth].strip()]
            writer.store(base)
        finally:
            slot.close()
        stored.rejected = len(rejected)
        stored.refused = [
            (base + nth, reasons[nth] or "no time that a number can hold", lines[nth][:1024])
            for nth in rejected[:_SAMPLES]
        ]
        stored.cut_off = bool(rejected) and rejected[-1] == len(lines) - 1
        return stored

    def _finish(self, worker: _Worker) -> None:
        """Wait until a worker's piece is stored, and record its faults."""
        if worker.storing is None:
            return
        stored, worker.storing = worker.storing.result(), None
        for event, reason, text in stored.refused:
            self.notes.reject(event, reason, text)
        self.notes.rejected += stored.rejected - len(stored.refused)
        self.notes.redacted += stored.redacted
        for event, reason, text in stored.repaired:
            self.notes.repair(event, reason, text)
        self._cut_off = stored.cut_off
        self.progress(self.events)

    def _query(self, path: str, *, careful: bool = False, harmless: dict[int, tuple[str, ...]] | None = None) -> str:
        columns = self.header.columns
        if self.kind == KERNELS:
            return kernel_query(
                path, columns, self.device, in_ns=self._starts_in_ns, careful=careful, harmless=harmless
            )
        return companion_query(path, columns, self.kind, Path(self.source.name).name.partition(".")[0])

    def _about(self, first: int) -> dict[str, Any]:
        """Return what is needed to write the table's rows as in the file, and to name their values."""
        header, path = self.header, self.source.path
        return {
            "name": readable(path.name) if path else "stdin",
            "kind": self.kind,
            "first_event": first,
            "lines": self.events - first,
            "header": header.text,
            "keys": list(header.columns.keys),
            "counters": [header.columns.keys[place] for place in header.columns.counters],
            "newline": header.newline,
            "end_newline": self._last == b"\n",
            "bom": header.bom,
            "quoting": self._style or STYLES[0],
        }
