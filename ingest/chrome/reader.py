"""Reader of Chrome traces: PyTorch/Kineto, JAX, Ascend `trace_view.json`, and any other.

The file is a JSON array of events, or an object with such an array under "traceEvents". It is read once, forward:
decompressed into slots of memory, cut between two events, and passed piece by piece to DuckDB's JSON reader, several
pieces at once. A piece begins where the previous one ended, so it parses exactly if its end was cut right. If
a piece does not parse, a careful scan finds out why: a wrong cut is undone, a damaged event is repaired or rejected,
and what cannot be separated is skipped up to the next event, and counted in bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

import duckdb

from ..lanes import Batch, LaneWriter
from ..notes import LIMIT, Notes
from ..reader import Reading
from ..slots import Slot
from ..source import Source
from . import frames, scan
from .cutter import EVENT_LIMIT, Cutter
from .mend import Unmendable, mend
from .parse import EVENT_KEYS, HEAD_BYTES, Clock, Dialect, head, hides_places, quote_times, segment_query
from .relane import DEVICE_PROCESSES
from .samples import sample

#: Bytes of a piece. Larger ones cost memory, smaller ones make small row groups.
PIECE_BYTES = 16 << 20
#: Bytes of the first piece, from which the rest is learnt, so the rest waits for it. Small files are one piece.
_FIRST_PIECE_BYTES = 4 << 20
#: DuckDB's errors for an invalid piece. The message quotes the piece, maybe half a character, and may be undecodable.
_REFUSALS = (duckdb.InvalidInputException, UnicodeDecodeError)
#: Placeholder in a batch for an element that is not an event, so that those after it keep their positions.
_IN_ITS_PLACE = b'{"name": ""}'
#: The reason for rows with the lane `rejected`.
_NO_EVENT = "no ph, or no time within 2^62 nanoseconds of zero"
#: Maximum number of pieces that may fail on the fast path of frames before it is no longer tried.
_DETOURS = 4


class _Suspect(Exception):
    """The piece has times that doubles may have changed."""


@dataclass
class _Worker:
    """A slot, the writer of what is parsed from it, and the running task."""

    slot: Slot
    writer: LaneWriter
    storing: Future[None] | None = None

    def parse(self, query: str) -> Batch:
        batch = self.writer.load(query)
        if batch.suspect:
            raise _Suspect
        return batch

    def wait(self) -> None:
        if self.storing is not None:
            self.storing.result()
            self.storing = None


@dataclass
class _Piece:
    """A filled slot that is being parsed."""

    worker: _Worker
    end: int
    batch: Future[Batch]
    #: The predicted number of its first event, if it takes the fast path of frames.
    base: int | None = None
    #: The apparent number of its events; None if not counted.
    events: int | None = None
    #: The original text where its slot has spaces: a comma, or empty if a piece was cut inside an event.
    lead: bytes = b""
    #: It ends between two elements, not at an arbitrary byte.
    between: bool = False

    @property
    def text(self) -> bytes:
        return self.worker.slot.copy(self.worker.slot.start, self.end)


@dataclass
class ChromeReader:
    """Reads the events of one file into lanes.

    Attributes:
        source: the bytes.
        writers: one more than the pieces parsed at once, so that a slot can be filled meanwhile.
        notes: collects what could not be read.
        progress: called with the number of events so far.
        piece_bytes: bytes of a piece.
        events: events of the trace so far, including those of earlier files.
    """

    source: Source
    writers: list[LaneWriter]
    notes: Notes
    progress: Callable[[int], None] = lambda _: None
    piece_bytes: int = PIECE_BYTES
    dialect: Dialect = field(default_factory=Dialect)
    events: int = 0
    _next_bytes: int = 0
    _refused: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    #: Number of pieces that failed on the fast path of frames.
    _detours: int = 0
    #: The last bytes were skipped, and the same damaged text may continue.
    _passing: bool = False

    def __post_init__(self) -> None:
        """Create the parts that work on the same file."""
        self.cutter = Cutter(self.source, self.dialect)
        self._flying: deque[_Piece] = deque()
        self._idle: deque[_Worker] = deque()

    def read(self) -> Reading:
        """Read the file to its end and store its events.

        Raises:
            InputError: the file is not a trace.
        """
        self.cutter.open()
        size = HEAD_BYTES + self.piece_bytes
        self._idle.extend(_Worker(Slot(size, opening=b" " * HEAD_BYTES), writer) for writer in self.writers)
        workers = list(self._idle)
        try:
            self._read_first()
            with ThreadPoolExecutor(max(1, len(workers) - 1), "tracelake-ingest") as pool:
                self._read_rest(pool)
                for worker in workers:
                    worker.wait()
                list(pool.map(lambda worker: worker.writer.flush(), workers))
        finally:
            for worker in workers:
                worker.slot.close()
        outline = self.cutter.outline
        self._finish()
        return Reading(outline.values, outline.bare, self.dialect.device_pids, arrays=outline.arrays)

    def _read_first(self) -> None:
        """Read a small piece alone: it shows which processes are devices."""
        worker = self._idle[0]
        if (end := self.cutter.fill(worker.slot, min(_FIRST_PIECE_BYTES, self.piece_bytes))) is None:
            return
        parsed = _done(self._parse, worker, end, self._dialect())
        batch = self._settle(_Piece(worker, end, parsed, between=self.cutter.between))
        if batch.rows:
            processes = DEVICE_PROCESSES.format(source="batch")
            self.dialect.device_pids.update(worker.writer.column(f"SELECT pid FROM ({processes})"))
            if self.dialect.device_pids:
                worker.writer.relane(self.dialect.device_pids)
        self._number(worker, batch)
        if batch.rows:
            worker.writer.store(self.events - batch.rows, last=self.cutter.done)

    def _read_rest(self, pool: ThreadPoolExecutor) -> None:
        while True:
            if self.cutter.ended and not self._flying:
                self.cutter.go_on()
            if self.cutter.done and not self._flying:
                break
            if not self.cutter.done and self._idle:
                worker = self._idle.popleft()
                worker.wait()
                end = self.cutter.fill(worker.slot, max(self.piece_bytes, self._next_bytes))
                self._next_bytes = 0
                if end is None:
                    self._idle.append(worker)
                    continue
                base = self._foretell(worker.slot, end)
                parsing = pool.submit(self._parse, worker, end, self._dialect(), base)
                lead, between = self.cutter.lead, self.cutter.between
                self._flying.append(_Piece(worker, end, parsing, base, lead=lead, between=between))
                if self._idle and not self._flying[0].batch.done():
                    continue
            piece = self._flying.popleft()
            batch = self._settle(piece)
            self._number(piece.worker, batch)
            if batch.rows and batch.base is None:
                piece.worker.storing = pool.submit(piece.worker.writer.store, self.events - batch.rows)
            self._idle.append(piece.worker)

    def _dialect(self) -> Dialect:
        """Return a copy of what is known about the file: a parsing thread must not see it change."""
        return replace(self.dialect, extra_keys=dict(self.dialect.extra_keys), device_pids={*self.dialect.device_pids})

    def _foretell(self, slot: Slot, end: int) -> int | None:
        """Predict the number of a piece's first event, if the piece probably has frames only."""
        separators = self.cutter.separators
        if self.dialect.clock is Clock.EXACT or self._detours >= _DETOURS or not frames.likely(slot, end, separators):
            return None
        for piece in self._flying:
            if piece.events is None:
                piece.events = frames.count(piece.worker.slot, piece.end, separators)
        return self.events + sum(piece.events or 0 for piece in self._flying)

    def _parse(self, worker: _Worker, end: int, dialect: Dialect, base: int | None = None) -> Batch:
        """Parse the piece that ends at `end` of the worker's slot; if `base` is given, try the fast path first."""
        if dialect.clock is Clock.EXACT:
            return self._parse_text(worker, worker.slot.copy(worker.slot.start, end), dialect)
        if hides_places(worker.slot, end):
            raise _Suspect
        if base is not None:
            worker.slot.put(0, frames.HEAD.ljust(HEAD_BYTES))
            with suppress(*_REFUSALS):
                if rows := worker.writer.write(frames.query(worker.slot.path, base), frames.LANE):
                    return Batch(rows, 0, suspect=False, base=base)
        worker.slot.put(0, head(dialect).ljust(HEAD_BYTES))
        return worker.parse(segment_query(worker.slot.path, dialect))

    def _number(self, worker: _Worker, batch: Batch) -> None:
        """Assign the batch its position in the file's order of events."""
        if batch.rejected:
            samples = worker.writer.rejected(LIMIT)
            for nth, shown in samples:
                reason, text = self._refused.get(nth, (_NO_EVENT, shown))
                self.notes.reject(self.events + nth, reason, text)
            self.notes.rejected += batch.rejected - len(samples)
        self.notes.redacted += batch.redacted
        self._refused.clear()
        self.events += batch.rows
        self.progress(self.events)

    def _settle(self, piece: _Piece) -> Batch:
        """Return the batch of a piece; if it did not parse, find out why and recover."""
        try:
            batch = piece.batch.result()
            if piece.base is not None and batch.base is None:
                self._detours += 1
            if batch.base not in (None, self.events):
                # The count of the earlier events was predicted wrongly.
                piece.worker.writer.undo(frames.LANE)
                batch = self._parse(piece.worker, piece.end, self._dialect())
            self._passing = False
            return batch
        except _Suspect:
            self.dialect.clock = Clock.EXACT
        except _REFUSALS:
            pass
        try:
            return self._parse_text(piece.worker, piece.text)
        except _REFUSALS:
            return self._recover(piece.worker, piece.text, between=piece.between)

    def _parse_text(self, worker: _Worker, text: bytes, dialect: Dialect | None = None, *, rest: bool = False) -> Batch:
        """Parse a piece whose times need their text; `rest` if it may have fields without a column."""
        exact = replace(dialect or self.dialect, clock=Clock.EXACT)
        quoted = quote_times(text)
        slot = Slot(len(quoted) + HEAD_BYTES, opening=head(exact, rest=rest))
        try:
            slot.fill(quoted)
            return worker.writer.load(segment_query(slot.path, exact, largest_event=slot.size, rest=rest))
        finally:
            slot.close()

    def _recover(self, worker: _Worker, text: bytes, *, between: bool) -> Batch:
        """Read a piece that does not parse: undo a wrong cut, repair or reject damaged events."""
        cutter = self.cutter
        found = scan.elements(text, between=between, bare=cutter.outline.bare)
        wrong_cut = found.end is not None or found.rest < len(text)
        following, passing = self._take_back() if wrong_cut else b"", False
        if found.end is None and wrong_cut:
            last = cutter.done and not cutter.ended and not following
            # An event longer than the piece needs a larger one. One that exceeds the limit is damage.
            endless = not found.spans and len(text) >= EVENT_LIMIT
            if last or endless:
                found = scan.elements(text, final=True, bare=cutter.outline.bare)
            elif not found.spans:
                self._next_bytes = 2 * len(text)
            if found.end is None and last:
                cutter.partial = text[found.rest :]
            elif found.end is None:
                if endless and found.rest < len(text) // 2:
                    # Skip at least half of so much damage at once, so that none is scanned again and again.
                    found.faults[len(found.spans)] = 0
                    found.spans.append((found.rest, len(text)))
                    found.skipped += len(text) - found.rest
                    found.rest = len(text)
                    passing = True
                cutter.push_back(text[found.rest :] + following, 0 if found.spans else len(text))
        if self._passing and 0 in found.faults:
            # The end of what was skipped, not another event.
            found.spans.pop(0)
            found.faults = {nth - 1: fault for nth, fault in found.faults.items() if nth}
        self._passing = passing or (self._passing and not found.spans)
        if found.end is not None:
            cutter.end_at(text[found.end + found.closed :] + following, closed=found.closed)
        self.notes.skipped += found.skipped
        texts = [text[start:end] for start, end in found.spans]
        return self._salvage(worker, texts, found.faults)

    def _take_back(self) -> bytes:
        """Take back the pieces cut after a wrong cut, and return their bytes."""
        taken = b""
        while self._flying:
            piece = self._flying.popleft()
            if piece.batch.exception() is None and piece.batch.result().base is not None:
                piece.worker.writer.undo(frames.LANE)
            taken += piece.lead + piece.text.lstrip(b" ")
            self._idle.append(piece.worker)
        return taken

    def _salvage(self, worker: _Worker, texts: list[bytes], faults: dict[int, int]) -> Batch:
        """Load what can be loaded of single events, with damaged text between them."""
        whole = []
        for nth, text in enumerate(texts):
            mended, reason = _IN_ITS_PLACE, None
            if nth in faults:
                self._refuse(nth, f"damaged text: no JSON from its byte {faults[nth]} on", text, faults[nth])
            else:
                try:
                    mended, reason = mend(text, self.dialect)
                except Unmendable as error:
                    self._refuse(nth, str(error), text)
            if reason:
                self.notes.repair(self.events + nth, reason, text)
            whole.append(mended)
        return self._load_texts(worker, whole)

    def _refuse(self, nth: int, reason: str, text: bytes, fault: int | None = None) -> None:
        # Only the first samples are kept: more would be a second copy of the text.
        if len(self._refused) < LIMIT or nth < max(self._refused):
            self._refused[nth] = reason, sample(text, EVENT_KEYS, fault)

    def _load_texts(self, worker: _Worker, texts: list[bytes]) -> Batch:
        """Load events; those that the parser still refuses are found by bisection and rejected."""
        if not texts:
            return Batch(0, 0, suspect=False)
        doubtful = [(0, len(texts))]
        while doubtful:
            start, end = doubtful.pop()
            try:
                batch = self._parse_text(worker, b",".join(texts[start:end]), rest=True)
            except _REFUSALS:
                if end - start > 1:
                    middle = (start + end) // 2
                    doubtful += [(middle, end), (start, middle)]
                else:
                    self._refuse(start, "the parser refuses it", texts[start])
                    texts[start] = _IN_ITS_PLACE
            else:
                if end - start == len(texts):
                    return batch
        return self._parse_text(worker, b",".join(texts), rest=True)

    def _finish(self) -> None:
        cutter, notes = self.cutter, self.notes
        notes.skipped += cutter.outline.skipped
        partial = cutter.partial.strip()
        if partial.count(b'"ph"') > 1:
            notes.skipped += len(partial)
        shown = sample(partial, EVENT_KEYS) if partial else None
        if self.source.cut_short:
            notes.truncate(self.events, self.source.cut_short, shown)
        elif cutter.truncated:
            notes.truncate(self.events, "the file ends inside its array of events", shown)
        elif not cutter.outline.whole:
            # No sample: what surrounds the array may be secret.
            notes.truncate(self.events, "an array of events, or what follows it, is not whole")


def _done(parse: Callable[..., Batch], *arguments: object) -> Future[Batch]:
    """Parse immediately; return the result as a pool would."""
    future: Future[Batch] = Future()
    try:
        future.set_result(parse(*arguments))
    except (*_REFUSALS, _Suspect) as error:
        future.set_exception(error)
    return future
