"""Time and memory of a program, run in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

#: Ingest the file of the first argument into a new lake below the folder of the second; `events_only` is filled in.
_INGEST = """
import shutil, sys, time
import tracelake.lake
shutil.rmtree(sys.argv[2] + "/lake", ignore_errors=True)
begun = time.perf_counter()
with_lake = tracelake.open(sys.argv[2] + "/lake")
with_lake.ingest(sys.argv[1], events_only={events_only})
print(time.perf_counter() - begun)
"""
#: With answers, and without.
INGEST, EVENTS_ONLY = (_INGEST.format(events_only=alone) for alone in (False, True))


def measure(program: str, trace: Path, folder: Path, repeats: int = 3) -> tuple[float, float]:
    """Return the median seconds and the largest peak in MB of a program run in fresh processes."""
    seconds, peaks = [], []
    for _ in range(repeats):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(trace), str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        answer = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"a measurement failed with {child.returncode}")
        seconds.append(float(answer))
        peaks.append(used.ru_maxrss / 1024 / (1024 if sys.platform == "darwin" else 1))
    return statistics.median(seconds), max(peaks)
