"""Full disks, lakes that cannot be written to, closed streams, strange names: each ends in a sentence and its code."""

import contextlib
import errno
import os
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tracelake.commands import failures
from tracelake.engine.errors import InputError, why
from tracelake.lake import Lake
from tracelake.reports.output.files import writing

from ..support import ingest_into, run_cli, trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
TRACE = trace_bytes([{**KERNEL, "ts": nth} for nth in range(3)])


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Have a folder that nobody can write to: by its mode, or for root, who may all, by how it is mounted."""
    if os.geteuid() != 0:
        places = [folder, *folder.rglob("*")]
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in places}
        for path in places:
            path.chmod(modes[path] & ~0o222)
        yield
        for path, mode in modes.items():
            path.chmod(mode)
        return
    for command in (["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder]):
        if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
            subprocess.run(["umount", folder], capture_output=True, check=False)
            pytest.skip("needs to mount a folder for reading alone")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def never_unforeseen(ended: subprocess.CompletedProcess[str]) -> None:
    assert "This should not happen" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_lake_for_reading_alone_answers_and_says_that_it_cannot_be_changed(s1_lake):
    kernels = s1_lake.rows("SELECT count(*), sum(dur_ns) FROM kernels")
    s1_lake.close()
    # One relation is stored, another is not: its file is gone.
    shutil.rmtree(s1_lake.layout.tables / "_kernels")
    with read_only(s1_lake.path):
        ended = run_cli(
            "sql", "SELECT count(*) AS n, sum(dur_ns) AS ns FROM kernels", "--format", "csv", lake=s1_lake.path
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "n,ns\n{},{}\n".format(*kernels[0]), "")
        for words in (("set", "s1", "run=x"), ("remove", "s1"), ("ingest", __file__)):
            ended = run_cli(*words, lake=s1_lake.path)
            never_unforeseen(ended)
            assert (words, ended.returncode) == (words, 3)
            assert f"{s1_lake.path}: this lake cannot be changed: " in ended.stderr
            assert "Read-only file system" in ended.stderr or "Permission denied" in ended.stderr
        assert run_cli("traces", lake=s1_lake.path).returncode == 0


def small_files(limit: int) -> None:
    """Let a process write no file larger than so many bytes: to it, the disk is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_on_a_full_disk_questions_are_answered_and_what_cannot_be_written_is_said(s1_lake, tmp_path):
    [(kernels,)] = s1_lake.rows("SELECT count(*) FROM kernels")
    s1_lake.close()
    trace = tmp_path / "more.json"
    trace.write_bytes(TRACE)
    cases: list[tuple[tuple[str | Path, ...], int, str]] = [
        (("sql", "SELECT count(*) AS n FROM kernels", "--format", "csv"), 0, f"n\n{kernels}\n"),
        (("set", "s1", "run=" + "x" * 500), 3, ""),
        (("ingest", trace), 3, ""),
        (("export", "traces", "-o", tmp_path / "out"), 3, ""),
        (("sql", "FROM events", "--format", "csv", "-o", tmp_path / "out.csv"), 3, ""),
    ]
    for words, code, answer in cases:
        # Python would store a part of each module that it compiles, for all who run it after.
        ended = run_cli(
            *words, lake=s1_lake.path, preexec_fn=lambda: small_files(300), env={"PYTHONDONTWRITEBYTECODE": "1"}
        )
        never_unforeseen(ended)
        assert (words, ended.returncode, ended.stdout) == (words, code, answer)
        assert ("cannot be" in ended.stderr) == (code == 3)
    assert not list(s1_lake.layout.staging.iterdir())
    assert Lake(s1_lake.path).rows("SELECT trace FROM traces") == [("s1",)]


@pytest.mark.parametrize(("closed", "words", "code"), [
    ("<&-", ["ingest", "-"], 3),
    ("<&-", ["traces"], 0),
    (">&-", ["traces"], 3),
    ("2>&-", ["traces"], 0),
    ("> /dev/full", ["traces"], 3),
])  # fmt: skip
def test_a_stream_that_is_closed_or_full_is_named(tmp_path, closed, words, code):
    Lake(tmp_path / "lake").close()
    line = f'exec "{sys.executable}" -m tracelake --lake "{tmp_path / "lake"}" {" ".join(words)} {closed}'
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    never_unforeseen(ended)
    assert ended.returncode == code
    assert ("cannot be written" in ended.stderr or "is closed" in ended.stderr) == (code == 3)


def test_a_trace_is_ingested_where_nobody_hears_of_it(tmp_path):
    (tmp_path / "trace.json").write_bytes(TRACE)
    words = "--lake lake ingest trace.json --events-only"
    line = f'exec "{sys.executable}" -m tracelake {words} 2>&-'
    assert subprocess.run(["sh", "-c", line], cwd=tmp_path, check=False, timeout=60).returncode == 0
    assert Lake(tmp_path / "lake").rows("SELECT trace, event_count FROM traces") == [("trace", 3)]


def test_a_copy_that_cannot_be_written_names_its_target(tmp_path):
    with pytest.raises(InputError, match=r"^answer: cannot be written: No space left on device\.$"), writing("answer"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "scratch", None, "answer")


