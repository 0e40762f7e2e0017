"""Writers and readers of one lake at once: what they find, and what there is when they are through."""

import os
import subprocess
import sys
from pathlib import Path

from tracelake.lake import Lake

from .storing import storing_only
from .support import ROOT, trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "dur": 0.5, "args": {"stream": 7, "device": 0}}
#: Events of a trace, unless it is given how many.
EVENTS = 3000
#: What writers store: relations that are asked for, and those whose rows rest on other traces too.
STORED = ("kernels", "ops", "collectives")
WRITER = f"""
import sys
from tracelake.lake import Lake
from tracelake.tests.storing import store_only
store_only(*{STORED})
lake = Lake(sys.argv[1])
lake.ingest(*sys.argv[2:], jobs=1)
lake.set(sys.argv[2].rsplit("/", 1)[-1].removesuffix(".json"), build="set")
"""
READER = f"""
import sys, time
from tracelake.lake import Lake
from tracelake.tests.storing import store_only
store_only(*{STORED})
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
    time.sleep(0.1)
else:
    raise SystemExit("not all traces were seen")
"""


def write_trace(path: Path, events: int = EVENTS) -> Path:
    """Write a trace of kernels."""
    path.write_bytes(trace_bytes([{**KERNEL, "name": path.stem, "ts": nth} for nth in range(events)]))
    return path


def check_writers_at_once(lake: str, folder: Path, writers: int = 8, readers: int = 2) -> None:
    """Have each writer ingest a trace of its own and one that all have, and compare with one writer's work.

    Args:
        lake: where the lake is, a path or an address.
        folder: for traces, and for the lake of the one writer.
        writers: how many write.
        readers: how many look all the while, and must see whole traces.
    """
    own = [write_trace(folder / f"own{nth}.json", 200 + nth) for nth in range(writers)]
    shared = write_trace(folder / "shared.json", 500)
    environment = {**os.environ, "TRACELAKE_THREADS": "1"}

    def start(code: str, *words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, lake, *map(str, words)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT.parent, env=environment)

    processes = [start(WRITER, path, shared) for path in own] + [start(READER, writers + 1) for _ in range(readers)]
    for process in processes:
        _, err = process.communicate(timeout=600)
        assert (process.returncode, err) == (0, "")
    with storing_only(*STORED), Lake(folder / "serial") as serial, Lake(lake) as together:
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
