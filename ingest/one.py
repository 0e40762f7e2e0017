"""One trace file into the lake: read, stage, describe, publish."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ..engine.catalog import write_entry
from ..engine.errors import InputError
from ..engine.files import Staging, exclusive, fsync_path, remove_dead_staging
from ..engine.layout import Layout
from ..engine.modules import quoted
from ..version import __version__
from .chrome import ChromeReader
from .describe import describe, trace_name
from .lanes import LaneWriter
from .notes import Notes
from .pairs import join_pairs
from .relane import relane
from .source import Source

#: Called with bytes of the file read, its size (None when unknown), and events so far.
Progress = Callable[[int, int | None, int], None]

_MAX_THREADS = 8
_EXTENT = """
SELECT
    min(start_ns) FILTER (ph NOT IN ('M', 's', 't', 'f')) AS start_ns,
    max(coalesce(end_ns, start_ns)) FILTER (ph NOT IN ('M', 's', 't', 'f')) AS end_ns,
    count(*) AS events
FROM read_parquet({files})
"""


@dataclass(frozen=True)
class Ingested:
    """What became of a file.

    Attributes:
        source: the file.
        trace_id: the trace's id.
        trace: the trace's name.
        new: false when the lake held the same content already.
        events: events stored.
        rejected: events that could not be.
        repaired: events stored after mending.
        unmatched: begin or end events without a partner.
        truncated: the file ends before its end.
        reason: what was wrong, when anything was.
    """

    source: str
    trace_id: str
    trace: str
    new: bool
    events: int
    rejected: int
    repaired: int
    unmatched: int
    truncated: bool
    reason: str


def ingest_one(
    layout: Layout,
    path: str | os.PathLike[str],
    *,
    progress: Progress = lambda read, size, events: None,
    threads: int | None = None,
    name: str | None = None,
) -> Ingested:
    """Read a trace file into the lake.

    Args:
        layout: the lake.
        path: the file, or `-` for standard input.
        progress: told how far the reading is.
        threads: pieces parsed at once; as many as the machine has cores, up to 8, when not given.
        name: the trace's name; from the file's when not given.

    Raises:
        InputError: the file cannot be read or is no trace.
    """
    source = Source(path)
    try:
        remove_dead_staging(layout.staging)
        with Staging(layout.staging) as folder:
            return _ingest(layout, source, folder, progress, threads or min(_MAX_THREADS, os.cpu_count() or 1), name)
    except OSError as error:
        raise InputError(f"{source.name}: cannot be stored in {layout.root}: {error.strerror or error}.") from error
    except duckdb.Error as error:
        # Memory, or a disk that is full: what is wrong with the text of a file was dealt with before.
        raise InputError(f"{source.name}: cannot be stored in {layout.root}: {error}") from error
    finally:
        source.close()


def _ingest(
    layout: Layout, source: Source, folder: Path, progress: Progress, threads: int, name: str | None
) -> Ingested:
    notes = Notes()
    events = folder / "events"
    with duckdb.connect(config={"threads": threads, "preserve_insertion_order": False}) as connection:
        connection.execute(f"SET temp_directory = {quoted(str(folder / 'spill'))}; SET TimeZone = 'UTC'")
        writers = [LaneWriter(connection, events, number) for number in range(threads + 1)]

        def report(count: int) -> None:
            progress(source.consumed, source.file_bytes, count)

        reader = ChromeReader(source, writers, notes, report)
        metadata = reader.read()
        while source.read(1 << 20):
            pass
        for writer in writers:
            writer.close()
        unmatched = join_pairs(connection, events, reader.dialect.device_pids)
        devices = relane(connection, events, reader.dialect.device_pids)
        shutil.rmtree(folder / "spill", ignore_errors=True)
        for lane in events.iterdir():
            if not any(lane.iterdir()):
                lane.rmdir()
        files = [str(path) for path in events.rglob("*.parquet")]
        extent = (None, None, 0)
        if files:
            listed = f"[{', '.join(map(quoted, files))}]"
            [extent] = connection.execute(_EXTENT.format(files=listed)).fetchall()
    if not files and (notes.rejected or notes.truncated):
        raise InputError(f"{source.name}: no whole event in it: {notes.first() or notes.truncated}.")
    file_name = source.path.name if source.path else "stdin"
    file_digest = source.file_digest()
    trace_id = source.content_digest[:16]
    entry: dict[str, Any] = describe(metadata, file_name, bare=reader.cutter.bare, devices=devices)
    entry |= {
        "trace_id": trace_id,
        "trace": name or trace_name(file_name),
        "source_path": None if source.path is None else str(source.path.absolute()),
        "source_bytes": source.consumed,
        "source_mtime_ns": source.mtime_ns,
        "source_sha256": file_digest,
        "content_xxh3": source.content_digest,
        "content_bytes": source.content_bytes,
        "origin_ns": extent[0],
        "start_ns": extent[0],
        "end_ns": extent[1],
        "event_count": extent[2],
        "rejected_count": notes.rejected,
        "repaired_count": notes.repaired,
        "unmatched_count": unmatched,
        "truncated": notes.truncated is not None,
        "samples": notes.to_json(),
        "ingested_at": datetime.datetime.now(datetime.UTC).replace(tzinfo=None),
        "ingested_by": f"tracelake {__version__}",
    }
    new = _publish(layout, events, entry)
    return Ingested(
        source.name, trace_id, str(entry["trace"]), new, extent[2], notes.rejected, notes.repaired, unmatched,
        notes.truncated is not None, notes.truncated or notes.first(),
    )  # fmt: skip


def _publish(layout: Layout, events: Path, entry: dict[str, Any]) -> bool:
    """Move the events into place, then write the catalog row. Return false when the trace was there already."""
    for path in events.rglob("*"):
        fsync_path(path)
    fsync_path(events)
    target = layout.event_dir(entry["trace_id"])
    with exclusive(layout.lock):
        if layout.catalog_file(entry["trace_id"]).exists():
            return False
        if target.exists():
            # Events without a catalog row: a process died between the two steps below.
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        events.rename(target)
        fsync_path(target.parent)
        write_entry(layout, entry)
    return True
