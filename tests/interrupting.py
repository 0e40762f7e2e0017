"""Commands in a process of their own that get a real Ctrl-C in the midst of their work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .support import ROOT

#: What Ctrl-C may take here. The claim is a second; a machine that runs other tests beside this one gets more, and
#: what does not hear the signal goes on for longer than this.
PATIENCE = 8.0


def reading(lake: Path, seconds: float) -> Callable[[float], bool]:
    """Return what says that an ingest has read for some seconds: since it made the folder of its events."""
    begun: list[float] = []

    def is_time(now: float) -> bool:
        if not begun and list(lake.glob(".staging/*/*/events")):
            begun.append(now)
        return bool(begun) and now >= begun[0] + seconds

    return is_time


def interrupted(
    lake: Path, *words: str | Path, when: Callable[[float], object], late: bool = False
) -> tuple[float, int, str]:
    """Start a command, interrupt it, and return how long it took to end, its code and its words.

    Args:
        lake: the lake.
        words: the command.
        when: given the seconds since its start, whether to interrupt it now.
        late: this is late in its work: where the machine is done before, the test is skipped.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRACELAKE")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tracelake", "--lake", str(lake), *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT.parent, env=environment,
        # What runs the tests in the background may ignore the signal, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    begun = time.monotonic()
    while not when(time.monotonic() - begun):
        if late and process.poll() == 0:
            pytest.skip("this machine was done before the interrupt")
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - begun < 60
        time.sleep(0.02)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    return time.monotonic() - sent, process.returncode, told
