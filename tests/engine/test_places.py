"""A lake may lie below any folder, and a lake from a stranger may lie but reaches nothing outside itself."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tracelake.engine.errors import InputError
from tracelake.engine.schema import CATALOG_COLUMNS, STATE_COLUMNS
from tracelake.engine.storage.files import Staging
from tracelake.engine.storage.tables import Tables
from tracelake.lake import Lake

from ..storing import storing_only
from ..support import run_cli, trace_bytes, trace_ids

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
#: Folders that DuckDB would read as columns of its own (`key=value`), as patterns, or as a place elsewhere.
FOLDERS = (
    "run=x/ts=5", "trace_id=zz", "trace_id=0123456789abcdef/lane=host", "name=5/pid=6", "l*", "q?(ab)", "s3:",
    "it's \"so\"", "a new  line; #1", "ünï,{a,b},$HOME,&20,~",
)  # fmt: skip


def write_trace(path: Path, kernels: int, name: str = "k") -> Path:
    path.write_bytes(trace_bytes([{**KERNEL, "name": name, "ts": nth} for nth in range(kernels)]))
    return path


@pytest.fixture
def few_answers():
    """Store the rows of kernels alone: those of other relations lie in the same places."""
    with storing_only("kernels"):
        yield


@pytest.mark.usefixtures("few_answers")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_lake_below_any_folder_answers_as_it_does_elsewhere(tmp_path, name):
    trace = write_trace(tmp_path / "three.json", 3)
    with Lake(tmp_path / name / "lake") as lake:
        [result] = lake.ingest(trace)
        (lake.path / "lookup").mkdir()
        (lake.path / "lookup" / "prices.csv").write_text("offer,hardware,usd_per_hour\nmine,h200,2\n")
        # `_kernels` is stored; `prices` has the lake's own rows.
        asked = (
            "SELECT trace_id, lane, name, start_ns FROM events ORDER BY event_id",
            "SELECT trace_id, trace, event_count FROM traces",
            "SELECT trace_id, count(*) FROM _kernels GROUP BY ALL",
            "SELECT count(*) FROM prices WHERE offer = 'mine'",
        )
        lake.set("three", build="nightly")
        answers = [lake.rows(question) for question in asked]
        assert answers == [
            [(result.trace_id, "device", "k", nth * 1000) for nth in range(3)],
            [(result.trace_id, "three", 3)],
            [(result.trace_id, 3)],
            [(1,)],
        ]
        assert list(lake.path.glob("tables/_kernels/*.parquet"))
        written = lake.export(tmp_path / name / "out", relations=["traces"])
        assert written == [("traces", 1)]
        assert (tmp_path / name / "out" / "traces.parquet").is_file()
        lake.remove("three")
        assert lake.rows("SELECT count(*) FROM events") == [(0,)]


@pytest.mark.usefixtures("few_answers")
def test_a_lake_whose_name_is_a_pattern_does_not_read_its_neighbours(tmp_path):
    for name, kernels in (("l1", 2), ("l*", 3), ("l?", 5)):
        with Lake(tmp_path / name) as lake:
            lake.ingest(write_trace(tmp_path / f"{kernels}.json", kernels))
    for name, kernels in (("l1", 2), ("l*", 3), ("l?", 5)):
        with Lake(tmp_path / name) as lake:
            assert lake.rows("SELECT count(*) FROM events") == [(kernels,)]
            assert lake.rows("SELECT count(*) FROM kernels") == [(kernels,)]


def test_a_path_that_duckdb_cannot_open_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(InputError, match="holds a backslash and one of"):
        Lake(tmp_path / "back\\sl*")
    for odd in ("l[1]", "100%", "back\\slash", "new\nline", "a^b", "a|b"):
        with pytest.raises(InputError, match="a lake's path cannot hold"):
            Lake(tmp_path / odd)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    with pytest.raises(InputError, match=r"caf\\xe9: this path is not UTF-8"):
        Lake(odd)
    ended = run_cli("traces", lake=odd)
    assert (ended.returncode, "Traceback" in ended.stderr) == (3, False)


def test_a_question_about_some_traces_opens_their_files_alone(tmp_path):
    """Where the folders' names are parsed, the files of other traces and lanes are still left alone."""
    with Lake(tmp_path / "run=x") as lake:
        for nth in range(4):
            lake.ingest(write_trace(tmp_path / f"{nth}.json", nth + 1, f"k{nth}"), events_only=True)
        [(trace_id,)] = lake.rows("SELECT trace_id FROM traces WHERE trace = '2'")
        plan = lake.rows(f"EXPLAIN ANALYZE SELECT sum(dur_ns) FROM events WHERE trace_id = '{trace_id}'")
        assert "Total Files Read: 1 " in str(plan)


