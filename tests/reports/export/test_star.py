"""The star schema: keys that hold, types that every tool knows, and the figures of the relations it is made of."""

import json
import re
import struct
import sys

import duckdb
import polars
import pyarrow.parquet as pq
import pytest

from tracelake.engine.errors import InputError, UsageError
from tracelake.engine.sql import modules
from tracelake.lake import Lake
from tracelake.reports.export import star

from ... import absurd_traces
from ...postgres_server import IN_URL, PASSWORD, server
from ...support import ROOT

TABLES = {entry.name: entry for entry in star.tables()}
PLAIN = {"VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "BOOLEAN", "TIMESTAMP"}
#: The relation that each fact has the rows of.
FACTS = {
    "fact_kernel": "kernels", "fact_pass": "passes", "fact_layer": "layers", "fact_step": "steps",
    "fact_collective": "collectives", "fact_gap": "gaps",
}  # fmt: skip
#: A tab, an end of COPY's data on a line of its own, what would end a literal, a byte that PostgreSQL has not.
HOSTILE = "gemm\t\n\\.\n\r'); DROP TABLE x; --\\N\x00\"ä"
#: 2023-11-14 22:13:20 UTC, and 0.7 us: calendars count in whole microseconds.
BASE_NS = 1_700_000_000_000_000_700


@pytest.fixture(scope="module")
def traces(s1_file, tmp_path_factory):
    """Two traces: the made-up one, of no known hardware, and one of an H100 with collectives and a clock."""
    trace = absurd_traces.kineto() | {"baseTimeNanoseconds": BASE_NS}
    trace["traceEvents"][4]["name"] = HOSTILE
    assert trace["traceEvents"][4]["cat"] == "cpu_op"
    for event in trace["traceEvents"]:
        event["name"] = HOSTILE if event["name"].startswith("sm90") else event["name"]
        if event.get("cat") == "kernel":
            event["ts"] += 0.4
    path = tmp_path_factory.mktemp("star") / "served.json"
    path.write_text(json.dumps(trace))
    return s1_file, path


@pytest.fixture(scope="module")
def lake(traces, tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("star") / "lake") as opened:
        opened.ingest(*traces)
        yield opened


@pytest.fixture(scope="module")
def files(lake, tmp_path_factory):
    folder = tmp_path_factory.mktemp("star") / "out"
    assert [name for name, _ in lake.export(folder, star=True)] == list(TABLES)
    return folder


@pytest.fixture(scope="module")
def database(lake, tmp_path_factory):
    path = tmp_path_factory.mktemp("star") / "star.duckdb"
    lake.export(path, star=True)
    return path


@pytest.fixture(scope="module")
def there(files):
    """A connection of another client, with the files as tables."""
    with duckdb.connect() as connection:
        for name in TABLES:
            connection.execute(f"CREATE VIEW {name} AS FROM '{files / name}.parquet'")
        yield connection


def test_keys_are_unique_and_none_is_null_and_each_reference_has_its_row(there):
    assert {name for name in TABLES if name.startswith("fact_")} == set(FACTS)
    for name, entry in TABLES.items():
        key = star.key(entry)
        [(rows, keys, least)] = there.execute(
            f"SELECT count(*), count(DISTINCT {key}), min({key}) FROM {name}"
        ).fetchall()
        assert (rows, least) == (keys, 0 if name in ("dim_hardware", "dim_category", "dim_kernel_name") else 1)
        assert rows > 1
        for column, other in star.references(entry).items():
            on = f"{name}.{column} = {other.name}.{star.key(other)}"
            lost = f"SELECT count(*) FROM {name} ANTI JOIN {other.name} ON {on}"
            assert there.execute(lost).fetchall() == [(0,)], (name, column)
    assert {column for column in star.references(TABLES["fact_gap"]) if column.endswith("name_key")} == {
        "previous_kernel_name_key", "marker_kernel_name_key", "payload_kernel_name_key",
    }  # fmt: skip


def test_every_column_has_a_type_that_all_tools_know_and_a_moment_stands_beside_its_nanoseconds(there):
    for name, entry in TABLES.items():
        found = {column: kind for column, kind, *_ in there.execute(f"DESCRIBE {name}").fetchall()}
        assert found == {column.name: column.type for column in entry.columns}
        assert set(found.values()) <= PLAIN
        assert all(found[key] in ("INTEGER", "BIGINT") for key in found if key.endswith("_key"))
        moments = {column.removesuffix("_ns") for column in found if column.endswith(("start_ns", "end_ns"))}
        stamps = {column.removesuffix("_at") for column, kind in found.items() if kind == "TIMESTAMP"}
        assert moments <= stamps | ({"start"} if name == "dim_trace" else set())
    assert "recorded_at" in {column.name for column in TABLES["dim_trace"].columns}


def test_facts_have_the_rows_and_the_sums_of_the_relations_they_are_made_of(there, lake):
    for fact, relation in FACTS.items():
        counted = there.execute(
            f"SELECT trace_id, count(*) FROM {fact} JOIN dim_trace USING (trace_key) GROUP BY 1 ORDER BY 1"
        )
        assert counted.fetchall() == lake.rows(f"SELECT trace_id, count(*) FROM {relation} GROUP BY 1 ORDER BY 1")
    # Of the made-up trace 60, of the other one of each layer of six passes of four.
    assert lake.rows("SELECT count(*) FROM collectives") == [(60 + 6 * 4,)]
    by_category = "SELECT trace, category, kind, count(*), sum(dur_ns) FROM {} GROUP BY ALL ORDER BY ALL"
    star_rows = there.execute(
        by_category.format("fact_kernel JOIN dim_trace USING (trace_key) JOIN dim_category USING (category_key)")
    ).fetchall()
    assert star_rows == lake.rows(by_category.format("kernels JOIN traces USING (trace_id)"))
    # By construction of the made-up trace.
    assert sum(row[-1] for row in star_rows if row[0] == "s1") == 310_500_000
    names = "SELECT n.name, sum(dur_ns) FROM {} GROUP BY ALL ORDER BY ALL"
    joined = there.execute(names.format("fact_kernel JOIN dim_kernel_name AS n USING (kernel_name_key)")).fetchall()
    assert joined == lake.rows(names.format("kernels AS n"))
    for query in (
        "SELECT pass_id, layer_id, sum(wall_us), sum(kernel_count) FROM {layer} GROUP BY ALL ORDER BY ALL",
        "SELECT pass_id, sum(span_us), count(*) FILTER (chosen) FROM {pass} GROUP BY ALL ORDER BY ALL",
        "SELECT kind, dtype, sum(bytes), round(sum(exposed_us), 3) FROM {collective} GROUP BY ALL ORDER BY ALL",
        "SELECT cause, count(*), round(sum(gap_us), 3) FROM {gap} GROUP BY ALL ORDER BY ALL",
        "SELECT step_source, sum(ops), round(sum(dur_us), 3) FROM {step} GROUP BY ALL ORDER BY ALL",
    ):
        facts = {name.removeprefix("fact_"): name for name in FACTS}
        of_lake = {name.removeprefix("fact_"): relation for name, relation in FACTS.items()}
        assert there.execute(query.format_map(facts)).fetchall() == lake.rows(query.format_map(of_lake)), query


def test_kernels_of_a_layer_are_those_of_layer_kernels_and_the_others_have_none(there, lake):
    query = "SELECT pass_id, layer_id, count(*), sum(kernel_id) FROM {} GROUP BY ALL ORDER BY ALL"
    of_layers = there.execute(query.format("fact_kernel WHERE layer_id >= 0")).fetchall()
    assert of_layers == lake.rows(query.format("layer_kernels"))
    assert {row[:2] for row in of_layers} >= {(4, 5)}
    [(outside, least)] = there.execute("SELECT count(*), min(layer_id) FROM fact_kernel WHERE layer_id < 0").fetchall()
    assert (outside > 0, least) == (True, -1)
    apart = "l.pass_id - p.pass_id, l.trace_key - p.trace_key"
    pairs = f"SELECT {apart} FROM fact_layer AS l JOIN fact_pass AS p USING (pass_key)"
    assert set(there.execute(pairs).fetchall()) == {(0, 0)}


def test_moments_are_on_the_calendar_and_what_is_unknown_has_a_row_of_its_own(there):
    # Its first event is at 0.7 us, its first kernel 15.4 later: a layer at 10, the launch 5 behind; it takes 6 us.
    first = (
        "SELECT min(k.start_at), min(k.end_at) FROM fact_kernel AS k JOIN dim_trace AS t USING (trace_key) "
        "WHERE trace = 'served'"
    )
    moment = "2023-11-14 22:13:20.0000"
    [found] = there.execute(first).fetchall()
    assert [str(one) for one in found] == [f"{moment}16", f"{moment}22"]
    hardware = (
        "SELECT trace, h.hardware, min(h.hardware_key) FROM fact_kernel AS k JOIN dim_trace USING (trace_key) "
        "JOIN dim_hardware AS h ON h.hardware_key = k.hardware_key GROUP BY ALL ORDER BY ALL"
    )
    assert there.execute(hardware).fetchall() == [("s1", "(unknown)", 0), ("served", "h100_sxm", 1)]


def test_a_database_declares_the_keys_and_has_the_comments(database):
    with duckdb.connect(str(database), read_only=True) as other:
        constraints = set(
            other.execute(
                "SELECT table_name, constraint_text FROM duckdb_constraints() WHERE constraint_type LIKE '%KEY'"
            ).fetchall()
        )
        expected = {(name, f"PRIMARY KEY({star.key(entry)})") for name, entry in TABLES.items()}
        for name, entry in TABLES.items():
            expected |= {
                (name, f"FOREIGN KEY ({column}) REFERENCES {to.name}({star.key(to)})")
                for column, to in star.references(entry).items()
            }
        assert constraints == expected
        assert len(expected) == 10 + 20
        comments = dict(other.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall())
        assert comments == {name: entry.doc for name, entry in TABLES.items()}
        columns = other.execute(
            "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
        assert sorted(columns) == sorted(
            (name, c.name, c.text) for name, entry in TABLES.items() for c in entry.columns
        )


def test_databases_have_the_storage_version_that_clients_since_1_0_open(lake, database, tmp_path):
    lake.export(tmp_path / "plain.db", relations=["traces", "layers"])
    for path in (database, tmp_path / "plain.db"):
        _, magic, version = struct.unpack_from("<Q4sQ", path.read_bytes())
        assert (magic, version) == (b"DUCK", 64)
        assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_parquet_files_say_what_rows_and_columns_mean(files):
    for name, entry in TABLES.items():
        schema = pq.read_schema(files / f"{name}.parquet")
        texts = {field.name: field.metadata[b"comment"].decode() for field in schema}
        assert texts == {column.name: column.text for column in entry.columns}
        about = {key.decode(): value.decode() for key, value in schema.metadata.items()}
        assert about["comment"] == entry.doc
        assert json.loads(about["columns"]) == texts
        assert about["primary_key"] == star.key(entry)
    assert "category_key -> dim_category.category_key" in about["foreign_keys"]
    assert (
        pq.read_table(files / "fact_kernel.parquet").num_rows
        == polars.read_parquet(files / "fact_kernel.parquet").height
    )


def test_the_diagram_of_the_guide_has_every_reference():
    guide = (ROOT / "docs" / "guide" / "in-your-bi-tool.md").read_text(encoding="utf-8")
    drawn = [(one, other, key) for one, key, other in re.findall(r"^  (\w+) -->\|(\w+)\| (\w+)$", guide, re.MULTILINE)]
    expected = [(name, to.name, key) for name, entry in TABLES.items() for key, to in star.references(entry).items()]
    assert sorted(drawn) == sorted(expected)


def test_keys_are_the_same_whatever_order_traces_came_in(there, traces, tmp_path):
    with Lake(tmp_path / "lake") as other:
        for path in reversed(traces):
            other.ingest(path)
        other.export(tmp_path / "out", star=True)
    for name in TABLES:
        rest = "* EXCLUDE (ingested_at)" if name == "dim_trace" else "*"
        differ = f"(SELECT {rest} FROM {name} EXCEPT ALL SELECT {rest} FROM '{tmp_path}/out/{name}.parquet')"
        assert there.execute(f"SELECT count(*) FROM {differ}").fetchall() == [(0,)], name


def test_delta_tables_are_read_back_with_their_comments_and_replaced_by_the_next_export(lake, files, tmp_path):
    for _ in range(2):
        written = lake.export(tmp_path / "out", "delta", star=True)
    for name, rows in written:
        table = polars.read_delta(str(tmp_path / "out" / name))
        plain = polars.read_parquet(files / f"{name}.parquet")
        assert table.height == rows
        moments = [column for column, kind in plain.schema.items() if kind == polars.Datetime]
        same = table.with_columns(polars.col(moments).dt.replace_time_zone(None)) if moments else table
        key = star.key(TABLES[name])
        assert same.sort(key).equals(plain.sort(key)), name
    log = (tmp_path / "out" / "fact_gap" / "_delta_log" / f"{0:020}.json").read_text()
    assert "what was idle, what came next, and why" in log
    assert "part in which it waited for the host to launch" in log


def test_ordinary_relations_go_to_delta_too_whatever_their_types(lake, tmp_path):
    odd = ["model_sizes", "findings", "scenarios", "layer_types", "layers"]
    kinds = {column.type for name in odd for column in modules.module(name).columns}
    assert {"MAP", "STRUCT[]", "VARCHAR[]", "BIGINT[]"} <= kinds
    for name, rows in lake.export(tmp_path / "out", "delta", odd):
        assert polars.read_delta(str(tmp_path / "out" / name)).height == rows


def test_what_relations_share_is_as_it_was_when_an_export_has_ended(lake, tmp_path):
    door = lake.store.unguarded
    before = door.rows("SELECT count(*) FROM fact_layer")

    def stop(written, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.export(tmp_path / "star.duckdb", star=True, done=stop)
    assert list(tmp_path.iterdir()) == []
    assert door.rows("SELECT count(*) FROM duckdb_tables() WHERE table_name IN ('fact_pass', 'dim_trace')") == [(0,)]
    assert door.rows("SELECT count(*) FROM fact_layer") == before


def test_what_a_star_cannot_be_is_said_before_anything_is_written(lake, tmp_path):
    for target, given, message in (
        (tmp_path / "out", {"star": True, "relations": ["layers"]}, "the star is written whole"),
        ("postgresql://nowhere/x", {}, "add --star"),
        ("postgresql://nowhere/x", {"star": True, "format": "parquet"}, "goes to a server"),
        (tmp_path / "out", {"star": True, "format": "postgres"}, "goes to a server"),
    ):
        with pytest.raises(UsageError, match=message):
            lake.export(target, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def address():
    psycopg = pytest.importorskip("psycopg")
    with server() as found:
        with psycopg.connect(found) as connection:
            connection.execute("CREATE TABLE fact_kernel (mine int); INSERT INTO fact_kernel VALUES (7)")
        yield found


@pytest.fixture
def ask(address):
    """Return what asks the server."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        yield lambda query: (cursor := connection.execute(query)).description and cursor.fetchall()


def test_postgres_has_the_same_rows_names_of_any_characters_keys_and_comments(lake, there, address, ask):
    schema = 'bi "one"'
    written = lake.export(address, star=True, schema=schema)
    assert written == [(name, *there.execute(f"SELECT count(*) FROM {name}").fetchall()[0]) for name in TABLES]
    ask("""SET search_path = 'bi "one"'""")
    for name, entry in TABLES.items():
        query = f"SELECT * FROM {name} ORDER BY {star.key(entry)}"
        mine = [[cell.replace(chr(0), "␀") if isinstance(cell, str) else cell for cell in row] for row in
                there.execute(query).fetchall()]  # fmt: skip
        assert [list(row) for row in ask(query)] == mine, name
    assert ask("SELECT count(*) FROM dim_kernel_name WHERE name LIKE '%DROP TABLE%'") == [(1,)]
    of_schema = "connamespace = quote_ident(current_schema())::regnamespace"
    keys = ask(f"SELECT conrelid, contype::text FROM pg_constraint WHERE {of_schema}")
    assert sorted(kind for _, kind in keys) == ["f"] * 20 + ["p"] * 10
    [(comment, column)] = ask("SELECT obj_description('fact_gap'::regclass), col_description('fact_gap'::regclass, 1)")
    assert comment.startswith(TABLES["fact_gap"].doc)
    assert column == TABLES["fact_gap"].columns[0].text


def test_an_export_replaces_the_tables_at_once_and_leaves_views_on_them(lake, address, ask):
    lake.export(address, star=True)
    ask("CREATE OR REPLACE VIEW mine AS SELECT count(*) AS rows FROM tracelake.fact_kernel")
    before = ask("SELECT rows FROM mine")
    ask("DELETE FROM tracelake.fact_kernel WHERE kernel_key % 2 = 0")

    def stop(written, of):
        raise ZeroDivisionError

    half = ask("SELECT rows FROM mine")
    with pytest.raises(ZeroDivisionError):
        lake.export(address, star=True, done=stop)
    assert ask("SELECT rows FROM mine") == half != before
    lake.export(address, star=True)
    assert ask("SELECT rows FROM mine") == before
    # Other columns, as another version may have written: made anew, unless something rests on them.
    ask("DROP VIEW mine; ALTER TABLE tracelake.dim_trace ADD COLUMN more int")
    lake.export(address, star=True)
    left = "attrelid = 'tracelake.dim_trace'::regclass AND attname = 'more'"
    assert ask(f"SELECT count(*) FROM pg_attribute WHERE {left}") == [(0,)]


def test_every_query_of_the_grafana_dashboard_runs_and_finds_rows(lake, address, ask):
    lake.export(address, star=True, schema="grafana")
    ask("SET search_path = grafana")
    dashboard = json.loads((ROOT / "docs" / "examples" / "grafana" / "tracelake.json").read_text(encoding="utf-8"))
    [traces] = [variable["query"] for variable in dashboard["templating"]["list"]]
    listed = ", ".join(f"'{trace}'" for (trace,) in ask(traces))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            # What Grafana puts there: the time that is shown, and the traces that are chosen.
            query = re.sub(r"\$__timeFilter\((.*?)\)", r"\1 BETWEEN '2000-01-01' AND '2100-01-01'", target["rawSql"])
            query = query.replace("${trace:sqlstring}", listed)
            assert "$" not in query
            rows = ask(query)
            assert rows, panel["title"]
            if panel["title"] == "Kernel time by category":
                assert float(sum(ms for _, ms in rows)) == lake.rows("SELECT sum(dur_ns) / 1e6 FROM kernels")[0][0]
            if target["format"] == "time_series":
                assert {(type(moment).__name__, type(metric)) for moment, metric, _ in rows} == {("datetime", str)}


def test_what_is_not_ours_is_left_alone_and_no_password_is_shown(lake, address, ask):
    with pytest.raises(UsageError, match=r'"public".fact_kernel: exists'):
        lake.export(address, star=True, schema="public")
    assert ask("SELECT mine FROM public.fact_kernel") == [(7,)]
    for wrong, kind in (
        (address.replace(IN_URL, "wr0ng%40pass"), InputError),
        (address.replace(IN_URL, "wr0ng@pass%zz"), UsageError),
        (address.replace("tester", "nobody"), InputError),
        (address.replace("host=", "host=/nowhere"), InputError),
        (f"{address}&bogus=wr0ng", UsageError),
    ):
        with pytest.raises(kind) as caught:
            lake.export(wrong, star=True)
        assert "\n" not in str(caught.value)
        assert not [word for word in (PASSWORD, IN_URL, "wr0ng", "zz") if word in str(caught.value)]


def test_without_the_extra_a_server_is_refused_in_one_line(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"pip install 'tracelake\[postgres\]'"):
        lake.export("postgresql://nowhere/x", star=True)
