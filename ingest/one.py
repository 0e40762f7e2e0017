"""Reads one trace, from a file or a folder of several: stages its events and describes its catalog entry."""

from __future__ import annotations

import datetime
import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import xxhash

from ..engine.connection import cores, database
from ..engine.errors import InputError, why
from ..engine.storage.layout import Layout
from ..engine.storage.paths import parquet_rows, readable
from ..version import __version__
from . import places
from .chrome.pairs import join_pairs
from .chrome.relane import relane
from .describe import describe
from .formats import reader_of
from .inputs import Input, input_of
from .lanes import LaneWriter
from .notes import Notes
from .reader import Reading
from .source import STDIN, Source

#: Called with bytes of the file read, its size (None when unknown), and events so far.
Progress = Callable[[int, int | None, int], None]

_MAX_THREADS = 8
_EXTENT = """
SELECT
    min(start_ns) FILTER (ph NOT IN ('M', 's', 't', 'f')) AS start_ns,
    max(coalesce(end_ns, start_ns)) FILTER (ph NOT IN ('M', 's', 't', 'f')) AS end_ns,
    count(*) AS events
FROM {files}
"""


@dataclass(frozen=True)
class Ingested:
    """The result of ingesting a file.

    Attributes:
        source: the file.
        trace_id: the trace's id.
        trace: the trace's name.
        new: false if the lake already held the same content.
        events: events stored.
        rejected: events that could not be stored.
        repaired: events stored after a repair.
        skipped: bytes of damaged text in which events cannot be separated.
        redacted: credentials replaced in what is stored.
        unmatched: begin or end events without a partner.
        truncated: the file ends too early.
        reason: what was wrong, if anything.
        places: what was taken from the names of the file and its folders, as text; for a trace already in the lake,
            the settings that changed, and what the names imply by now.
    """

    source: str
    trace_id: str
    trace: str
    new: bool
    events: int
    rejected: int
    repaired: int
    skipped: int
    redacted: int
    unmatched: int
    truncated: bool
    reason: str
    places: str = ""


@dataclass(frozen=True)
class Staged:
    """A trace that was read but is not in the lake yet.

    Attributes:
        entry: its catalog entry.
        events: the folder of its events, under a staging folder.
        ingested: the result for the file.
    """

    entry: dict[str, Any]
    events: Path
    ingested: Ingested

    @property
    def trace_id(self) -> str:
        """The trace's id."""
        return self.ingested.trace_id

    @property
    def files(self) -> list[Path]:
        """The files of its events."""
        return sorted(self.events.rglob("*.parquet"))


def read_one(
    layout: Layout,
    path: str | os.PathLike[str],
    folder: Path,
    *,
    progress: Progress = lambda read, size, events: None,
    threads: int | None = None,
    name: str | None = None,
) -> Staged:
    """Read a trace into a staging folder of the lake.

    Args:
        layout: the lake.
        path: the file, `-` for standard input, or the folder with an Ascend profiler's files of one rank.
        folder: an empty folder on the lake's file system.
        progress: called with the reading progress.
        threads: pieces parsed at once; default: the number of cores, up to 8.
        name: the trace's name; default: from the file's.

    Raises:
        InputError: the file cannot be read or is not a trace.
    """
    what = input_of(path)
    try:
        threads = threads or min(_MAX_THREADS, cores())
        with database(threads, folder / "spill") as connection:
            writers = [LaneWriter(connection, folder / "events", number) for number in range(threads + 1)]
            return _read_into(what, folder, connection, writers, progress, name)
    except (OSError, duckdb.Error) as error:
        # Out of memory, or a full disk: faults in a file's text were handled before.
        raise InputError(f"{what.name}: cannot be stored in {layout.root}: {why(error)}.") from error


