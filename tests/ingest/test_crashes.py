"""A killed ingest leaves nothing that is seen; several processes may ingest into one lake at once."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracelake.ingest.land import ingest_one
from tracelake.lake import Lake

from ..support import ROOT, new_lake, stored

EVENTS = 20_000
READ_ONE = """
import sys, time
from tracelake.engine.storage.layout import open_layout
from tracelake.ingest.land import ingest_one
from pathlib import Path
lake = open_layout(Path(sys.argv[1]), create=True)
print("ready", flush=True)
sys.stdin.readline()
for path in sys.argv[2:]:
    print(ingest_one(lake, path, threads=2).new, flush=True)
"""


def write_trace(path: Path, events: int = EVENTS) -> Path:
    lines = (
        f'{{"ph": "X", "cat": "{"kernel" if nth % 3 else "cpu_op"}", "name": "k{nth % 50}", "pid": 0, "tid": 7, '
        f'"ts": {nth}.125, "dur": 0.5, "args": {{"stream": 7, "device": 0, "correlation": {nth}}}}}'
        for nth in range(events)
    )
    path.write_text('{"traceEvents": [' + ",\n".join(lines) + f'], "traceName": "{path.name}"}}')
    return path


def start(lake: Path, *paths: Path) -> subprocess.Popen[str]:
    """Start a process that reads files into a lake; it waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", READ_ONE, str(lake), *map(str, paths)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT.parent,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()
    return process


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.slow
def test_an_ingest_killed_at_any_moment_leaves_a_lake_of_whole_traces(tmp_path):
    trace = write_trace(tmp_path / "trace.json")
    lake = new_lake(tmp_path / "lake")
    before = time.perf_counter()
    trace_id = ingest_one(new_lake(tmp_path / "other"), trace, threads=2).trace_id
    takes = time.perf_counter() - before
    moments = random.Random(20)
    outcomes = set()
    opened = Lake(lake.root)
    for _ in range(20):
        process = start(lake.root, trace)
        begin(process)
        time.sleep(moments.uniform(0, 1.3 * takes))
        process.kill()
        process.communicate()
        opened.refresh()
        listed = opened.sql("SELECT trace_id, event_count FROM traces").fetchall()
        counted = opened.sql("SELECT trace_id, count(*) FROM events GROUP BY ALL").fetchall()
        assert listed == counted
        assert listed in ([], [(trace_id, EVENTS)])
        outcomes.add(bool(listed))
        assert ingest_one(lake, trace, threads=2).new == (not listed)
        assert not list(lake.staging.iterdir())
        assert len(stored(lake, trace_id, "event_id")) == EVENTS
        opened.refresh()
        opened.remove(trace_id)
        assert not list(lake.events.iterdir())
    assert False in outcomes


def test_events_left_by_a_process_that_died_before_the_catalog_row_are_replaced(tmp_path):
    trace = write_trace(tmp_path / "trace.json", 100)
    lake = new_lake(tmp_path / "lake")
    trace_id = ingest_one(lake, trace).trace_id
    shutil.rmtree(lake.tables / "traces")
    [first, *_] = sorted(lake.event_dir(trace_id).rglob("*.parquet"))
    first.write_bytes(b"half a file")
    opened = Lake(lake.root)
    assert opened.sql("SELECT count(*) FROM events").fetchall() == [(0,)]
    assert ingest_one(lake, trace).new
    assert len(stored(lake, trace_id)) == 100


def test_two_processes_read_different_and_the_same_files_into_one_lake_at_once(tmp_path):
    files = [write_trace(tmp_path / f"rank{nth}.json", 2000) for nth in range(4)]
    lake = new_lake(tmp_path / "lake")
    # Each reads one file of its own, and both read the same two.
    both = [start(lake.root, *files[2:], files[0]), start(lake.root, *files[2:], files[1])]
    for process in both:
        begin(process)
    said = []
    for process in both:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        said += out.split()
    assert sorted(said) == ["False"] * 2 + ["True"] * 4
    opened = Lake(lake.root)
    counted = opened.sql("SELECT trace, count(*) FROM events JOIN traces USING (trace_id) GROUP BY ALL ORDER BY ALL")
    assert counted.fetchall() == [(f"rank{nth}", 2000) for nth in range(4)]
    assert opened.sql("SELECT trace, event_count FROM traces ORDER BY ALL").fetchall() == counted.fetchall()
    assert not list(lake.staging.iterdir())


def test_two_processes_that_open_a_new_lake_at_once_make_one(tmp_path):
    files = [write_trace(tmp_path / f"rank{nth}.json", 10) for nth in range(2)]
    both = [start(tmp_path / "lake", path) for path in files]
    for process in both:
        assert process.communicate("\n", timeout=60) == ("True\n", "")
    assert json.loads((tmp_path / "lake" / "lake.json").read_bytes())["version"] == 2
    assert len(Lake(tmp_path / "lake").traces().fetchall()) == 2


def test_settings_said_by_several_processes_at_once_are_all_kept(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.ingest(write_trace(tmp_path / "trace.json", 10))
    code = (
        "import sys, tracelake\n"
        "for n in range(3):\n    tracelake.open(sys.argv[1]).set('trace', **{f'{sys.argv[2]}{n}': n})"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(lake.path), word], stderr=subprocess.PIPE, text=True)
        for word in ("a", "b")
    ]
    for process in both:
        assert process.communicate(timeout=60)[1] == ""
    lake.refresh()
    kept = lake.sql("SELECT key, value FROM tags ORDER BY ALL").fetchall()
    assert kept == [(f"{word}{nth}", str(nth)) for word in "ab" for nth in range(3)]
