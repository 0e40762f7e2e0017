"""What the tests of the reader, the engine and the command line share: traces, and an independent reading of them."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

import pytest

from tracelake.engine.connection import database
from tracelake.engine.storage.layout import Layout, open_layout
from tracelake.engine.storage.tables import Tables
from tracelake.ingest import formats
from tracelake.ingest.ascend.table import TableReader
from tracelake.ingest.chrome import cutter
from tracelake.ingest.chrome.reader import ChromeReader
from tracelake.ingest.land import ingest_one
from tracelake.ingest.lanes import LARGEST_NS
from tracelake.ingest.one import Ingested
from tracelake.lake import Lake

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("TRACELAKE_TEST_DATA", ROOT.parent / "shared" / "data"))
EVENT_COLUMNS = (
    "event_id, ph, category, name, pid, tid, start_ns, dur_ns, end_ns, correlation, external_id, device, stream, "
    "input_dims, input_types, id, args, extra"
)
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_SPACE = re.compile(r"[\s,]*")
#: Enough digits for any sum of two JSON numbers that the tests write.
_EXACT = Context(prec=100)


def data_file(name: str) -> Path:
    """Return a file of the shared data; skip the test where it is absent."""
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"needs the trace {path}")
    return path


def data_files(*patterns: str) -> list[Any]:
    """Return the shared files of some patterns as parameters; where there are none, one that skips."""
    found = [path.relative_to(DATA).as_posix() for pattern in patterns for path in sorted(DATA.glob(pattern))]
    if found:
        return [pytest.param(name, id=Path(name).name.split(".")[0]) for name in found]
    return [pytest.param("", id="absent", marks=pytest.mark.skip(f"needs the traces in {DATA}"))]


def content_of(path: Path) -> bytes:
    """Return a file's content, decompressed by Python."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


class Number(str):
    """The text of a JSON number."""

    __slots__ = ()


@dataclass
class Reading:
    """A trace as Python reads it.

    Attributes:
        events: the elements of the event array, numbers as their text.
        whole: the array and what is around it have an end.
        around: the keys of the object around the array.
    """

    events: list[Any]
    whole: bool
    around: dict[str, Any] = field(default_factory=dict)


def python_reads(content: bytes) -> Reading:
    """Read a trace with Python's json alone; of one that breaks off, the elements before the break."""
    text = content.decode("utf-8", "replace")
    numbers: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), Number)
    try:
        found = json.loads(text, strict=False, **numbers)
    except ValueError:
        return Reading(_elements_before_the_break(text, json.JSONDecoder(strict=False, **numbers)), whole=False)
    if isinstance(found, list):
        return Reading(found, whole=True)
    return Reading(found.pop("traceEvents"), whole=True, around=found)


def _elements_before_the_break(text: str, decoder: json.JSONDecoder) -> list[Any]:
    array = _EVENTS.search(text)
    at = array.end() if array else text.index("[") + 1
    found = []
    with contextlib.suppress(ValueError):
        while True:
            space = _SPACE.match(text, at)
            element, at = decoder.raw_decode(text, space.end() if space else at)
            if at == len(text) and not isinstance(element, dict | list):
                break  # a number or word that the cut may have shortened
            found.append(element)
    return found


def nanoseconds(*microseconds: str) -> int:
    """Return the sum of decimal microseconds in nanoseconds, halves rounded away from zero."""
    total = Decimal(0)
    for text in microseconds:
        total = _EXACT.add(total, Decimal(text))
    return int((_EXACT.multiply(total, Decimal(1000))).to_integral_value(ROUND_HALF_UP))


def is_time(value: Any) -> bool:
    """Whether a value of "ts" or "dur" is a time: a finite number, or the text of one."""
    if not isinstance(value, str):
        return False
    try:
        return Decimal(value).is_finite() and abs(nanoseconds(value)) < 2**63
    except ArithmeticError:
        return False


def is_number(value: Any) -> bool:
    """Whether a value of "ts" or "dur" is a number, or the text of one; NaN and infinity are."""
    try:
        return isinstance(value, str) and bool(Decimal(value).as_tuple())
    except ArithmeticError:
        return False


def is_event(element: Any) -> bool:
    """Whether an element of the array can be a row: an object with a phase, and a time unless it is metadata.

    One with a duration is none where its end is no time.
    """
    if not isinstance(element, dict) or element.get("ph") is None:
        return False
    start, end = start_and_end(element)
    if start is not None and end is None and is_number(element.get("dur")):
        return False
    times = [time for time in (start, end) if time is not None]
    return bool(times or element["ph"] == "M") and all(abs(time) <= LARGEST_NS for time in times)


