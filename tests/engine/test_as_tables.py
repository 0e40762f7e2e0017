"""What is computed as tables: it follows the traces that come and go, and is cut into parts where it does not fit."""

import duckdb
import pytest

from tracelake.engine.computing import compute, workers
from tracelake.engine.computing.as_tables import as_tables
from tracelake.engine.computing.compute import Worker
from tracelake.engine.sql import modules
from tracelake.ingest.land import ingest_one
from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu

from ..launching import Trace
from ..storing import storing_only


def test_what_had_no_rows_has_them_when_a_trace_with_some_comes_and_none_when_it_goes(s1_file, tmp_path):
    write_npu(tmp_path / "kernel_details.csv")
    question = "SELECT count(*) > 0 FROM _ascend_rows"
    with Lake(tmp_path / "lake", stored=False) as lake:
        lake.ingest(s1_file)
        found = [*lake.rows(question), *lake.rows("SELECT count(*) FROM passes")]
        lake.ingest(tmp_path / "kernel_details.csv")
        found += [*lake.rows(question), *lake.rows("SELECT count(*) > 5 FROM passes")]
        lake.remove("kernel_details")
        found += [*lake.rows(question), *lake.rows("SELECT count(*) FROM passes")]
    assert found == [(False,), (5,), (True,), (True,), (False,), (5,)]


def test_a_view_without_rows_is_itself_again_when_a_trace_with_some_comes(s1_file, tmp_path):
    write_npu(tmp_path / "kernel_details.csv")
    # The first is about Ascend alone, of the second the tables below are empty, of the third one side of a union.
    questions = [f"SELECT count(*) FROM {name}" for name in ("ascend_checks", "_ascend_types", "_own_health")]
    with Lake(tmp_path / "lake", stored=False) as lake:
        lake.ingest(s1_file)
        alone = [lake.rows(question)[0][0] for question in questions]
        kinds = lake.rows(
            "SELECT view_name FROM duckdb_views() WHERE view_name = 'ascend_checks' AND contains(sql, 'NULL')"
        )
        lake.ingest(tmp_path / "kernel_details.csv")
        both = [lake.rows(question)[0][0] for question in questions]
        lake.remove("kernel_details")
        again = [lake.rows(question)[0][0] for question in questions]
    assert alone == again
    assert alone[:2] == [0, 0]
    assert kinds == [("ascend_checks",)]
    assert both[0] == 9
    assert both[1] > 0
    assert both[2] >= alone[2] + 9


def test_what_several_relations_read_is_a_table_and_what_one_reads_is_not():
    order = modules.in_order(modules.closure(["gaps"]))
    tables = as_tables(order)
    # Both of the ends of gaps and of their names, `gaps` is made; nobody else reads the names.
    assert {"gaps", "_gap_ends"} <= tables
    assert not {"_gap_names", "events"} & tables
    assert "_gap_ends" not in as_tables(order, {"_gap_ends"})


def test_what_does_not_fit_in_a_user_s_limit_is_computed_in_parts(s1_lake, s1_file, tmp_path, monkeypatch):
    made = []
    whole = Worker._make_table

    def make(self, entry, connection):
        if entry.name == "gaps" and "_gap_rows" not in made:
            raise duckdb.OutOfMemoryException("no room for all joins at once")
        whole(self, entry, connection)
        made.append(entry.name)

    monkeypatch.setattr(Worker, "_make_table", make)
    question = "SELECT * FROM gaps ORDER BY device, gap_id"
    expected = s1_lake.rows(question)
    with storing_only("gaps"), Lake(tmp_path / "events", memory_limit="1GB", stored=True) as lake:
        ingest_one(lake.store.layout, s1_file)
        assert lake.rows(question) == expected
    assert made.index("_gap_rows") < made.index("gaps")


