"""A process killed at any moment leaves a lake of whole traces; writers and readers at once see whole ones too."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracelake.lake import Lake

from ..support import ROOT, trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 0.5}
EVENTS = 3000

#: What is killed: each says when it begins, does its work, and says when it is done.
WORK = """
import os, sys
import duckdb
from tracelake.lake import Lake
lake, what, trace = Lake(sys.argv[1]), sys.argv[2], sys.argv[3]
print("ready", flush=True)
if what == "ingest":
    lake.ingest(trace)
elif what == "question":
    lake.rows("SELECT count(*) FROM kernels")
elif what == "set":
    for n in range(20):
        lake.set("kept", build=f"b{n}", host=f"h{n}")
elif what == "remove":
    lake.remove("gone")
elif what == "export":
    lake.export(sys.argv[4], relations=["traces", "tags"])
print("done", flush=True)
"""


def write_trace(path: Path, events: int = EVENTS) -> Path:
    args = {"stream": 7, "device": 0}
    path.write_bytes(trace_bytes([{**KERNEL, "name": path.stem, "ts": nth, "args": args} for nth in range(events)]))
    return path


def run(lake: Path, what: str, trace: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(lake), what, str(trace), str(lake.with_name("out"))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT.parent,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()
    return process


def check(lake: Path, what: str) -> None:
    """Check that the lake holds whole traces, answers, and takes all that may come next."""
    with Lake(lake) as opened:
        listed = dict(opened.rows("SELECT trace, event_count FROM traces"))
        counted = dict(opened.rows("SELECT trace, count(*) FROM events JOIN traces USING (trace_id) GROUP BY ALL"))
        assert listed == counted
        assert listed["kept"] == EVENTS
        assert listed.keys() - {"kept", "gone", "more"} == set()
        if what != "remove":
            assert listed.get("gone") == EVENTS
        assert listed.get("more", EVENTS) == EVENTS
        tags = dict(opened.rows("SELECT key, value[2:] FROM tags JOIN traces USING (trace_id) WHERE trace = 'kept'"))
        # Both of a `set`, or neither.
        assert not tags or tags["build"] == tags["host"]
        assert opened.rows("SELECT count(*) FROM _set_aside") == [(0,)]
        if what == "question":
            assert opened.rows("SELECT count(*) FROM kernels") == [(EVENTS * len(listed),)]
        # What is under way of the dead is swept up by whoever opens the lake next.
        assert list(opened.layout.staging.iterdir()) == []


@pytest.mark.parametrize(("what", "kills"), [
    pytest.param(what, kills, marks=[pytest.mark.slow] if kills > 9 else [])
    for kills in (4, 40)
    for what in ("ingest", "question", "set", "remove", "export")
])  # fmt: skip
def test_a_process_killed_at_any_moment_of_its_work_leaves_whole_traces(tmp_path, what, kills):
    more = write_trace(tmp_path / "more.json")
    made = tmp_path / "made"
    with Lake(made) as lake:
        # A question computes what an ingest of the events alone has left.
        traces = (write_trace(tmp_path / "kept.json"), write_trace(tmp_path / "gone.json"))
        lake.ingest(*traces, events_only=what == "question")
    begun = time.perf_counter()
    process = run(shutil.copytree(made, tmp_path / "first"), what, more)
    begun = time.perf_counter()
    out, err = process.communicate(timeout=120)
    takes = time.perf_counter() - begun
    assert (process.returncode, out, err) == (0, "done\n", "")
    moments = random.Random(what)
    for _ in range(kills):
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        process = run(shutil.copytree(made, tmp_path / "lake"), what, more)
        time.sleep(moments.uniform(0, 1.1 * takes))
        process.kill()
        process.communicate()
        check(tmp_path / "lake", what)


WRITER = """
import sys
from tracelake.lake import Lake
lake = Lake(sys.argv[1])
lake.ingest(*sys.argv[2:], jobs=1)
lake.set(sys.argv[2].rsplit("/", 1)[-1].removesuffix(".json"), build="set")
"""
READER = """
import sys, time
from tracelake.lake import Lake
lake = Lake(sys.argv[1])
until = time.monotonic() + 500
while time.monotonic() < until:
    lake.refresh()
    listed = lake.rows("SELECT trace, event_count FROM traces ORDER BY ALL")
    counted = lake.rows("SELECT trace, count(*) FROM events JOIN traces USING (trace_id) GROUP BY ALL ORDER BY ALL")
    assert listed == counted, (listed, counted)
    kernels = lake.rows("SELECT trace, count(*) FROM kernels JOIN traces USING (trace_id) GROUP BY ALL ORDER BY ALL")
    assert kernels == listed, (listed, kernels)
    if len(listed) == int(sys.argv[2]):
        break
else:
    raise SystemExit("not all traces were seen")
"""


def test_eight_writers_and_two_readers_at_once_give_what_one_after_the_other_gives(tmp_path):
    writers = 8
    own = [write_trace(tmp_path / f"own{nth}.json", 200 + nth) for nth in range(writers)]
    shared = write_trace(tmp_path / "shared.json", 500)
    lake = tmp_path / "lake"
    environment = {**os.environ, "TRACELAKE_THREADS": "1"}

    def start(code: str, *words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, str(lake), *map(str, words)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT.parent, env=environment)

    processes = [start(WRITER, path, shared) for path in own] + [start(READER, writers + 1) for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=600)
        assert (process.returncode, err) == (0, "")
    with Lake(tmp_path / "serial") as serial, Lake(lake) as together:
        serial.ingest(*own, shared)
        for nth in range(writers):
            serial.set(f"own{nth}", build="set")
        for question in (
            "SELECT trace_id, trace, event_count FROM traces ORDER BY ALL",
            "FROM tags ORDER BY ALL",
            "SELECT * EXCLUDE (event_id) FROM events ORDER BY ALL",
            "FROM kernels ORDER BY ALL",
        ):
            assert together.rows(question) == serial.rows(question)
        assert list(together.layout.staging.iterdir()) == []
