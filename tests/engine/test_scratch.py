"""What a process leaves among temporary files goes with it, or with the next command where it was killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracelake.lake import Lake

from ..support import ROOT, run_cli, trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
#: Answers a question of a lake that it may not write to: what is computed goes into the temporary folder.
ASKS = """
import os, sys
os.access = lambda path, mode: mode != os.W_OK
from tracelake.lake import Lake
lake = Lake(sys.argv[1])
assert lake.rows("SELECT count(*) FROM gaps") == [(0,)]
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's among temporary files of the test's own."""
    made = tmp_path / "tmp"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    return made / f"tracelake-{os.getuid()}"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake of events alone."""
    trace = tmp_path / "trace.json"
    trace.write_bytes(trace_bytes([KERNEL]))
    with Lake(tmp_path / "lake", stored=True) as made:
        made.ingest(trace, events_only=True)
    return tmp_path / "lake"


@pytest.fixture
def asking(folder: Path, lake: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has answers of its own in the temporary folder, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", ASKS, str(lake)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT.parent,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    assert list(folder.glob("*/*.parquet"))
    yield process
    process.kill()
    process.communicate()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_process_that_ends_leaves_nothing(folder, asking):
    asking.communicate("", timeout=60)
    assert asking.returncode == 0
    assert left_in(folder) == []


@pytest.mark.parametrize("command", ["ingest", "traces"])
def test_what_a_killed_process_left_goes_with_the_next_command(tmp_path, folder, lake, asking, command):
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    assert len(left_in(folder)) == 2
    words = ("ingest", tmp_path / "trace.json") if command == "ingest" else ("traces",)
    assert run_cli(*words, lake=lake).returncode == 0
    assert left_in(folder) == []


def test_what_a_process_has_that_lives_stays(folder, lake, asking):
    there = left_in(folder)
    assert run_cli("traces", lake=lake).returncode == 0
    assert left_in(folder) == there
    assert len(there) == 2


def test_only_the_user_may_look_into_it(folder, asking):
    assert folder.stat().st_mode & 0o777 == 0o700


def test_somebody_else_s_folder_of_that_name_is_not_used(folder, lake):
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    ended = run_cli("traces", lake=lake)
    assert ended.returncode == 3
    assert ended.stderr == (
        f"tracelake: {folder}: is not a folder of yours. Set TMPDIR to another place for work under way.\n"
    )
    assert left_in(folder) == []


def test_a_link_is_nobody_s_folder(tmp_path, folder, lake):
    (tmp_path / "kept").mkdir()
    folder.symlink_to(tmp_path / "kept")
    assert run_cli("traces", lake=lake).returncode == 3
    assert left_in(tmp_path / "kept") == []
