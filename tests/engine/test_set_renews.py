"""A setting has those rows computed again that read it, and what comes out is what an ingest with it gives."""

import shutil
from pathlib import Path

import pytest
from sqlglot import exp, parse

from tracelake.engine.computing.compute import Worker
from tracelake.engine.sql import lineage, modules
from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu

from ..lakes import set_at_once
from ..support import data_file, trace_ids


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """The tables that are computed."""
    names: list[str] = []
    make = Worker._try_table

    def noting(self, work, entry, *more):
        names.append(entry.name)
        make(self, work, entry, *more)

    monkeypatch.setattr(Worker, "_try_table", noting)
    return names


def stored_rows(lake: Lake) -> dict[str, list[str]]:
    found = {}
    for name in sorted(modules.stored()):
        # Sums of doubles depend on their order.
        shown = ", ".join(
            f"printf('%.9g', \"{one.name}\")" if one.type == "DOUBLE" else f'"{one.name}"'
            for one in modules.module(name).columns
        )
        found[name] = sorted(map(repr, lake.rows(f"SELECT {shown} FROM {name}")))
    return found


def test_a_tag_and_a_name_cost_nothing_and_a_model_costs_what_reads_it(s1_lake, made):
    s1_lake.set("s1", owner="me")
    s1_lake.set("s1", trace="renamed")
    assert made == []
    s1_lake.set("renamed", model="Qwen3-8B")
    assert modules.stored() & {*made} == lineage.reached("model")
    assert len(lineage.reached("model")) < 5
    made.clear()
    s1_lake.set("renamed", run="nightly")
    # Links between ranks are a run's, and what they exchange tells whose tokens a pass has.
    assert modules.stored() & {*made} == lineage.reached("run") == {
        "_own_finding_values", "_worst_collectives", "collectives", "step_costs",
        "pass_workloads", "_kernel_maps", "_pass_units", "best_times",
    }  # fmt: skip
    made.clear()
    # Rules, not settings: all of it.
    s1_lake.compute("renamed")
    assert {*made} >= {one for one in modules.stored() if modules.module(one).only_format is None}


def test_a_setting_of_a_trace_without_answers_waits_for_a_question(s1_file, tmp_path, made):
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(s1_file, events_only=True)
        lake.set("s1", num_layers=3)
        assert made == []
        assert lake.rows("SELECT num_layers FROM traces") == [(3,)]


@pytest.fixture(scope="module")
def ingested(s1_file, tmp_path_factory) -> tuple[Path, tuple[Path, ...], dict[str, list[str]]]:
    """A lake of two traces, to be copied, their files, and what is stored of them."""
    folder = tmp_path_factory.mktemp("ingested")
    write_npu(folder / "kernel_details.csv")
    traces = (s1_file, folder / "kernel_details.csv")
    with Lake(folder / "lake") as lake:
        lake.ingest(*traces)
        return folder / "lake", traces, stored_rows(lake)


@pytest.mark.parametrize("settings", [
    {"model": "Qwen3-8B"}, {"hardware": "h200", "tp": 4}, {"run": "nightly"}, {"rank": 3}, {"num_layers": 3},
    {"anchor": "softmax", "anchor_role": "inside"}, {"dedup": "none"}, {"kv_len": 1000, "warm_up_steps": 2},
], ids=lambda settings: "-".join(settings))  # fmt: skip
def test_what_a_setting_leaves_and_what_it_renews_are_the_rows_of_an_ingest_with_it(ingested, tmp_path, settings):
    made, traces, before = ingested
    with Lake(shutil.copytree(made, tmp_path / "lake")) as lake, Lake(tmp_path / "other") as other:
        set_at_once(lake, dict.fromkeys(trace_ids(lake), settings))
        other.ingest(*traces, **settings)
        after = stored_rows(lake)
        assert after == stored_rows(other)
        assert lake.store.answers.stale() == []
        changed = {name for name in after if after[name] != before[name]}
        assert changed <= frozenset().union(*map(lineage.reached, settings))
        # And back again.
        set_at_once(lake, dict.fromkeys(trace_ids(lake), dict.fromkeys(settings)))
        assert stored_rows(lake) == before


