"""`sql` reads the lake, and nothing else: every way out that we know is refused, and what one asks is answered."""

import hashlib
import json
import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import tracelake
from tracelake.cli import cli
from tracelake.engine.errors import UsageError
from tracelake.engine.sql import guard
from tracelake.lake import Lake

SECRET = "hunter2"

#: Queries, each with what it would have reached. {out} is a folder beside the lake, {lake} the lake.
WAYS_OUT = {
    "FROM read_csv('{out}/secret.csv')": "a file, as CSV",
    "FROM read_csv_auto('{out}/secret.csv')": "the same by its old name",
    "FROM '{out}/secret.csv'": "a file by its name alone",
    "FROM read_text('{out}/secret.csv')": "a file, as text",
    "FROM read_text('{lake}/../outside/secret.csv')": "a file, by a path that starts in the lake",
    "FROM read_text('{lake}/events/link')": "a file, by a link in the lake that leads out of it",
    "FROM read_text('file://{out}/secret.csv')": "a file, as a URL",
    "FROM read_text('~/.bashrc')": "a file at home",
    "FROM read_text('{out}/sec' || 'ret.csv')": "a file whose name is computed",
    "FROM read_blob('{out}/secret.*')": "a file, as bytes",
    "FROM read_json('{out}/secret.json')": "a file, as JSON",
    "FROM read_ndjson_objects('{out}/secret.json')": "a file, as lines of JSON",
    "FROM read_parquet('{out}/secret.parquet')": "a file, as Parquet",
    "FROM parquet_metadata('{out}/secret.parquet')": "smallest and largest values of a file",
    "FROM parquet_page_index('{out}/secret.parquet')": "the same by page",
    "FROM parquet_kv_metadata('{out}/secret.parquet')": "metadata of a file",
    "FROM parquet_schema('{out}/secret.parquet')": "columns of a file",
    "FROM sniff_csv('{out}/secret.csv')": "columns of a file",
    "FROM read_duckdb('{out}/secret.duckdb')": "a database",
    "FROM glob('{out}/*')": "names of files",
    "FROM read_csv('/dev/stdin')": "what is piped in",
    "FROM read_text('/proc/self/environ')": "environment variables",
    "SELECT getenv('HOME')": "environment variables",
    "FROM read_json('http://127.0.0.1:9/x')": "the network",
    "FROM read_parquet('s3://bucket/x.parquet')": "the network, by an extension that DuckDB would fetch",
    "WITH a AS (FROM read_text('{out}/secret.csv')) FROM a": "a file, in a CTE",
    "SELECT (SELECT content FROM read_text('{out}/secret.csv'))": "a file, in a subquery",
    "EXPLAIN ANALYZE FROM read_text('{out}/secret.csv')": "a file, in an EXPLAIN",
    "SUMMARIZE FROM read_text('{out}/secret.csv')": "a file, in a SUMMARIZE",
    "FROM query('FROM read_text(''{out}/secret.csv'')')": "a file, in a query that is text",
    "FROM query('SELECT 1')": "any query that is text",
    "FROM query_table('{out}/secret.csv')": "a file, as the name of a table",
    "FROM json_execute_serialized_sql('{copy}')": "a new file in the lake, by a query that is JSON",
    "PRAGMA json_execute_serialized_sql('{copy}')": "the same as a statement",
    "COPY traces TO '{out}/new.csv'": "a new file",
    "COPY (FROM traces) TO '{lake}/traces/trace_id=0.parquet'": "a new file in the lake, which breaks it",
    "COPY _catalog FROM '{out}/secret.csv'": "a file",
    "EXPLAIN ANALYZE COPY traces TO '{lake}/events/new.csv'": "a new file in the lake: EXPLAIN ANALYZE runs it",
    "explain (analyze, format json) COPY traces TO '{lake}/events/new.csv'": "the same, as JSON",
    "/* x */ EXPLAIN ANALYZE COPY traces TO '{lake}/events/new.csv'": "the same, behind a comment",
    "WITH a AS (COPY traces TO '{lake}/events/new.csv') SELECT 1": "a new file in the lake: a CTE may COPY",
    "WITH a AS (DELETE FROM _catalog RETURNING *) FROM a": "the catalog: a CTE may DELETE",
    "WITH a AS (INSERT INTO _settings VALUES (1, 2, 3)) SELECT 1": "the settings: a CTE may INSERT",
    "WITH a AS (UPDATE _catalog SET trace = 'x') SELECT 1": "the catalog: a CTE may UPDATE",
    "WITH a AS (COPY traces TO '{lake}/events/new.csv') PIVOT (SELECT 1 a, 2 b) ON a USING sum(b)": "a file, by PIVOT",
    "COPY (PIVOT (SELECT 1 a, 2 b) ON a USING sum(b)) TO '{lake}/events/new.csv'": "a file, of a PIVOT",
    "CREATE TABLE x AS PIVOT (SELECT 1 a, 2 b) ON a USING sum(b)": "a new table, of a PIVOT",
    "EXPORT DATABASE '{out}/new'": "a new folder",
    "IMPORT DATABASE '{out}'": "a script",
    "ATTACH '{out}/secret.duckdb' AS x": "a database",
    "ATTACH ':memory:' AS x": "the list of databases",
    "DETACH memory": "the list of databases",
    "USE memory": "which tables later questions name",
    "INSTALL httpfs": "the network, and code",
    "LOAD httpfs": "code",
    "LOAD '{out}/secret.csv'": "code",
    "UPDATE EXTENSIONS": "the network",
    "SET enable_external_access = true": "the lock itself",
    "SET allowed_directories = ['/']": "the lock itself",
    "RESET lock_configuration": "the lock itself",
    "SET VARIABLE event_files = ['{out}/secret.parquet']": "which files are events",
    "SET search_path = 'x'": "which tables later questions name",
    "PRAGMA enable_profiling = 'json'": "a setting",
    "PRAGMA profile_output = '{out}/new'": "a new file",
    "CALL enable_logging(storage = 'file', storage_config = {{'path': '{out}'}})": "a new file",
    "FROM enable_logging(storage = 'file', storage_config = {{'path': '{out}'}})": "a new file, by a SELECT",
    "FROM enable_profiling()": "a setting, by a SELECT",
    "FROM add_grammar_extension('any')": "a parser",
    "CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')": "what later questions send",
    "CREATE OR REPLACE VIEW kernels AS SELECT 1": "what later questions see",
    "CREATE TABLE x AS SELECT 1": "memory that stays",
    "CREATE MACRO x() AS 1": "what later questions see",
    "DROP TABLE _catalog": "the catalog",
    "DELETE FROM _catalog": "the catalog",
    "TRUNCATE _catalog": "the catalog",
    "UPDATE _catalog SET trace = 'x'": "the catalog",
    "INSERT INTO _settings VALUES (1, 2, 3)": "the settings",
    "MERGE INTO _catalog USING traces USING (trace_id) WHEN MATCHED THEN DELETE": "the catalog",
    "ALTER TABLE _catalog RENAME TO x": "the catalog",
    "COMMENT ON TABLE _catalog IS 'x'": "the catalog",
    "BEGIN": "a transaction that no one ends",
    "PREPARE p AS DELETE FROM _catalog": "a statement for later",
    "VACUUM": "the database",
    "CHECKPOINT": "the database",
    "SELECT 1; COPY traces TO '{out}/new.csv'": "a new file, by a second statement",
    "COPY traces TO '{out}/new.csv'; SELECT 1": "a new file, by a first statement",
    "FROM here": "a variable of the Python program",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory, s1_lake_folder):
    """A folder with a lake and, outside of the lake, files that hold the secret in every form."""
    folder = tmp_path_factory.mktemp("place")
    shutil.copytree(s1_lake_folder, folder / "lake")
    out = folder / "outside"
    out.mkdir()
    (out / "secret.csv").write_text(f"word\n{SECRET}\n")
    (out / "secret.json").write_text(json.dumps({"word": SECRET}) + "\n")
    (out / "schema.sql").write_text("CREATE TABLE imported AS SELECT 1")
    (out / "load.sql").write_text("")
    with duckdb.connect(str(out / "secret.duckdb")) as database:
        database.execute(f"CREATE TABLE words AS SELECT '{SECRET}' AS word")
        database.execute(f"COPY words TO '{out / 'secret.parquet'}' (FORMAT parquet, KV_METADATA {{word: '{SECRET}'}})")
    (folder / "lake" / "events" / "link").symlink_to(out / "secret.csv")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def filled(query: str, place: Path) -> str:
    copy = f"WITH a AS (COPY (SELECT 1) TO '{place}/lake/events/new.csv') SELECT 1"
    [(tree,)] = duckdb.execute("SELECT json_serialize_sql($1)", [copy]).fetchall()
    return query.format(out=place / "outside", lake=place / "lake", copy=tree.replace("'", "''"))


