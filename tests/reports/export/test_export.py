"""Relations written for other tools say there what they say here."""

import csv

import duckdb
import pyarrow.parquet as pq
import pytest

from tracelake.engine.errors import UsageError
from tracelake.engine.sql import modules
from tracelake.reports.export.held import computed_once

MODULES = {entry.name: entry for entry in modules.modules()}
PUBLIC = [
    entry.name
    for entry in modules.modules()
    if entry.public and entry.kind != "MACRO" and entry.name != "events" and entry.folder != "star"
]


def same(one, other):
    """Whether rows are equal; threads may add up in another order, which can change the last digit of a sum."""

    def told(rows):
        return sorted(tuple(f"{cell:.9g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows)

    return told(one) == told(other)


@pytest.mark.slow
def test_parquet_files_hold_every_public_relation_row_for_row(s1_lake, tmp_path):
    written = dict(s1_lake.export(tmp_path / "out"))
    assert set(written) == set(PUBLIC) == {path.stem for path in (tmp_path / "out").iterdir()}
    for name, rows in written.items():
        path = tmp_path / "out" / f"{name}.parquet"
        assert pq.read_metadata(path).num_rows == rows
    # Some of them, and others from a database: to compute them all anew takes a while.
    for name in PUBLIC[::4]:
        path = tmp_path / "out" / f"{name}.parquet"
        rows_there = duckdb.execute(f"FROM '{path}' ORDER BY ALL").fetchall()
        assert same(rows_there, s1_lake.sql(f"FROM {name} ORDER BY ALL").fetchall())
    assert written["kernels"] == 695


def test_integers_above_64_bits_are_decimals_in_parquet(s1_lake, tmp_path):
    s1_lake.export(tmp_path, "parquet", ["op_families"])
    table = pq.read_table(tmp_path / "op_families.parquet")
    wide = [column.name for column in MODULES["op_families"].columns if column.type == "HUGEINT"]
    assert {str(table.schema.field(name).type) for name in wide} == {"decimal128(38, 0)"}
    assert {"flop", "bytes"} <= set(wide)
    [(flop,)] = s1_lake.rows("SELECT sum(flop) FROM op_families")
    assert sum(value or 0 for value in table["flop"].to_pylist()) == (flop or 0)


def test_csv_files_have_a_header_and_as_many_rows(s1_lake, tmp_path):
    assert s1_lake.export(tmp_path / "out", "csv", ["kernels", "traces"]) == [("kernels", 695), ("traces", 1)]
    with (tmp_path / "out" / "kernels.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == s1_lake.sql("FROM kernels").columns
    assert len(rows) == 695
    assert sum(int(row[header.index("dur_ns")]) for row in rows) == 310_500_000


def test_a_duckdb_file_holds_the_rows_and_the_comments(s1_lake, tmp_path):
    path = tmp_path / "deep" / "lake.duckdb"
    some = PUBLIC[1::8]
    s1_lake.export(path, "duckdb", some)
    with duckdb.connect(str(path), read_only=True) as other:
        tables = dict(other.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall())
        assert tables == {name: MODULES[name].doc for name in some}
        for name in some:
            comments = other.execute(
                "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = $1 ORDER BY column_index", [name]
            )
            assert comments.fetchall() == [(column.name, column.text) for column in MODULES[name].columns]
            rows = other.execute(f"FROM {name} ORDER BY ALL").fetchall()
            assert same(rows, s1_lake.sql(f"FROM {name} ORDER BY ALL").fetchall())


def test_events_are_written_when_they_are_asked_for(s1_lake, tmp_path):
    assert s1_lake.export(tmp_path / "out", relations=["events"]) == [("events", 696)]


def test_what_cannot_be_written_is_refused_before_anything_is(s1_lake, tmp_path):
    there = tmp_path / "there"
    there.write_text("mine")
    for target, format, relations, message in (
        (tmp_path / "out", "xlsx", [], "unknown format; known: parquet, csv, duckdb, delta, postgres"),
        (tmp_path / "out", "csv", ["nope"], "nope: no such relation"),
        (there, "parquet", [], "is a file"),
        (there, "duckdb", [], "exists already"),
    ):
        with pytest.raises(UsageError, match=message):
            s1_lake.export(target, format, relations)
    assert there.read_text() == "mine"
    assert not (tmp_path / "out").exists()


def test_what_is_computed_once_is_a_table_meanwhile_and_a_view_before_and_after(s1_lake):
    def kind():
        connection = s1_lake.store.prepare("_collective_matches")
        query = "SELECT table_type FROM information_schema.tables WHERE table_name = '_collective_matches'"
        return connection.execute(query).fetchall()

    question = "SELECT * FROM collective_checks ORDER BY ALL"
    before = kind(), s1_lake.rows(question)
    with computed_once(s1_lake.store, ["collective_checks"], ["_collective_matches"]) as connection:
        assert kind() == [("BASE TABLE",)]
        assert connection.execute(question).fetchall() == before[1]
    assert (kind(), s1_lake.rows(question)) == before
    assert before[0] == [("VIEW",)]
