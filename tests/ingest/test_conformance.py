"""What holds for the reader of every format, on files made by repeating a few rows of its own."""

import csv
import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracelake.engine import store
from tracelake.engine.errors import InputError
from tracelake.lake import Lake
from tracelake.synthetic import xspace
from tracelake.synthetic.databases import write_msprof, write_rocpd
from tracelake.synthetic.npu import npu_table
from tracelake.synthetic.nsys import write_nsys

from ..interrupting import PATIENCE, interrupted, reading
from ..support import entry_of, ingest_into, stored, trace_bytes
from .credentials import KINDS, token
from .test_secrets import everything_in

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
#: The peak by /proc: what getrusage has of a child holds its parent's memory at the fork as well.
READ = """
import sys
from tracelake.engine.storage.layout import open_layout
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


def chrome_with(folder: Path, name: str, argument: str) -> Path:
    path = folder / "trace.json"
    path.write_bytes(trace_bytes([{**KERNEL, "name": name, "args": {"device": 0, "note": argument}}]))
    return path


def ascend_with(folder: Path, name: str, argument: str) -> Path:
    rows = list(csv.DictReader(npu_table().splitlines()))
    rows[3] |= {"Name": name, "Input Shapes": argument}
    path = folder / "kernel_details.csv"
    with path.open("w", newline="") as out:
        table = csv.DictWriter(out, rows[0])
        table.writeheader()
        table.writerows(rows)
    return path


def xspace_with(folder: Path, name: str, argument: str) -> Path:
    event = xspace.Event(name, 1_000_000, 2_000_000, {"note": argument})
    path = folder / "a.xplane.pb"
    path.write_bytes(xspace.space(xspace.plane("/device:TPU:0", [xspace.Line("XLA Ops", 1, [event])])))
    return path


def nsys_with(folder: Path, name: str, argument: str) -> Path:
    return changed(
        write_nsys(folder / "a.sqlite"), "UPDATE StringIds SET value = ? WHERE id = ?", (name, 1), (argument, 2)
    )


def rocpd_with(folder: Path, name: str, argument: str) -> Path:
    # The arguments of its events are numbers; what a marker says is text.
    path = write_rocpd(folder / "1_results.db")
    changed(path, "UPDATE rocpd_info_kernel_symbol_u SET display_name = ?", (name,))
    message = json.dumps({"message": f"aten::mm, {argument}, op_id = 9"})
    return changed(path, "UPDATE rocpd_event_u SET extdata = ? WHERE extdata LIKE '%op_id%'", (message,))


def msprof_with(folder: Path, name: str, argument: str) -> Path:
    texts = ((name, "MatMulV2_1"), (argument, "8,16;16,4"))
    return changed(write_msprof(folder / "msprof_1.db"), "UPDATE STRING_IDS SET value = ? WHERE value = ?", *texts)


def changed(path: Path, statement: str, *values: tuple[object, ...]) -> Path:
    with sqlite3.connect(path) as connection:
        connection.executemany(statement, values)
    connection.close()
    return path


#: Makers of a file of each format with an event that has a name and an argument.
PLANTERS: dict[str, Callable[[Path, str, str], Path]] = {
    "chrome": chrome_with, "ascend table": ascend_with, "xspace": xspace_with, "nsys": nsys_with,
    "rocpd": rocpd_with, "msprof": msprof_with,
}  # fmt: skip
every_reader = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
#: Rows that each reader takes about a second to read.
A_SECOND = {
    "chrome": 400_000, "ascend table": 200_000, "xspace": 400_000, "nsys": 400_000, "rocpd": 150_000,
    "msprof": 100_000,
}  # fmt: skip


@pytest.fixture
def command(call, monkeypatch):
    """Return what runs a command here, on a lake that stores its answers: exit code, stdout, stderr."""
    monkeypatch.setattr(store, "STORED", True)
    return lambda lake, *words: call("--lake", lake, *words)


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


@pytest.mark.parametrize("kind", MAKERS)
def test_a_real_ctrl_c_in_the_midst_of_a_file_leaves_a_lake_that_takes_it_next_time(tmp_path, monkeypatch, kind):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    lake, path = tmp_path / "lake", MAKERS[kind](tmp_path, A_SECOND[kind])
    took, code, told = interrupted(lake, "ingest", path, "--events-only", when=reading(lake, 0.2))
    assert (code, told) == (130, f"tracelake: interrupted, nothing stored of {path}.\n")
    assert took < PATIENCE
    assert [*lake.glob(".staging/*"), *lake.glob("events/*"), *(tmp_path / "tmp").glob("*/*")] == []
    with Lake(lake, stored=True) as opened:
        assert opened.rows("SELECT count(*) FROM traces") == [(0,)]
        [result] = opened.ingest(path, events_only=True)
        assert (result.new, result.rejected, result.truncated) == (True, 0, False)
        assert opened.rows("SELECT event_count >= $1 FROM traces", [A_SECOND[kind]]) == [(True,)]


@pytest.mark.parametrize("plant", PLANTERS.values(), ids=PLANTERS)
def test_a_credential_in_a_name_or_an_argument_is_in_no_file_of_the_lake_and_no_output(tmp_path, command, plant):
    kinds = ("github_token", "json_web_token", "url_password", "secret_value")
    texts = " ".join(KINDS[kind][0] for kind in kinds)
    lake, path = tmp_path / "lake", plant(tmp_path, f"seen_in_a_name {texts}", f"seen_in_an_argument {texts}")
    code, *told = command(lake, "ingest", path)
    assert code == 0
    asked = ("sql", "SELECT * FROM events JOIN traces USING (trace_id)", "--format", "json")
    outputs = [command(lake, *words)[1] for words in (asked, ("doctor",))]
    assert command(lake, "export", "events", "traces", "-o", tmp_path / "out")[0] == 0
    for where in (everything_in(lake), everything_in(tmp_path / "out"), outputs[0]):
        assert "seen_in_a_name" in where
        assert "seen_in_an_argument" in where
        assert [kind for kind in kinds if f"[redacted:{kind}]" not in where] == []
        outputs.append(where)
    outputs += told
    assert [kind for kind in kinds if any(KINDS[kind][1] in where for where in outputs)] == []


@every_reader
def test_a_credential_in_the_names_of_file_and_folder_is_stored_nowhere(tmp_path, command, make):
    secret = token("gh" + "p_", 36)
    made = make(tmp_path, 3000)
    folder = tmp_path / f"runs-{secret}"
    folder.mkdir()
    lake, paths = tmp_path / "lake", []
    for rank in (0, 1):
        paths.append(folder / f"{secret}_rank{rank}{made.name[made.name.index('.') :]}")
        paths[-1].write_bytes(made.read_bytes())
    code, out, err = command(lake, "ingest", paths[0])
    assert code == 0
    assert "run runs-[redacted:github_token] (folder name)" in err
    code, listed, _ = command(lake, "traces", "--format", "json")
    assert (code, len(json.loads(listed))) == (0, 1)
    assert [where for where in (everything_in(lake), listed, out + err) if secret in where] == []


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
