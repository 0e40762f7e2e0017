"""A process killed at any moment leaves a lake of whole traces; writers and readers at once see whole ones too."""

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracelake.engine.migrate import migrate
from tracelake.engine.schema import CATALOG_COLUMNS
from tracelake.lake import Lake

from ..storing import storing_only
from ..support import ROOT
from ..writers import EVENTS, STORED, check_writers_at_once, write_trace

IDS = "SELECT trace_id FROM traces"

#: What is killed: each says when it begins, does its work, and says when it is done.
WORK = f"""
import sys
from pathlib import Path
from tracelake.engine.migrate import migrate
from tracelake.lake import Lake
from tracelake.tests.storing import store_only
what, trace = sys.argv[2], sys.argv[3]
if what != "model":  # it reaches other relations
    store_only(*{STORED})
lake = None if what == "migrate" else Lake(sys.argv[1])
print("ready", flush=True)
if what == "ingest":
    lake.ingest(trace)
elif what == "compute":
    lake.compute("kept", "gone", jobs=1)
elif what == "model":
    lake.set("kept", model="Qwen3-8B")
elif what == "compact":
    lake.compact(vacuum_hours=0)
elif what == "migrate":
    migrate(Path(sys.argv[1]))
elif what == "question":
    lake.rows("SELECT count(*) FROM kernels")
elif what == "set":
    for n in range(20):
        lake.set("kept", build=f"b{{n}}", host=f"h{{n}}")
elif what == "remove":
    lake.remove("gone")
elif what == "export":
    lake.export(sys.argv[4], relations=["traces", "tags"])
print("done", flush=True)
"""

#: Kills its own process where the work passes one of these points, before or after; without a number it counts them.
POINTS = """
import functools, os, signal, sys
from tracelake.engine import catalog, migrate
from tracelake.engine.computing import compute, publish
from tracelake.engine.storage import files, layout, tables
from tracelake.ingest import land
passed, at = [], int(sys.argv[5])
def passing(name):
    passed.append(name)
    if len(passed) == at:
        os.kill(os.getpid(), signal.SIGKILL)
for place, name in (
    (tables.Tables, "_commit"), (tables.Tables, "rewrite"), (tables.Tables, "drop"), (tables.Tables, "vacuum"),
    (tables, "_moved"), (catalog.Catalog, "append"), (catalog.Catalog, "append_settings"), (compute.Worker, "_write"),
    (compute.Worker, "_done"), (publish, "_publish"), (publish, "_renew_links"), (layout.Layout, "remove_events"),
    (land, "_put_in_place"), (files.Staging, "close"), (migrate, "remove_folder"), (migrate, "publish_bytes"),
):
    def at_point(*given, work=getattr(place, name), name=name, **named):
        passing(f"before {name}")
        result = work(*given, **named)
        passing(f"after {name}")
        return result
    setattr(place, name, functools.wraps(getattr(place, name))(at_point))
"""


@pytest.fixture
def few_answers(what):
    """Have lakes here store what they do in the process that is killed: few relations, as many kinds of work."""
    with contextlib.nullcontext() if what == "model" else storing_only(*STORED):
        yield


def run(lake: Path, what: str, trace: Path, code: str = WORK, at: int = 0) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(lake), what, str(trace), str(lake.with_name("out")), str(at)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT.parent,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()
    return process


def make(folder: Path, what: str) -> Path:
    """Make the lake that work is done on: two traces, each of a batch of its own."""
    made = folder / "made"
    with Lake(made, stored=True) as lake:
        for name in ("kept", "gone"):
            # A question computes what an ingest of the events alone has left.
            lake.ingest(write_trace(folder / f"{name}.json"), events_only=what in ("question", "migrate"))
        if what == "compact":
            # Something to take out of every table.
            lake.ingest(write_trace(folder / "more.json"))
            lake.remove("more")
        if what == "migrate":
            make_former(lake)
    return made


def make_former(lake: Lake) -> None:
    """Give a lake of events alone the form that format 1 had."""
    root, names = Path(str(lake.path)), ", ".join(CATALOG_COLUMNS)
    entries = [(one, f"SELECT {names} FROM _catalog WHERE trace_id = '{one}'") for (one,) in lake.rows(IDS)]
    for folder in ("traces", "settings", "marts"):
        (root / folder).mkdir()
    # Not with all relations there: where few are stored, some of the others take minutes to plan.
    connection = lake.store.unguarded.catalog_connection
    for trace_id, entry in entries:
        connection.execute(f"COPY ({entry}) TO '{root}/traces/trace_id={trace_id}.parquet' (FORMAT parquet)")
    shutil.rmtree(root / "tables")
    (root / "lake.json").write_text('{"format": "tracelake", "version": 1}')


def check(lake: Path, what: str) -> None:
    """Check that the lake holds whole traces, answers, and takes all that may come next."""
    if what == "migrate":
        migrate(lake)
        assert {path.name for path in lake.iterdir() if not path.name.startswith(".")} == {
            "events", "lake.json", "tables"
        }  # fmt: skip
    with Lake(lake, stored=True) as opened:
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
        assert tags.get("build") == tags.get("host")
        assert opened.rows("SELECT count(*) FROM _set_aside") == [(0,)]
        assert opened.rows("SELECT count(*) FROM kernels") == [(EVENTS * len(listed),)]
        assert opened.rows("SELECT count(*) FROM traces WHERE model IS NOT NULL")[0][0] <= (what == "model")
        assert opened.store.answers.stale() == []
        # What is under way of the dead is swept up by whoever opens the lake next.
        assert list(opened.layout.staging.iterdir()) == []


WORKS = ("ingest", "question", "compute", "set", "model", "compact", "remove", "export", "migrate")


@pytest.mark.parametrize(("what", "kills"), [
    pytest.param(what, kills, marks=[pytest.mark.slow] if kills > 9 or what in ("model", "compact", "compute") else [])
    for kills in (4, 25)
    for what in WORKS
])  # fmt: skip
@pytest.mark.usefixtures("few_answers")
def test_a_process_killed_at_any_moment_of_its_work_leaves_whole_traces(tmp_path, what, kills):
    made = make(tmp_path, what)
    more = write_trace(tmp_path / "more.json")
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


@pytest.mark.slow
@pytest.mark.usefixtures("few_answers")
@pytest.mark.parametrize("what", [what for what in WORKS if what not in ("question", "export")])
def test_a_process_killed_at_a_point_of_its_work_leaves_whole_traces(tmp_path, what):
    made = make(tmp_path, what)
    more = write_trace(tmp_path / "more.json")
    process = run(shutil.copytree(made, tmp_path / "first"), what, more, POINTS + WORK + "print(*passed, sep='\\n')")
    out, err = process.communicate(timeout=120)
    said, *passed = out.splitlines()
    assert (process.returncode, said, err) == (0, "done", "")
    # Where each point is passed first and last.
    numbers = range(1, len(passed) + 1)
    firsts, lasts = dict(zip(reversed(passed), reversed(numbers), strict=True)), dict(zip(passed, numbers, strict=True))
    assert len(firsts) > 5
    for at in sorted({*firsts.values(), *lasts.values()}):
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        process = run(shutil.copytree(made, tmp_path / "lake"), what, more, POINTS + WORK, at)
        process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, passed[at - 1]
        check(tmp_path / "lake", what)


def test_eight_writers_and_two_readers_at_once_give_what_one_after_the_other_gives(tmp_path):
    check_writers_at_once(str(tmp_path / "lake"), tmp_path)
    with Lake(tmp_path / "lake") as lake:
        assert list(lake.layout.staging.iterdir()) == []