FULL = 'Could not write file "/lake/k"'
#: What DuckDB says of a file that it wrote in the background, and delta-rs in colour.
ASYNC = 'IO Error: Async write failed for range [offset=0, size=9]: {{"exception_message":"Could not {}","errno":"28"}}'
DELTA = "Generic LocalFileSystem error\n  \x1b[31m↳\x1b[0m Unable to copy data to file\n   \x1b[31m↳\x1b[0m {}\n"


@pytest.mark.parametrize(("text", "reason"), [
    (ASYNC.format('write file \\"/lake/k\\": No space left on device'), f"{FULL}: No space left on device"),
    (f"IO Error: {FULL}: No space left on device", f"{FULL}: No space left on device"),
    (DELTA.format("No space left on device (os error 28)"), "No space left on device"),
    (DELTA.format("Disk quota exceeded (os error 122)"), "Disk quota exceeded (os error 122)"),
    ("Out of Memory Error: no", "Out of Memory Error: no"),
])  # fmt: skip
def test_why_a_file_cannot_be_written_is_a_line(text, reason):
    assert why(OSError(text)) == why(OSError(errno.EIO, text)) == reason


def test_a_file_that_ends_early_is_no_interrupt(capsys):
    """Click takes the end of any file for that of what a user types."""
    error = click.Abort()
    error.__cause__ = EOFError("marshal data too short")
    assert failures.exit_code(error) == 1
    assert "EOFError: marshal data too short" in capsys.readouterr().err
    assert failures.exit_code(click.Abort()) == 130


def test_file_names_that_are_not_utf_8_are_stored_readably_and_found_again(tmp_path):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.json"))
    odd.write_bytes(TRACE)
    lake = tmp_path / "lake"
    ended = run_cli("ingest", odd, lake=lake)
    assert (ended.returncode, "3 events" in ended.stderr) == (0, True)
    with Lake(lake) as opened:
        assert opened.rows("SELECT trace FROM traces") == [(r"caf\xe9",)]
        # By its path and its own name, it is known already.
        assert opened.locate(str(odd)) == opened.locate(os.fsdecode(b"caf\xe9"))
    for words in (("set", "caf", odd), ("set", "caf", f"tag={odd}"), ("sql", f"SELECT '{odd}'"), ("passes", odd)):
        ended = run_cli(*words, lake=lake)
        never_unforeseen(ended)
        assert ended.returncode in (1, 2)
    assert run_cli("traces", lake=lake).returncode == 0


@pytest.mark.parametrize("locale", [
    {"LANG": "C", "LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
])  # fmt: skip
def test_a_plain_locale_shows_names_as_far_as_it_can(tmp_path, locale):
    folder = tmp_path / "größe"
    folder.mkdir()
    (folder / "spür.json").write_bytes(trace_bytes([{**KERNEL, "name": "käse-→"}]))
    lake = folder / "lake"
    ended = run_cli("ingest", folder / "spür.json", lake=lake, env=locale)
    never_unforeseen(ended)
    assert ended.returncode == 0
    for form in ("table", "csv", "json"):
        ended = run_cli("sql", "SELECT trace, name FROM events JOIN traces USING (trace_id)", "--format", form,
                        lake=lake, env=locale)  # fmt: skip
        never_unforeseen(ended)
        assert ended.returncode == 0
    with Lake(lake) as opened:
        assert opened.rows("SELECT trace, name FROM events JOIN traces USING (trace_id)") == [("spür", "käse-→")]


def test_without_a_home_one_is_told_to_name_a_lake(tmp_path):
    (tmp_path / "trace.json").write_bytes(TRACE)
    line = "import tracelake.commands.common as common, pathlib\n"
    line += "def no_home(): raise RuntimeError('no home')\n"
    line += "pathlib.Path.home = no_home\n"
    line += "import sys, tracelake.cli as cli\nsys.argv = ['tracelake', 'traces', *sys.argv[1:]]\n"
    line += "sys.argv[1:] = ['kernels', 'trace.json']\ncli.main()"
    environment = {key: value for key, value in os.environ.items() if key not in ("HOME", "XDG_CACHE_HOME")}
    ended = subprocess.run(
        [sys.executable, "-c", line], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    never_unforeseen(ended)
    assert ended.returncode == 2
    assert "name a lake with --lake" in ended.stderr


def test_links_in_circles_pipes_and_links_to_nothing_are_no_traces_and_stop_nobody(tmp_path):
    folder = tmp_path / "runs"
    (folder / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (folder / "good.json").write_bytes(TRACE)
    (folder / "circle.json").symlink_to("circle.json")
    (folder / "nothing.json").symlink_to("absent.json")
    (folder / "itself").symlink_to(".")
    os.mkfifo(folder / "pipe.json")
    os.mkfifo(folder / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    lake = Lake(tmp_path / "lake")
    # What is named like a trace and is none is no silence; a pipe, and a link that is followed nowhere, are.
    [good, *lost] = ingest_into(lake, folder)
    assert good.events == 3
    assert [one.source for one in lost] == [str(folder / "circle.json"), str(folder / "nothing.json")]
    for name in ("circle.json", "nothing.json"):
        [failed] = ingest_into(lake, folder / name)
        assert "a symbolic link to nothing, or to itself" in failed.reason


def test_what_a_pipe_gives_is_read_as_a_file(tmp_path):
    (tmp_path / "trace.json").write_bytes(TRACE)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", f'cat "{tmp_path}/trace.json" > "{tmp_path}/pipe"']):
        [result] = ingest_into(Lake(tmp_path / "lake"), tmp_path / "pipe")
    assert result.events == 3
