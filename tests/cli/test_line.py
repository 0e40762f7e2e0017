"""The line: options that stand anywhere, a trace in place of a command, near misses, the first page of the schema."""

import json

import duckdb
import pytest

from tracelake.commands.line import arranged


@pytest.fixture(scope="module")
def lake(s1_lake_folder):
    return s1_lake_folder


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("layers T --lake L", "--lake L layers T"),
        ("layers --lake=L T --json", "--lake=L layers T --format json"),
        ("--format csv layers T -o x", "layers T -o x --format csv"),
        ("--json model list", "model list --format json"),
        ("sql -- --json", "sql -- --json"),
        ("layers T --lake", "--lake layers T"),
        ("report --lake -o x.html", "report --lake -o x.html"),
        ("report --lake -o x.html --lake L", "--lake L report --lake -o x.html"),
        ("", ""),
    ],
)
def test_options_of_the_line_come_first_and_formats_last(words, expected):
    assert arranged(words.split()) == expected.split()


def test_a_lake_and_a_format_may_stand_anywhere(lake, call):
    code, out, err = call("--json", "traces", "--lake", lake)
    assert code == 0, err
    assert [row["trace"] for row in json.loads(out)] == ["s1"]


def test_a_trace_in_the_place_of_a_command_is_summarised(run, s1_file):
    assert run("s1")[1].splitlines()[0] == run("summary", "s1")[1].splitlines()[0]
    assert run(s1_file)[0] == 0


def test_a_word_that_is_neither_names_the_commands_near_it(run):
    code, out, err = run("layrs")
    assert (code, out) == (2, "")
    assert "layrs: no such command, file or trace. Near: layers" in err


def test_a_trace_that_is_not_there_names_those_near_it(run):
    code, _, err = run("layers", "s2")
    assert code == 2
    assert "s2: no such trace or file. Near: s1." in err


@pytest.mark.parametrize("before", [(), ("layers",)])
def test_a_folder_in_the_place_of_a_trace_is_to_be_ingested_first(run, tmp_path, before):
    code, _, err = run(*before, tmp_path)
    assert code == 2
    assert f"a folder, not one trace: `tracelake ingest {tmp_path}` reads" in err


def test_a_folder_that_is_a_lake_is_not_to_be_ingested(run, lake):
    assert f"{lake}: a lake, not one trace: `tracelake --lake {lake} traces` lists" in run("layers", lake)[2]


def test_a_word_near_a_command_may_also_be_a_folder(run, tmp_path, monkeypatch):
    (tmp_path / "layrs").mkdir()
    monkeypatch.chdir(tmp_path)
    err = run("layrs")[2]
    assert "layrs: no such command; a folder, not one trace" in err
    assert "Near: layers" in err


@pytest.mark.parametrize(("wanted", "near"), [("wall_ms", "wall_us"), ("layer", "layer_id")])
def test_a_column_that_is_not_there_names_those_near_it(run, wanted, near):
    code, _, err = run("layers", "s1", "--sort", wanted)
    assert code == 2
    assert f"no such column. Near: {near}" in err
    code, _, err = run("sql", f"SELECT {wanted} FROM layers")
    assert code == 2
    assert f'Candidate bindings: "{near}"' in err


def test_an_answer_is_sorted_the_largest_number_first(run):
    rows = json.loads(run("layers", "s1", "--sort", "wall_us", "--json")[1])
    walls = [row["wall_us"] for row in rows]
    assert walls == sorted(walls, reverse=True)
    assert len(set(walls)) > 1


def test_rows_that_are_equal_in_the_sorted_column_are_in_the_order_of_the_others(run):
    query = "SELECT unnest([1, 2, 1, 1]) AS a, unnest(['z', 'y', 'x', NULL]) AS b"
    rows = json.loads(run("sql", query, "--sort", "a", "--json")[1])
    assert [(row["a"], row["b"]) for row in rows] == [(2, "y"), (1, "x"), (1, "z"), (1, None)]


def test_the_schema_begins_with_the_ten_relations_to_know(run):
    first = [line.split()[0] for line in run("schema")[1].split("\n\n")[0].splitlines()]
    assert first == [
        "traces", "kernels", "passes", "layers", "layer_kernels", "time_breakdown", "steps", "ops", "findings",
        "health",
    ]  # fmt: skip
    assert "category_rules" in run("schema", "--all")[1]


def test_the_schema_is_searched_by_words(run):
    out = run("schema", "-g", "bus_gbps")[1]
    assert "collectives" in out
    assert "layers" not in {line.split()[0] for line in out.splitlines()}
    code, _, err = run("schema", "-g", "gbpz")
    assert code == 2
    assert "Near: gbps" in err
    assert run("schema", "layers", "--all")[0] == 2


def test_an_output_that_ends_in_duckdb_is_a_database(run, tmp_path):
    assert run("export", "layers", "-o", tmp_path / "x.duckdb")[0] == 0
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        assert database.sql("SELECT count(*) FROM layers").fetchall() == [(30,)]


def test_an_option_that_would_do_nothing_is_refused(run, tmp_path):
    for name in ("layers.csv", "layers.parquet"):
        status, _, said = run("export", "layers", "-o", tmp_path / name)
        assert (status, (tmp_path / name).exists()) == (2, False)
        assert f"`tracelake sql 'FROM layers' -o {tmp_path / name}`" in said
    status, _, said = run("compact", "--grace", "3")
    assert (status, "--grace: only --vacuum removes files." in said) == (2, True)
