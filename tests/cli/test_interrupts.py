"""Ctrl-C ends a command within a second and leaves nothing of what it had begun."""

import json
from pathlib import Path

import pytest

from tracelake.engine.storage import files
from tracelake.lake import Lake

from ..interrupting import PATIENCE, interrupted, reading
from ..support import trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace whose reading takes many seconds: a million begin and end events, which are paired in one query."""
    path = tmp_path_factory.mktemp("large") / "large.json"
    with path.open("w") as out:
        out.write('{"traceEvents": [\n')
        for nth in range(500_000):
            out.write(f'{{"ph": "B", "name": "n{nth % 999}", "pid": 1, "tid": {nth % 7}, "ts": {nth}.5}},\n')
            out.write(f'{{"ph": "E", "name": "n{nth % 999}", "pid": 1, "tid": {nth % 7}, "ts": {nth + 9}.25}},\n')
        out.write(json.dumps(KERNEL) + "\n]}")
    return path


@pytest.mark.parametrize("later", [0.0, 0.4, 1.5, 4.0])
def test_an_ingest_that_is_interrupted_stores_nothing_and_says_of_which_file(tmp_path, large, later):
    lake = tmp_path / "lake"
    took, code, told = interrupted(lake, "ingest", large, when=reading(lake, later), late=later > 1)
    assert (code, told) == (130, f"tracelake: interrupted, nothing stored of {large}.\n")
    assert took < PATIENCE
    assert [*lake.glob(".staging/*"), *lake.glob("events/*"), *lake.glob("tables/traces/*.parquet")] == []


def test_a_question_that_is_interrupted_ends_whatever_the_database_is_at(tmp_path):
    Lake(tmp_path / "lake").close()
    question = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range + b.range) % 7 = 1"
    took, code, told = interrupted(tmp_path / "lake", "sql", question, when=lambda seconds: seconds > 3)
    assert (code, told) == (130, "tracelake: interrupted.\n")
    assert took < PATIENCE


def test_files_that_were_stored_before_the_interrupt_stay(tmp_path, large):
    lake = tmp_path / "lake"
    small = tmp_path / "small.json"
    small.write_bytes(trace_bytes([KERNEL]))
    took, code, told = interrupted(
        lake, "ingest", "--jobs", "1", small, large, when=lambda _: list(lake.glob("tables/traces/*.parquet"))
    )
    assert code == 130
    assert str(small) not in told
    assert took < PATIENCE
    assert Lake(lake).rows("SELECT trace FROM traces") == [("small",)]


def test_a_library_that_is_interrupted_stops_reading_and_leaves_nothing(tmp_path, large):
    """Of the methods Python's own KeyboardInterrupt comes; the files under way are given up at their next piece."""
    lake = Lake(tmp_path / "lake")
    before = tuple(files._under_way)

    def progress(path: str) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.ingest(large, progress=progress)
    assert not list(lake.layout.staging.iterdir())
    assert tuple(files._under_way) == before