def test_an_entry_whose_id_is_none_makes_no_path(tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "dear.parquet").write_text("dear")
    lake = Lake(tmp_path / "lake")
    [result] = lake.ingest(write_trace(tmp_path / "trace.json", 2))
    tables = Tables(lake.layout.tables)
    columns = CATALOG_COLUMNS | STATE_COLUMNS
    for lie in ("../../../../victim", "", None, "trace_id=..", result.trace_id.upper()):
        tables.insert("traces", [{"trace_id": lie, "trace": "lie", "event_count": 1, "row_id": "9"}], columns)
    opened = Lake(lake.path)
    assert opened.rows("SELECT trace_id, trace FROM traces") == [(result.trace_id, "trace")]
    assert opened.rows("SELECT count(*) FROM kernels") == [(2,)]
    assert run_cli("remove", "lie", lake=lake.path).returncode == 2
    assert run_cli("remove", "trace", lake=lake.path).returncode == 0
    assert (victim / "dear.parquet").read_text() == "dear"
    assert Lake(lake.path).rows("SELECT count(*) FROM traces") == [(0,)]


@pytest.mark.parametrize("word", ["../../victim", "", "0123456789ABCDEF", "0123456789abcdef\n", "0123456789abcde*"])
def test_what_is_no_id_makes_no_path(lake, word):
    layout = lake.layout
    for path in (layout.event_dir, layout.event_files):
        with pytest.raises(InputError, match="not the id of a trace"):
            path(word)


@pytest.mark.parametrize("where", ["../../../victim/dear.parquet", "/etc/passwd", "link.parquet"])
def test_a_log_that_names_a_file_elsewhere_is_refused(s1_lake, victim, where):
    table = s1_lake.layout.tables / "_kernels"
    (table / "link.parquet").symlink_to(victim / "dear.parquet")
    [log] = (table / "_delta_log").glob("*.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = where
    log.write_text("\n".join(map(json.dumps, lines)))
    ended = run_cli("kernels", "s1", lake=s1_lake.path)
    assert (ended.returncode, "names a file elsewhere" in ended.stderr) == (3, True)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder outside the lake, with what a lake's own folders hold."""
    folder = tmp_path / "victim"
    (folder / "yarn").mkdir(parents=True)
    for name in ("yarn.lock", "yarn/dear.txt", "dear.parquet", "fingerprint", "trace_id=0123456789abcdef.parquet"):
        (folder / name).write_text("dear")
    return folder


def content(folder: Path) -> dict[Path, tuple[str, int]]:
    return {path: (path.read_text(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "link", ["events", "tables", "lookup", "reference", ".staging", ".lock", "tables/traces", "tables/k"]
)
def test_a_lake_with_a_link_in_the_place_of_its_own_folder_is_refused(s1_lake, victim, link):
    place = s1_lake.path / link
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(victim)
    before = content(victim)
    for words in (("traces",), ("remove", "s1"), ("set", "s1", "run=x")):
        ended = run_cli(*words, lake=s1_lake.path)
        assert (words, ended.returncode) == (words, 3)
        assert f"{place}: is a symbolic link" in ended.stderr
    assert content(victim) == before


def test_a_link_among_the_files_of_a_trace_is_neither_read_nor_followed(s1_lake, victim):
    [trace_id] = trace_ids(s1_lake)
    (s1_lake.layout.event_dir(trace_id) / "lane=device" / "more.parquet").symlink_to(victim / "dear.parquet")
    (s1_lake.layout.event_dir(trace_id) / "lane=python").symlink_to(victim)
    (s1_lake.path / "lookup").mkdir()
    (s1_lake.path / "lookup" / "prices.csv").symlink_to(victim / "yarn.lock")
    before = content(victim)
    with Lake(s1_lake.path) as opened:
        assert opened.rows("SELECT count(*) FROM events") == [(696,)]
        assert opened.rows("SELECT count(*) FROM prices WHERE offer = 'dear'") == [(0,)]
        opened.set("s1", run="x")
        opened.remove("s1")
        assert not opened.layout.event_dir(trace_id).exists()
    assert content(victim) == before


def test_the_events_of_a_trace_that_are_a_link_are_taken_away_as_a_link(s1_lake, victim):
    [trace_id] = trace_ids(s1_lake)
    shutil.rmtree(s1_lake.layout.event_dir(trace_id))
    (victim / "lane=device").mkdir()
    s1_lake.layout.event_dir(trace_id).symlink_to(victim)
    before = content(victim)
    with Lake(s1_lake.path) as opened:
        assert opened.rows("SELECT count(*) FROM events") == [(0,)]
        opened.remove("s1")
    assert content(victim) == before
    assert not s1_lake.layout.event_dir(trace_id).is_symlink()


def test_a_lock_in_the_staging_folder_that_is_a_link_takes_nothing_with_it(s1_lake, victim):
    staging = s1_lake.layout.staging
    with Staging(staging):
        pass
    (staging / "yarn.lock").symlink_to(victim / "yarn.lock")
    (staging / "yarn").symlink_to(victim / "yarn")
    before = content(victim)
    Lake(s1_lake.path).rows("SELECT count(*) FROM traces")
    assert content(victim) == before


def test_a_lake_that_another_process_is_making_or_was_killed_while_making_is_made(tmp_path):
    for name in ("events", "tables", ".staging"):
        (tmp_path / "lake" / name).mkdir(parents=True)
    (tmp_path / "lake" / ".lake.json.0123").write_text("")
    assert Lake(tmp_path / "lake").rows("SELECT count(*) FROM traces") == [(0,)]