def test_ids_of_traces_are_numbers_in_all_that_is_computed_and_texts_in_what_is_stored(s1_file, tmp_path, monkeypatch):
    write_npu(tmp_path / "kernel_details.csv")
    texts, computed = set(), []
    whole = Worker._chain

    def chain(self, *rest):
        whole(self, *rest)
        rows = self.connection.execute(
            "SELECT table_name FROM duckdb_columns() WHERE column_name = 'trace_id' AND data_type = 'VARCHAR'"
        ).fetchall()
        computed.append(self._emptiness.rows["kernels"])
        texts.update(name for (name,) in rows if self._emptiness.rows.get(name) and name != "tags")

    monkeypatch.setattr(Worker, "_chain", chain)
    with Lake(tmp_path / "lake", stored=True) as lake:
        # Two batches of one worker, each with traces of its own.
        for file in (s1_file, tmp_path / "kernel_details.csv"):
            lake.ingest(file)
        assert lake.rows("SELECT typeof(any_value(trace_id)), count(DISTINCT trace_id) FROM kernels") == [
            ("VARCHAR", 2)
        ]
    assert all(computed)
    assert len(computed) == 2
    assert texts == set()


@pytest.fixture
def at_once(monkeypatch) -> list[int]:
    """How many tables are made at once of each batch, by workers of this test."""
    monkeypatch.setattr(workers, "_idle", [])
    seen: list[int] = []
    whole = Worker._done

    def done(self, jobs, most):
        seen.append(most)
        return whole(self, jobs, most)

    monkeypatch.setattr(Worker, "_done", done)
    return seen


ASKED = {"kernels": "kernel_id", "gaps": "device, gap_id", "findings": "2"}
QUESTIONS = [f"FROM {name} ORDER BY {key}" for name, key in ASKED.items()]


def test_a_large_trace_is_computed_table_by_table_and_has_the_same_rows(
    s1_lake, s1_file, tmp_path, monkeypatch, at_once
):
    monkeypatch.setenv("TRACELAKE_THREADS", "2")
    monkeypatch.setattr(compute, "_LARGE", 0)
    monkeypatch.setattr(compute, "_SORTED", 0)
    expected = [s1_lake.rows(question) for question in QUESTIONS]
    with storing_only(*ASKED), Lake(tmp_path / "large", stored=True) as lake:
        lake.ingest(s1_file)
        assert [lake.rows(question) for question in QUESTIONS] == expected
    assert at_once == [1]


@pytest.mark.parametrize("threads", [1, 2])
def test_as_many_tables_are_made_at_once_as_there_are_threads_and_their_rows_are_the_same(
    s1_lake, s1_file, tmp_path, monkeypatch, at_once, threads
):
    monkeypatch.setenv("TRACELAKE_THREADS", str(threads))
    expected = [s1_lake.rows(question) for question in QUESTIONS]
    other = Trace().add("kernel", "name", 10, 5, 0, 7, device=0, stream=7).run(20, 1).write(tmp_path / "other.json")
    with storing_only(*ASKED), Lake(tmp_path / "made", stored=True) as lake:
        lake.ingest(s1_file, other)
        of_other = "trace_id = (SELECT trace_id FROM traces WHERE trace = 'other')"
        assert lake.rows(f"SELECT count(*) FROM kernels WHERE {of_other}") == [(2,)]
        for (name, key), rows in zip(ASKED.items(), expected, strict=True):
            assert lake.rows(f"FROM {name} WHERE NOT {of_other} ORDER BY {key}") == rows
    # Both traces are one batch.
    assert at_once == [threads]


@pytest.mark.parametrize(("category", "expected"), [("python_function", 2), ("cpu_op", 1), ("kernel", 1)])
def test_a_trace_is_large_by_what_its_tables_are_made_of(tmp_path, monkeypatch, at_once, category, expected):
    monkeypatch.setenv("TRACELAKE_THREADS", "2")
    monkeypatch.setattr(compute, "_LARGE", 300)
    trace = Trace()
    for nth in range(299):
        trace.add(category, f"name {nth}", 10 * nth, 5, 0, 7, device=0, stream=7)
    path = trace.run(5000, 10).write(tmp_path / "trace.json")
    with storing_only("kernels"), Lake(tmp_path / "lake", stored=True) as lake:
        lake.ingest(path)
    assert at_once == [expected]
