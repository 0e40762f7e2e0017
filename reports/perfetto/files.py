"""A file for Perfetto: which part of which traces, in which format, on which clock."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

from ...analysis.passes import find_one_pass
from ...analysis.ranks import find_run
from ...analysis.traces import locate
from ...engine.errors import UsageError
from ...engine.storage.scratch import scratch_folder
from ..output.files import writing
from ..trace.chrome import write_chrome
from .part import part_of
from .trace import Shown, write

if TYPE_CHECKING:
    from ...engine.store import Store

#: Formats, each with the suffixes that imply it.
FORMATS = {"perfetto": (), "chrome": (".json", ".json.gz")}


class Written(NamedTuple):
    """The content of a file.

    Attributes:
        path: the file.
        events: number of events in it: slices, instants, counter values; in Chrome's format, all its events.
        start_ns: start of the region to look at, on the file's clock.
        end_ns: end of that.
        unaligned: names of ranks whose clock could not be aligned with the others'.
    """

    path: Path
    events: int
    start_ns: int
    end_ns: int
    unaligned: tuple[str, ...] = ()


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that a file's name implies: perfetto, except for .json and .json.gz."""
    return "chrome" if os.fspath(path).lower().endswith(FORMATS["chrome"]) else "perfetto"


def write_perfetto(
    store: Store,
    trace: str,
    path: str | os.PathLike[str],
    pass_id: SupportsIndex | None = None,
    layers: Sequence[int] = (),
    *,
    at: Mapping[str, int] | None = None,
    ranks: bool = False,
    format: str | None = None,
) -> Written:
    """Write a trace for Perfetto: its events, with tracks for tracelake's findings.

    Times are those of the original, to the nanosecond; other ranks are shifted to the clock of the first. A
    trace with times below 0 is shifted to begin at 0.

    Args:
        store: the lake.
        trace: the trace; with `ranks` also a run.
        path: the file; gzipped when its name ends in .gz.
        pass_id: only this pass; in Chrome's format, which has one pass, default: the chosen one.
        layers: only these layers of the pass.
        at: the region to look at, see `part_of`.
        ranks: all ranks of the trace's run.
        format: perfetto or chrome; default: by the file's name, see `format_of`.

    Raises:
        UsageError: the trace has no such pass, layer or place, or the format does not support it.
        InputError: the file cannot be written.
    """
    format = format or format_of(path)
    if format not in FORMATS:
        raise UsageError(f"format {format}: expected {' or '.join(FORMATS)}.")
    if format == "chrome":
        if ranks or at:
            raise UsageError("Chrome's format has one pass or some of its layers: name a file .pftrace for all else.")
        trace_id = locate(store, trace)
        number = find_one_pass(store, trace_id, pass_id)
        events = write_chrome(store, trace_id, path, number, layers)
        part = part_of(store, trace_id, number, layers)
        return Written(Path(path), events, part.start_ns, part.end_ns)
    run, trace_id = find_run(store, trace) if ranks else ("", locate(store, trace))
    part = part_of(store, trace_id, pass_id, layers, at)
    members = _members(store, run) if ranks else [_Member(trace_id, "", 0, True)]
    starts_ns = dict(store.rows("SELECT trace_id, coalesce(start_ns, 0) FROM traces"))
    before_0_ns = min(0, *(starts_ns[member.trace_id] - member.offset_ns for member in members))
    own_ns = next(member.offset_ns for member in members if member.trace_id == trace_id)
    shown = [
        Shown(member.trace_id, member.title, member.offset_ns + before_0_ns, part.moved(member.offset_ns - own_ns))
        for member in members
    ]
    with scratch_folder() as folder:
        beside = folder / f"trace{Path(path).suffix}"
        events = write(store, shown, beside)
        with writing(path):
            shutil.copyfile(beside, path)
    moved = part.moved(-own_ns - before_0_ns)
    unaligned = tuple(member.title for member in members if not member.is_aligned)
    return Written(Path(path), events, moved.start_ns, moved.end_ns, unaligned)


class _Member(NamedTuple):
    trace_id: str
    title: str
    offset_ns: int
    is_aligned: bool


def _members(store: Store, run: str) -> list[_Member]:
    rows = store.rows(
        "SELECT trace_id, concat_ws(': ', 'rank ' || rank, trace), offset_ns, is_aligned FROM perfetto_clocks "
        "WHERE run = $1 ORDER BY place",
        [run],
    )
    return [_Member(*row) for row in rows]
