"""The log of a table is read without Delta's library to the same files; what is beyond it, the library reads."""

import json

import pytest

from tracelake.engine.storage import logs
from tracelake.engine.storage import tables as storage
from tracelake.engine.storage.tables import Tables

COLUMNS = {"trace_id": "VARCHAR", "n": "BIGINT"}


@pytest.fixture
def tables(tmp_path):
    """A table of three files, added one after the other, the second taken out again."""
    made = Tables(tmp_path)
    for nth in range(3):
        made.insert("numbers", [{"trace_id": f"{one:016x}", "n": nth} for one in (nth, nth + 4)], COLUMNS)
    [second] = [file for file in made.files("numbers") if file.traces[0] == f"{1:016x}"]
    made.drop("numbers", [second])
    return Tables(tmp_path)


def log(tables, number):
    return tables.path("numbers") / "_delta_log" / f"{number:020d}.json"


def test_the_files_are_those_that_the_library_names_in_its_order(tables):
    own = logs.rows(tables.path("numbers"), tables.version("numbers"))
    assert own is not None
    asked = [{key: row[key] for key in own[0]} for row in tables._asked("numbers")]
    assert [row["min.trace_id"] for row in own] == [f"{2:016x}", f"{0:016x}"]
    assert own == asked


def test_a_reader_never_finds_the_first_rows_of_a_table_without_a_log(tmp_path, monkeypatch):
    moved, seen = storage._moved, []

    def move(file, folder, found):
        action = moved(file, folder, found)
        seen.append((len(list(folder.glob("*.parquet"))), Tables(tmp_path).has_lost_log("numbers")))
        return action

    monkeypatch.setattr(storage, "_moved", move)
    Tables(tmp_path).insert("numbers", [{"trace_id": "a", "n": 1}], COLUMNS)
    assert seen == [(1, False)]


def test_a_table_put_in_order_has_the_files_that_the_library_names(tables):
    folder, before = tables.path("numbers"), tables.files("numbers")
    tables.rewrite("numbers", [], before)
    assert before
    assert logs.rows(folder, tables.version("numbers")) == tables._asked("numbers") == []


def test_the_library_reads_a_log_without_its_first_changes_of_a_later_protocol_or_of_many_changes(tables, monkeypatch):
    folder, version = tables.path("numbers"), tables.version("numbers")
    first = log(tables, 0).read_text()
    log(tables, 0).write_text(first.replace('"minReaderVersion":1,', '"minReaderVersion":3,'))
    assert logs.rows(folder, version) is None
    log(tables, 0).write_text(first)
    assert logs.rows(folder, version) is not None
    monkeypatch.setattr(logs, "_MOST_CHANGES", version)
    assert logs.rows(folder, version) is None
    monkeypatch.undo()
    log(tables, 0).unlink()
    assert logs.rows(folder, version) is None


@pytest.mark.parametrize(
    "change",
    [
        "",
        "no JSON",
        pytest.param("[" * 100_000, id="nested"),
        '{"add": {}}',
        json.dumps({"add": {"path": "a%20b", "size": 1, "stats": "{}"}}),
        json.dumps({"add": {"path": 5, "size": 1, "stats": "{}"}}),
    ],
)
def test_the_library_is_asked_of_a_change_that_cannot_be_told(tables, change):
    log(tables, 1).write_text(change + "\n")
    assert logs.rows(tables.path("numbers"), tables.version("numbers")) is None
