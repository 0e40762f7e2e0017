"""What holds for the reader of every format, on files made by repeating a few rows of its own."""

import itertools
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracelake.engine.errors import InputError
from tracelake.lake import Lake
from tracelake.synthetic import xspace
from tracelake.synthetic.databases import write_msprof, write_rocpd
from tracelake.synthetic.npu import npu_table
from tracelake.synthetic.nsys import write_nsys

from ..support import entry_of, ingest_into, stored, trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
#: The peak by /proc: what getrusage has of a child holds its parent's memory at the fork as well.
READ = """
import sys
from tracelake.engine.layout import open_layout
from tracelake.ingest.land import ingest_one
ingest_one(open_layout(sys.argv[2], create=True), sys.argv[1], threads=2)
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) // 1024)
"""


def chrome(folder: Path, rows: int) -> Path:
    path = folder / "trace.json"
    path.write_bytes(trace_bytes([{**KERNEL, "ts": nth} for nth in range(1000)] * (rows // 1000)))
    return path


def ascend(folder: Path, rows: int) -> Path:
    header, *lines = npu_table().splitlines()
    path = folder / "kernel_details.csv"
    path.write_text("\n".join([header, *itertools.islice(itertools.cycle(lines), rows), ""]))
    return path


def xplane(folder: Path, rows: int) -> Path:
    numbers = [xspace.number(1, 1), xspace.number(3, 1_000_000)]
    events = b"".join(xspace.message(4, *numbers, xspace.number(2, nth * 2_000_000)) for nth in range(1, 1001))
    line = xspace.message(3, xspace.text(2, "XLA Ops"), events * (rows // 1000))
    # With arguments of some length, as descriptions of operations of TPUs are.
    about = xspace.message(5, xspace.number(1, 1), xspace.message(5, b"x" * 500))
    named = xspace.message(2, xspace.number(1, 1), xspace.text(2, "fusion.1"), about)
    names = xspace.message(4, xspace.number(1, 1), named)
    keys = xspace.message(5, xspace.number(1, 1), xspace.message(2, xspace.number(1, 1), xspace.text(2, "long_name")))
    path = folder / "a.xplane.pb"
    path.write_bytes(xspace.space(xspace.text(2, "/device:TPU:0") + line + names + keys))
    return path


def repeated(path: Path, table: str, rows: int) -> Path:
    """Repeat the rows of a database's table until it has so many; numbers of rows are given anew."""
    connection = sqlite3.connect(path)
    about = connection.execute(f"PRAGMA table_info({table})").fetchall()
    columns = ", ".join(f'"{name}"' for _, name, *_, key in about if not key)
    [(held,)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    while held < rows:
        held += connection.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}").rowcount
    connection.commit()
    connection.close()
    return path


MAKERS: dict[str, Callable[[Path, int], Path]] = {
    "chrome": chrome,
    "ascend table": ascend,
    "xspace": xplane,
    "nsys": lambda folder, rows: repeated(write_nsys(folder / "a.sqlite"), "CUPTI_ACTIVITY_KIND_KERNEL", rows),
    "rocpd": lambda folder, rows: repeated(write_rocpd(folder / "1_results.db"), "rocpd_kernel_dispatch_u", rows),
    "msprof": lambda folder, rows: repeated(write_msprof(folder / "msprof_1.db"), "TASK", rows),
}
every_reader = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@every_reader
def test_every_row_is_an_event_in_whole_nanoseconds_and_the_same_file_again_changes_nothing(tmp_path, make):
    lake = Lake(tmp_path / "lake")
    path = make(tmp_path, 3000)
    first, again = (lake.ingest(path, events_only=True)[0] for _ in range(2))
    assert first.events >= 3000
    assert (first.new, again.new, first.trace_id) == (True, False, again.trace_id)
    assert (first.rejected, first.truncated) == (0, False)
    rows = stored(lake.layout, first.trace_id, "event_id, start_ns, dur_ns")
    assert len({row["event_id"] for row in rows}) == len(rows) == first.events
    assert entry_of(lake.layout, first.trace_id, "event_count") == (first.events,)
    assert all(isinstance(row["start_ns"], int | None) and isinstance(row["dur_ns"], int | None) for row in rows)
    lake.close()


@every_reader
def test_a_file_that_breaks_off_is_named_and_none_of_it_seems_whole(tmp_path, make):
    path = make(tmp_path, 3000)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    lake = Lake(tmp_path / "lake")
    try:
        [result] = ingest_into(lake, path)
    except InputError as error:
        assert path.name in str(error)  # noqa: PT017 - either answer will do
    else:
        said = getattr(result, "truncated", False) or getattr(result, "rejected", 0)
        assert said or path.name in result.reason
    lake.close()


@every_reader
def test_ctrl_c_stops_a_reader_at_its_next_piece_and_leaves_nothing(tmp_path, make):
    lake = Lake(tmp_path / "lake")
    seen: list[int] = []

    def progress(path: str) -> Callable[..., None]:
        def report(read: int, size: int | None, events: int) -> None:
            if events:
                seen.append(events)
                raise KeyboardInterrupt

        return report

    with pytest.raises(KeyboardInterrupt):
        lake.ingest(make(tmp_path, 3000), events_only=True, progress=progress)
    assert len(seen) == 1
    assert not list(lake.layout.staging.iterdir())
    assert lake.rows("SELECT count(*) FROM traces") == [(0,)]
    lake.close()


@pytest.mark.slow
@every_reader
def test_memory_does_not_follow_the_size_of_a_file(tmp_path, make):
    peaks = []
    for rows in (400_000, 1_600_000):
        path = make(tmp_path, rows)
        child = subprocess.run(
            [sys.executable, "-c", READ, str(path), str(tmp_path / f"lake {rows}")],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(child.stdout))
        path.unlink()
    # Where rows gather before they are stored, peaks differ by chance.
    assert peaks[1] < 1.25 * peaks[0] + 50, peaks