@pytest.fixture(scope="module")
def opened(place):
    with Lake(place / "lake") as lake:
        lake.sql("FROM kernels").fetchall()
        yield lake


@pytest.mark.parametrize("query", WAYS_OUT)
def test_no_question_leads_out_of_the_lake(query, place, opened):
    here = [SECRET]  # noqa: F841, what a replacement scan would find
    before, state = contents(place), opened.rows("SELECT count(*), any_value(trace) FROM _catalog")
    with pytest.raises((UsageError, duckdb.PermissionException)) as refused:
        assert SECRET not in str(opened.sql(filled(query, place)).fetchall())
    assert SECRET not in str(refused.value)
    assert contents(place) == before
    assert opened.rows("SELECT count(*), any_value(trace) FROM _catalog") == state
    assert opened.sql("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "query",
    [query for query in WAYS_OUT if query.split()[0] in ("COPY", "ATTACH", "SET", "INSTALL") and "PIVOT" not in query],
)
def test_a_statement_is_refused_in_a_sentence_that_names_the_way_to_have_it(query, place, opened):
    with pytest.raises(UsageError, match=rf"^{query.split()[0]}: .*-o .*`--unsafe` allows all of DuckDB") as refused:
        opened.sql(filled(query, place))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT 1", [(1,)]),
        ("SELECT 2 AS a; -- that is all", [(2,)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
        ("WITH a AS (SELECT 1 AS x), b AS MATERIALIZED (FROM a) SELECT x + 1 FROM b", [(2,)]),
        ("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT max(i) FROM n", [(3,)]),
        ("SELECT max(nth) FROM (SELECT row_number() OVER (ORDER BY start_ns) AS nth FROM kernels)", [(695,)]),
        ("SELECT pass_id FROM passes QUALIFY rank() OVER (ORDER BY pass_id) = 1", [(0,)]),
        ("FROM (PIVOT (FROM range(2)) ON range USING count(*)) SELECT \"0\", \"1\"", [(1, 1)]),
        ("PIVOT (FROM range(2)) ON range IN (1) USING count(*)", [(1,)]),
        ("SELECT v FROM (UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b INTO NAME n VALUE v) ORDER BY v", [(1,), (2,)]),
        ("SELECT count(DISTINCT pass_id) FROM kernels ASOF JOIN passes USING (trace_id, start_ns)", [(5,)]),
        ("SELECT list_transform([1, 2], lambda x: x + 1), {'a': 1}.a, ('{\"a\": 1}' ->> '$.a')", [([2, 3], 1, "1")]),
        ("SELECT 'COPY traces TO x' AS \"insert\", 'ATTACH' AS copy", [("COPY traces TO x", "ATTACH")]),
        ("SELECT epoch_ms(0) AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo' = '1970-01-01 09:00:00'", [(True,)]),
        ("SELECT count(*) > 20 FROM (DESCRIBE traces)", [(True,)]),
        ("SELECT count(*) FROM layer_diff((SELECT max(trace_id) FROM traces), 0, 0, 0, 1) WHERE side = 'b'", [(0,)]),
    ],
)  # fmt: skip
def test_what_reads_is_answered(query, rows, opened):
    assert opened.sql(query).fetchall() == rows