def start_and_end(event: dict[str, Any]) -> tuple[int | None, int | None]:
    """Return the times of an event by its own "ts" and "dur"."""
    ts: Any = event.get("ts")
    dur: Any = event.get("dur")
    start = nanoseconds(ts) if is_time(ts) else None
    end = nanoseconds(ts, dur) if start is not None and is_time(dur) else None
    return start, end if end is not None and abs(end) < 2**63 else None


def comparable(value: Any) -> Any:
    """Return JSON with its numbers as floats, whatever they were written like."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, Number) or (isinstance(value, int) and not isinstance(value, bool)):
        return float(value)
    return value


def trace_bytes(events: Sequence[Any], **around: Any) -> bytes:
    """Return a Chrome trace object as text, an event per line."""
    lines = ",\n  ".join(json.dumps(event) for event in events)
    head = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in around.items())
    return f'{{{head}"traceEvents": [\n  {lines}\n]}}'.encode()


def new_lake(folder: Path) -> Layout:
    """Make an empty lake."""
    return open_layout(folder, create=True)


def ingest_bytes(layout: Layout, content: bytes, name: str = "trace.json") -> Ingested:
    """Write content to a file beside the lake and ingest it."""
    path = layout.root.with_name(f"{layout.root.name}-{name}")
    path.write_bytes(content)
    return ingest_one(layout, path, threads=2)


@contextlib.contextmanager
def pieces_of(size: int) -> Iterator[None]:
    """Have files read, and cut into pieces, `size` bytes at a time."""
    with pytest.MonkeyPatch.context() as patch:
        for reader in (ChromeReader, TableReader):
            patch.setattr(formats, reader.__name__, functools.partial(reader, piece_bytes=size))
        patch.setattr(cutter, "FIRST_BYTES", size)
        yield


def ingest_into(lake: Lake, *paths: Path) -> list[Any]:
    """Ingest files and return what became of each."""
    return list(lake.ingest(*paths))


def stored(layout: Layout, trace_id: str, columns: str = EVENT_COLUMNS) -> list[dict[str, Any]]:
    """Return the events of a trace in file order, straight from the Parquet files."""
    files = [str(path) for path in layout.event_dir(trace_id).rglob("*.parquet")]
    if not files:
        return []
    with database(1) as connection:
        rows = connection.execute(f"SELECT {columns} FROM read_parquet($1) ORDER BY event_id", [files])
        names = [column[0] for column in rows.description or []]
        return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


def entry_of(layout: Layout, trace_id: str, columns: str) -> tuple[Any, ...]:
    """Return columns of a trace's latest entry in the catalog, straight from its table."""
    files = [str(file.path) for file in Tables(layout.tables).files("traces")]
    with database(1) as connection:
        [row] = connection.execute(
            f"SELECT {columns} FROM read_parquet($1, union_by_name = true) WHERE trace_id = $2 "
            "ORDER BY row_id DESC LIMIT 1", [files, trace_id],
        ).fetchall()  # fmt: skip
        return tuple(row)


def trace_ids(lake: Lake) -> list[str]:
    """Return the traces of a lake."""
    return [trace_id for (trace_id,) in lake.rows("SELECT trace_id FROM traces ORDER BY trace_id")]


def batches(lake: Lake) -> dict[str, str]:
    """Return the batch that computed the answers of each trace."""
    lake.refresh()
    return dict(lake.rows("SELECT trace_id, batch_id FROM _entries"))


def run_cli(*words: str | Path, lake: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRACELAKE")}
    environment |= options.pop("env", {})
    if lake is not None:
        environment["TRACELAKE_LAKE"] = str(lake)
    return subprocess.run(
        [sys.executable, "-m", "tracelake", *map(str, words)],
        env=environment, text=True, capture_output=True, check=False, timeout=120, **options,
    )  # fmt: skip


def bound_by_modes() -> None:
    """Have the program that a new process becomes open no file whose mode forbids it, although root runs it."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH out of what it may have
            libc.prctl(24, capability, 0, 0, 0)


def needs_modes(path: Path) -> None:
    """Skip a test where `bound_by_modes` changes nothing; the path is of a file to try it with."""
    path.touch(mode=0)
    ended = subprocess.run(["cat", path], preexec_fn=bound_by_modes, capture_output=True, check=False)
    path.unlink()
    if ended.returncode == 0:
        pytest.skip("root may read everything, and cannot lay that down here")
