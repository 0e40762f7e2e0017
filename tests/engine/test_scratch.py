"""What a process leaves in the temporary folder goes with it, or with the next command where it was killed."""

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
    """A temporary folder of the test's own."""
    made = tmp_path / "tmp"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    return made


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
    assert list(folder.glob(f"tracelake-{process.pid}-*/*.parquet"))
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


def test_what_a_process_has_that_lives_stays_also_where_its_number_is_not_seen(folder, lake, asking):
    mine = left_in(folder)
    # As of a process in another container: nobody here has the number.
    for name in mine:
        (folder / name).rename(folder / name.replace(f"-{asking.pid}-", "-999999999-"))
    there = left_in(folder)
    assert run_cli("traces", lake=lake).returncode == 0
    assert left_in(folder) == there
    assert len(there) == 2


def test_what_is_somebody_else_s_stays_whatever_its_state(folder, lake, asking):
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    before = left_in(folder)
    for name in before:
        os.chown(folder / name, 12345, 12345)
    assert run_cli("traces", lake=lake).returncode == 0
    assert left_in(folder) == before


def test_of_folders_without_a_lock_those_go_that_are_old_and_of_no_process_that_is_there(tmp_path, folder, lake):
    names = {
        "tracelake-999999999-0123456789abcdef": 2, "tracelake-999999999-fedcba9876543210": 0,
        f"tracelake-{os.getpid()}-0123456789abcdef": 2, "tracelake-999999999-mine": 2, "tracelake-notes": 2,
    }  # fmt: skip
    for name, days in names.items():
        (folder / name).mkdir()
        (folder / name / "a.parquet").touch()
        at = (folder / name).stat().st_mtime - 86400 * days - 60
        os.utime(folder / name, (at, at))
    # A link is nobody's folder: what it leads to stays.
    (tmp_path / "kept").mkdir()
    (folder / "tracelake-999999999-aaaaaaaaaaaaaaaa").symlink_to(tmp_path / "kept")
    (folder / "tracelake-999999999-aaaaaaaaaaaaaaaa.lock").touch()
    assert run_cli("traces", lake=lake).returncode == 0
    assert set(left_in(folder)) - {"tracelake-999999999-aaaaaaaaaaaaaaaa"} == set(names) - {
        "tracelake-999999999-0123456789abcdef"
    }
    assert (tmp_path / "kept").is_dir()
