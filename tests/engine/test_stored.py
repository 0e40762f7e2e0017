"""What is stored is what a question computes of the events, in whatever order, form or reader it is asked for."""

import json
from pathlib import Path

import deltalake
import duckdb
import polars
import pytest

from tracelake.engine import store
from tracelake.engine.computing import compute, memory, workers
from tracelake.engine.errors import InputError
from tracelake.engine.migrate import migrate
from tracelake.engine.schema import CATALOG_COLUMNS
from tracelake.engine.sql import modules
from tracelake.engine.storage.tables import Tables
from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu

from ..graph_traces import Host
from ..support import batches, trace_bytes

#: What is stored, and the public views that rest on it: models without a trace are computed alike in every lake.
RESTING = sorted(modules.stored()) + [
    entry.name
    for entry in modules.modules()
    if entry.public and entry.kind == "VIEW" and entry.name not in modules.stored()
    and modules.sources(entry.name) & modules.stored()
]  # fmt: skip


@pytest.fixture(scope="module")
def traces(s1_file, tmp_path_factory) -> list[Path]:
    """A made-up decode, an Ascend table, a replayed graph, its capture, and a tiny trace."""
    folder = tmp_path_factory.mktemp("traces")
    write_npu(folder / "kernel_details.csv")
    kernels = ("rmsnorm", "Cijk_Alik_Bljk", "softmax")
    replay = Host().replay(*kernels).write(folder / "replay.json")
    capture = Host().capture(*kernels, dims=[[8, 16], [16, 32]], module="Layer_0").write(folder / "capture.json")
    tiny = folder / "tiny.json"
    tiny.write_bytes(trace_bytes([{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2}]))
    return [s1_file, folder / "kernel_details.csv", replay, capture, tiny]


@pytest.fixture(scope="module")
def filled(traces, tmp_path_factory) -> Path:
    """A lake of these, read two and three at a time, so that the capture comes after its replay."""
    with Lake(tmp_path_factory.mktemp("stored") / "lake") as lake:
        lake.ingest(*traces[:3])
        lake.ingest(*traces[3:])
    return Path(str(lake.path))


def answers(lake: Lake, *names: str) -> dict[str, list[str]]:
    """Return the rows of relations, doubles to 9 digits: sums of them depend on their order."""
    found = {}
    for name in names:
        entry = modules.module(name)
        columns = ", ".join(
            f"CAST(CAST(printf('%.9g', \"{column.name}\") AS DOUBLE) AS VARCHAR)"
            if column.type == "DOUBLE"
            else f'"{column.name}"'
            for column in entry.columns
        )
        found[name] = sorted(map(repr, lake.rows(f"SELECT {columns} FROM {name}")))
    return found


def test_stored_rows_are_those_that_a_question_computes(filled):
    with Lake(filled) as stored, Lake(filled, stored=False) as computed:
        for name in RESTING:
            assert answers(stored, name) == answers(computed, name), name
        # Nothing was compared with nothing.
        assert sum(bool(stored.rows(f"FROM {name} LIMIT 1")) for name in RESTING) > 80


def test_a_replay_that_comes_with_its_capture_has_its_rows_once(traces, tmp_path):
    # What rests on the capture is computed twice before the replay has an entry: with its own rows, and then again.
    names = ("captured_kernels", "kernel_roofline", "comparison_bases", "regions")
    with Lake(tmp_path / "lake") as stored, Lake(tmp_path / "lake", stored=False) as computed:
        stored.ingest(traces[2], traces[3], jobs=1)
        assert len({state.batch_id for state in stored.store.catalog.states.values()}) == 1
        assert answers(stored, *names) == answers(computed, *names)
        assert stored.rows("SELECT count(*) FROM captured_kernels") != [(0,)]
        assert stored.broken_invariants() == []


def test_tables_put_in_order_answer_the_same_and_are_plain_to_other_readers(filled, tmp_path):
    names = ["layers", "kernels", "collectives", "kernel_roofline", "ascend_operators", "traces", "tags", "gaps"]
    with Lake(filled) as lake:
        expected = answers(lake, *names)
        # What a trace had before is there beside what it has.
        lake.set("s1", num_layers=3)
        lake.set("s1", num_layers=None, build="7")
        assert any(len(Tables(lake.layout.tables).files(name)) > 1 for name in ("_kernels", "traces"))
        expected["tags"] = answers(lake, "tags")["tags"]
        done = lake.compact(vacuum_hours=0)
        assert done["traces"][1] == 1
        assert lake.compact() == {}
        assert answers(lake, *names) == expected
        counted = dict(lake.rows("SELECT trace_id, count(*) FROM _kernels GROUP BY ALL"))
        with Lake(filled, stored=False) as computed:
            assert answers(computed, *names) == expected
    table = filled / "tables" / "_kernels"
    others = [
        polars.scan_delta(str(table)).group_by("trace_id").len().collect().rows(),
        deltalake.DeltaTable(table).to_pyarrow_table().group_by("trace_id").aggregate([([], "count_all")]).to_pylist(),
        duckdb.execute(f"SELECT trace_id, count(*) FROM read_parquet('{table}/*.parquet') GROUP BY ALL").fetchall(),
    ]
    assert [dict(row if isinstance(row, tuple) else tuple(row.values()) for row in rows) for rows in others] == [
        counted
    ] * 3
    assert {path.name for path in table.glob("*.parquet")} == {
        file.path.name for file in Tables(table.parent).files("_kernels")
    }


def test_tables_without_any_row_left_are_no_hindrance_to_putting_others_in_order(s1_lake, traces):
    s1_lake.remove("s1")
    assert s1_lake.compact()["_kernels"] == (1, 0)
    s1_lake.ingest(traces[-1], events_only=True)
    s1_lake.remove("tiny")
    assert s1_lake.compact() == {"traces": (2, 0)}