def test_lengths_of_requests_and_steps_of_warm_up_that_are_set_are_in_stored_answers(ingested, tmp_path):
    made, (gpu, _), _ = ingested
    with Lake(shutil.copytree(made, tmp_path / "lake")) as lake:
        lake.ingest(data_file("ascend/synthetic/forward_passes.csv"))
        attention = (
            "SELECT flop, flop_note FROM ascend_operators JOIN traces USING (trace_id) WHERE trace = 'forward_passes' "
            "AND op_type LIKE 'Fused%' ORDER BY kernel_id DESC LIMIT 1"
        )
        warm_up = (
            "SELECT count(DISTINCT step_id) FROM steps JOIN traces USING (trace_id) "
            f"WHERE trace = '{gpu.name.partition('.')[0]}' AND is_warm_up"
        )
        assert lake.rows(attention) == [(None, "lengths_unknown")]
        # 16 tokens x 4 heads of 128 + 128 x 1000 keys.
        lake.set("forward_passes", kv_len=1000)
        assert lake.rows(attention) == [(2 * 16 * 4 * 1000 * 256, None)]
        assert lake.rows(warm_up) != [(3,)]
        lake.set("s1", warm_up_steps=3)
        assert lake.rows(warm_up) == [(3,)]


def test_no_stored_row_depends_on_a_tag():
    """A tag renews nothing, so what is stored reads settings as columns of the relation traces."""
    assert [name for name in sorted(modules.stored()) if "tags" in modules.sources(name)] == []


def test_rows_that_are_lost_are_computed_and_not_taken_for_none(s1_lake, made):
    expected = stored_rows(s1_lake)
    for file in (s1_lake.path / "tables" / "_kernels").glob("*.parquet"):
        file.write_bytes(b"")
    s1_lake.set("s1", model="Qwen3-8B")
    assert "_kernels" in made
    assert stored_rows(s1_lake)["_kernels"] == expected["_kernels"] != []


def takes_all(select: exp.Select) -> bool:
    """Whether a SELECT takes all columns of a relation with settings."""
    tables = [source.this for source in (select.args.get("from_"), *(select.args.get("joins") or ())) if source]
    named = {table.alias_or_name for table in tables if isinstance(table, exp.Table) and table.name in lineage._SHOW}
    stars = [one for one in select.expressions if one.is_star or one.find(exp.Columns)]
    return any(named and (not isinstance(star, exp.Column) or star.table in named) for star in stars)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM traces", True), ("FROM traces", True), ("SELECT t.* FROM kernels JOIN traces AS t ON tp", True),
        ("SELECT COLUMNS('tp') FROM traces", True), ("SELECT * EXCLUDE (tp) FROM kernels JOIN traces ON true", True),
        ("SELECT DISTINCT x, * FROM traces", True), ("SELECT k.* FROM kernels AS k JOIN traces ON true", False),
        ("SELECT tp FROM traces", False), ("SELECT * FROM kernels", False),
    ],
)  # fmt: skip
def test_all_columns_of_settings_are_seen_to_be_taken(query, expected):
    [select] = [one for parsed in parse(query, read="duckdb") for one in parsed.find_all(exp.Select)]
    assert takes_all(select) is expected


def test_a_relation_names_the_settings_that_it_reads():
    """A parser finds no column of a setting in a relation that the setting does not reach, and none takes them all."""
    columns = {
        "model", "hardware", "tp", "num_layers", "dedup", "run", "anchor", "profile", "rank", "kv_len", "warm_up_steps",
    }  # fmt: skip
    for entry in modules.relations():
        if entry.name in lineage._SHOW or not entry.uses & lineage._SHOW:
            continue
        parsed = parse(entry.sql, read="duckdb")
        assert [select.sql() for one in parsed for select in one.find_all(exp.Select) if takes_all(select)] == []
        found = {column.name for one in parsed for column in one.find_all(exp.Column)}
        for name in found & columns:
            readers = {one for one in modules.stored() if entry.name in modules.sources(one)}
            assert readers <= lineage.reached(name), (entry.name, name)