def _read_into(
    what: Input,
    folder: Path,
    connection: duckdb.DuckDBPyConnection,
    writers: list[LaneWriter],
    progress: Progress,
    name: str | None,
) -> Staged:
    notes = Notes()
    events = folder / "events"
    reading, sources = _read(what, writers, notes, progress)
    for writer in writers:
        writer.close()
    unmatched = join_pairs(connection, events, reading.device_pids)
    devices = relane(connection, events, reading.device_pids)
    shutil.rmtree(folder / "spill", ignore_errors=True)
    for lane in events.iterdir():
        if not any(lane.iterdir()):
            lane.rmdir()
    files = list(events.rglob("*.parquet"))
    extent = (None, None, 0)
    if files:
        [extent] = connection.execute(_EXTENT.format(files=parquet_rows(files))).fetchall()
    if not files and (notes.rejected or notes.truncated):
        raise InputError(f"{what.name}: no complete event: {notes.first() or notes.truncated}.")
    reading.metadata |= what.metadata
    said = places.possible(what.places, reading.keys.get("distributedInfo"))
    reading.metadata |= places.metadata_of(said)
    entry: dict[str, Any] = describe(reading, readable(what.path.name) if what.path else "stdin", devices)
    entry |= what.facts
    entry |= places.taken_by(entry, said)
    entry |= {"trace": what.trace, "source_path": None if what.path is None else readable(what.path.absolute())}
    entry = {key: notes.clean(value) if isinstance(value, str) else value for key, value in entry.items()}
    content = _one_digest([source.content_digest for source in sources])
    trace_id = content[:16]
    entry |= {
        "trace_id": trace_id,
        "trace": name or entry["trace"],
        "source_bytes": sum(source.consumed for source in sources),
        "source_mtime_ns": max((source.mtime_ns for source in sources if source.mtime_ns), default=None),
        "source_sha256": _one_sha256([source.file_digest() for source in sources]),
        "content_xxh3": content,
        "content_bytes": sum(source.content_bytes for source in sources),
        "origin_ns": extent[0],
        "start_ns": extent[0],
        "end_ns": extent[1],
        "event_count": extent[2],
        "event_bytes": sum(path.stat().st_size for path in files),
        "rejected_count": notes.rejected,
        "repaired_count": notes.repaired,
        "skipped_bytes": notes.skipped,
        "array_count": reading.arrays,
        "redacted_count": notes.redacted,
        "unmatched_count": unmatched,
        "truncated": notes.truncated is not None,
        "samples": notes.to_json(),
        "ingested_at": datetime.datetime.now(datetime.UTC).replace(tzinfo=None),
        "ingested_by": f"tracelake {__version__}",
    }
    ingested = Ingested(
        what.name, trace_id, str(entry["trace"]), True, extent[2], notes.rejected, notes.repaired, notes.skipped,
        notes.redacted, unmatched, notes.truncated is not None, notes.truncated or notes.first(),
        places.shown(entry, {}),
    )  # fmt: skip
    # The folder's name tells readers of the files which trace they belong to.
    return Staged(entry, events.rename(folder / f"trace_id={trace_id}"), ingested)


def _read(what: Input, writers: list[LaneWriter], notes: Notes, progress: Progress) -> tuple[Reading, list[Source]]:
    """Read all files of a trace in order; return the facts they contain, and their sources, closed.

    Only the first must be readable: if a companion is not, the reason is recorded as a rejected event.
    """
    total, sources, events = Reading(), list[Source](), 0
    files: list[dict[str, Any]] = []
    sizes = [Path(path).stat().st_size for path in what.files if path != STDIN]
    for path in what.files:
        source = Source(path)
        before = sum(done.consumed for done in sources)

        def report(count: int, source: Source = source, before: int = before) -> None:
            progress(before + source.consumed, sum(sizes) if sizes else source.file_bytes, count)

        try:
            reader = reader_of(source, writers, notes, report, events=events, device=what.device)
            found = reader.read()
            events = reader.events
            total.keys |= found.keys
            total.bare = total.bare and found.bare
            total.device_pids |= found.device_pids
            total.facts |= found.facts
            total.arrays += found.arrays
            files += found.metadata.pop("files", [])
            total.metadata |= found.metadata
        except InputError as error:
            if not sources:
                source.close()
                raise
            notes.reject(events, str(error), "")
        while source.read(1 << 20):
            pass
        source.file_digest()
        source.close()
        sources.append(source)
    if files:
        total.metadata["files"] = files
    return total, sources


def _one_digest(digests: list[str]) -> str:
    """Return the digest of a trace: its file's, or for several files the digest of theirs."""
    return digests[0] if len(digests) == 1 else xxhash.xxh3_128_hexdigest("".join(digests).encode())


def _one_sha256(digests: list[str]) -> str:
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