def test_all_tables_are_listed_with_their_columns(s1_lake, monkeypatch):
    # DuckDB binds each view for its columns; that all can be bound is test_modules' to say.
    store = s1_lake.store
    monkeypatch.setattr(store, "_everything", lambda **_: store._ready(["passes", "layers"]))
    found = dict(s1_lake.sql("SELECT name, column_names FROM (SHOW ALL TABLES)").fetchall())
    assert {"passes", "layers"} <= found.keys()
    assert found["passes"][0] == "trace_id"


@pytest.mark.parametrize(
    "query",
    ["DESCRIBE kernels", "SHOW TABLES", "SUMMARIZE passes", "EXPLAIN SELECT * FROM passes", "SHOW kernels",
     "EXPLAIN ANALYZE WITH a AS (FROM passes) FROM a", "EXPLAIN (ANALYZE, FORMAT json) FROM passes",
     "FROM duckdb_settings()"],
)  # fmt: skip
def test_what_describes_is_answered(query, opened):
    assert opened.sql(query).fetchall()


def test_an_answer_can_be_had_in_every_form_later(opened):
    answer = opened.sql("SELECT trace_id, count(*) AS kernels FROM kernels WHERE dur_ns > $least GROUP BY ALL", least=0)
    opened.sql("SELECT 2").fetchall()
    assert answer.fetchall()[0][1] == 695
    assert answer.pl()["kernels"].to_list() == answer.to_arrow_table()["kernels"].to_pylist() == [695]
    assert answer.filter("kernels > 1000").fetchall() == []


def test_an_answer_that_is_not_read_to_its_end_is_named_as_the_reason(opened):
    reader = opened.sql("SELECT * FROM kernels").arrow()
    with pytest.raises(UsageError, match=r"^an answer has not been read to its end: .* \.to_arrow_table\(\)"):
        opened.rows("SELECT count(*) FROM kernels")
    assert reader.read_all().num_rows == 695
    assert opened.rows("SELECT count(*) FROM kernels") == [(695,)]