def test_what_a_writer_left_that_did_not_come_to_its_end_is_not_seen(filled):
    """Rows without an entry of the catalog: they count as nothing, before the tables are put in order and after."""
    with Lake(filled) as lake:
        before = lake.rows("SELECT count(*) FROM kernels")
        [file, *_] = Tables(lake.layout.tables).files("_kernels")
        rows = f"SELECT '9999' AS batch_id, * EXCLUDE (batch_id) FROM read_parquet('{file.path}')"
        path = filled / ".staging" / "left.parquet"
        path.parent.mkdir(exist_ok=True)
        duckdb.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
        entry = modules.module("_kernels")
        columns = {"batch_id": "VARCHAR"} | {column.name: column.type for column in entry.columns}
        found = {key: {"trace_id": file.traces[0], "batch_id": "9999"} for key in ("minValues", "maxValues")}
        Tables(lake.layout.tables).append("_kernels", [(path, {"numRecords": 1} | found)], columns)
    for _ in range(2):
        with Lake(filled) as lake:
            assert lake.rows("SELECT count(*) FROM kernels") == before
            lake.compact()


@pytest.fixture
def former(filled, tmp_path) -> Path:
    """A lake of format 1: an entry of the catalog and the settings of each trace are files of their own."""
    lake = tmp_path / "former"
    with Lake(filled) as opened:
        names = ", ".join(CATALOG_COLUMNS)
        (lake / "traces").mkdir(parents=True)
        (lake / "settings").mkdir()
        for (trace_id,) in opened.rows("SELECT trace_id FROM traces"):
            rows = f"SELECT {names} FROM _catalog WHERE trace_id = '{trace_id}'"
            opened.connection.execute(f"COPY ({rows}) TO '{lake}/traces/trace_id={trace_id}.parquet' (FORMAT parquet)")
        (lake / "settings" / f"trace_id={opened.resolve('s1')}.json").write_text(
            json.dumps({"num_layers": "6", "x": "y"})
        )
    (lake / "events").symlink_to(filled / "events")
    (lake / "marts" / "_kernels").mkdir(parents=True)
    (lake / "lake.json").write_text('{"format": "tracelake", "version": 1}')
    return lake


def test_a_lake_of_format_1_is_refused_with_what_to_do_and_migrated(former, filled, call):
    with pytest.raises(InputError, match=f"format 1.*tracelake --lake {former} migrate"):
        Lake(former)
    (former / "events").unlink()
    (former / "events").mkdir()
    for folder in (filled / "events").iterdir():
        (former / "events" / folder.name).mkdir()
        for file in folder.rglob("*.parquet"):
            place = former / "events" / folder.name / file.parent.name
            place.mkdir(exist_ok=True)
            (place / file.name).hardlink_to(file)
    code, out, err = call("--lake", former, "migrate")
    assert (code, out) == (0, "")
    assert "5 traces migrated" in err
    assert sorted(path.name for path in former.iterdir() if not path.name.startswith(".")) == [
        "events",
        "lake.json",
        "tables",
    ]
    assert migrate(former) == 0
    with Lake(former) as lake, Lake(filled) as expected:
        assert answers(lake, "kernels", "events") == answers(expected, "kernels", "events")
        assert lake.rows("FROM tags ORDER BY ALL") == [
            (lake.resolve("s1"), "num_layers", "6"),
            (lake.resolve("s1"), "x", "y"),
        ]
        assert (len(lake.store.catalog.states), lake.store.answers.stale()) == (5, [])


def test_the_events_alone_are_computed_by_the_command_or_by_the_first_question_about_the_trace(
    tmp_path, traces, monkeypatch, call, capsys
):
    lake = tmp_path / "lake"
    assert call("--lake", lake, "ingest", "--events-only", *traces)[0] == 0
    with monkeypatch.context() as patch, Lake(lake) as opened:
        patch.setattr(store, "RENEWED_AT_ONCE", 0)
        assert set(batches(opened).values()) == {""}
        assert len(opened.layers("s1").fetchall()) == 6
        after = batches(opened)
        assert [one for one, batch in after.items() if batch] == [opened.resolve("s1")]
    assert "4 of 5 traces have no answers" in capsys.readouterr().err
    said = [call("--lake", lake, "compute")[2] for _ in range(2)]
    assert said == ["tracelake: computed the answers of 4 traces.\n", "tracelake: nothing to compute.\n"]
    assert call("--lake", lake, "compute", "tiny")[2] == "tracelake: computed the answers of 1 traces.\n"
    assert call("--lake", lake, "compute", "nothing")[0] == 2
    code, _, err = call("--lake", lake, "compact", "--vacuum", "--grace", "0")
    assert (code, "files before" in err) == (0, True)


def test_answers_are_the_same_where_each_needs_more_memory_than_is_tried_first(traces, filled, tmp_path, monkeypatch):
    class Tight(memory.Memory):
        def fit(self, work, *steps, **of_steps):
            def tried():
                if self._set == 0:
                    raise duckdb.OutOfMemoryException("no room")
                work()

            super().fit(tried, *steps, **of_steps)

    monkeypatch.setattr(compute, "Memory", Tight)
    monkeypatch.setattr(workers, "_idle", [])
    with Lake(tmp_path / "lake") as lake, Lake(filled) as other:
        lake.ingest(traces[0])
        [(trace_id,)] = lake.rows("SELECT trace_id FROM traces")
        names = ("layers", "layer_categories", "ops", "step_times", "gaps", "health")
        expected = {name: [row for row in rows if trace_id in row] for name, rows in answers(other, *names).items()}
        assert answers(lake, *names) == expected
        assert all(expected.values())