@pytest.mark.parametrize(
    "query",
    ["FROM range(3)", "SELECT * FROM (FROM Range(3)) JOIN passes USING (trace_id)", "PIVOT (FROM range(3)) ON range"],
)
def test_a_table_function_that_nobody_has_looked_at_is_refused(query, opened, monkeypatch):
    monkeypatch.setattr(guard, "LOOKED_AT", guard.LOOKED_AT - {"range"})
    with pytest.raises(UsageError, match=r"range\(\): new in this DuckDB"):
        opened.sql(query)


def test_each_table_function_of_duckdb_was_looked_at():
    query = (
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table' "
        "AND function_name NOT LIKE 'duckdb\\_%' ESCAPE '\\'"
    )
    if new := {name for (name,) in duckdb.execute(query).fetchall()} - guard.LOOKED_AT:
        # Not a failure: a later DuckDB may bring more, and until then they are refused.
        pytest.skip(f"DuckDB {duckdb.__version__} has functions to look at, see engine/sql/guard.py: {sorted(new)}")


def test_unsafe_opens_the_door(place, tmp_path):
    secret, new = place / "outside" / "secret.csv", tmp_path / "new.csv"
    with tracelake.open(place / "lake", unsafe=True) as lake:
        assert lake.sql(f"FROM read_csv('{secret}')").fetchall() == [(SECRET,)]
        lake.sql(f"COPY (SELECT count(*) AS n FROM kernels) TO '{new}'")
    assert new.read_text() == "n\n695\n"
    said = CliRunner().invoke(
        cli, ["--lake", str(place / "lake"), "sql", "--unsafe", f"FROM '{secret}'", "--format", "csv"]
    )
    assert (said.exit_code, said.stdout) == (0, f"word\n{SECRET}\n")


def test_the_connection_is_the_open_door_and_sql_stays_shut(place):
    secret = place / "outside" / "secret.csv"
    with tracelake.open(place / "lake") as lake:
        assert lake.connection.execute(f"SELECT word FROM read_csv('{secret}')").fetchall() == [(SECRET,)]
        assert lake.connection.execute("SELECT count(*) FROM kernels").fetchall() == [(695,)]
        with pytest.raises(UsageError, match="query reads the lake's own files"):
            lake.sql(f"FROM read_csv('{secret}')")


def test_the_door_sees_what_is_ingested_after_it_was_opened(lake, s1_file):
    count = "SELECT count(*) FROM traces"
    assert lake.store.unguarded.rows(count) == [(0,)]
    lake.ingest(s1_file)
    assert lake.store.unguarded.rows(count) == [(1,)]


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_an_answer_goes_to_a_file_anywhere(place, tmp_path, format_):
    target = tmp_path / f"answer.{format_}"
    words = [
        "--lake",
        str(place / "lake"),
        "sql",
        "SELECT count(*) AS n FROM kernels",
        "--format",
        format_,
        "-o",
        str(target),
    ]
    assert CliRunner().invoke(cli, words).exit_code == 0
    read = pyarrow.parquet.read_table(target).to_pylist() if format_ == "parquet" else target.read_text()
    assert read == ([{"n": 695}] if format_ == "parquet" else "n\n695\n")


@pytest.mark.parametrize("name", ["a lake with a 'quote'", "l*ke(0)", "läke"])
def test_a_lake_is_read_whatever_its_folder_is_called_and_by_a_link_to_it(tmp_path, s1_file, name, monkeypatch):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far")
    monkeypatch.chdir(tmp_path)
    with Lake(Path("link") / name) as lake:
        lake.ingest(s1_file)
        assert lake.sql("SELECT count(*) FROM passes").fetchall() == [(5,)]


def test_what_does_not_fit_memory_goes_to_a_folder_of_this_process(tmp_path):
    with Lake(tmp_path / "lake", memory_limit="60MB") as lake:
        large = (
            "SELECT count(*) FROM (SELECT repeat('x', 30) || range AS a FROM range(3_000_000) ORDER BY hash(range), a)"
        )
        assert lake.sql(large).fetchall() == [(3_000_000,)]


def test_to_describe_one_relation_readies_no_others_and_to_list_them_all_does(lake):
    columns = [row[0] for row in lake.sql("DESCRIBE traces").fetchall()]
    assert columns[0] == "trace_id"
    assert "kernels" not in lake.store.relations.created
    listed = {row[0] for row in lake.sql("SHOW TABLES").fetchall()}
    assert {"traces", "kernels", "operators"} <= listed
