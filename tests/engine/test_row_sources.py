"""What a query's text says of where its rows come from, against what DuckDB answers when tables are empty."""

import itertools

import duckdb
import pytest

from tracelake.engine.computing.compute import Worker
from tracelake.engine.sql.row_sources import ANYWHERE, row_sources
from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu

TABLES = ("a", "b", "c")
#: A query, and the alternatives: letters of tables that must all have rows. "" is: rows may come of nothing.
QUERIES = {
    "SELECT x FROM a": "a",
    "FROM a": "a",
    "SELECT a.x FROM a JOIN b USING (x)": "ab",
    "SELECT a.x FROM a LEFT JOIN b USING (x) JOIN c ON c.x IS NOT DISTINCT FROM a.x": "ac",
    "SELECT b.x FROM a RIGHT JOIN b USING (x)": "b",
    "SELECT x FROM a FULL JOIN b USING (x)": "a b",
    "SELECT a.x FROM a FULL OUTER JOIN b USING (x) JOIN c ON c.x = coalesce(a.x, b.x)": "ac bc",
    "SELECT a.x FROM a CROSS JOIN b, c": "abc",
    "SELECT a.x FROM a SEMI JOIN b USING (x)": "ab",
    "SELECT a.x FROM a ANTI JOIN (SELECT x + 1 AS x FROM b) AS other USING (x)": "a",
    "SELECT a.x FROM a ASOF JOIN b ON a.x >= b.x": "ab",
    "SELECT a.x FROM a ASOF LEFT JOIN b ON a.x >= b.x": "a",
    "SELECT a.x, b.x AS y FROM a POSITIONAL JOIN b": "a b",
    "SELECT x FROM a UNION ALL SELECT x FROM b": "a b",
    "SELECT x FROM a UNION BY NAME SELECT x FROM b ORDER BY x LIMIT 3": "a b",
    "SELECT x FROM a EXCEPT SELECT x + 1 FROM b": "a",
    "SELECT x FROM a UNION ALL SELECT x FROM b INTERSECT SELECT x FROM c": "",
    "(SELECT x FROM a) UNION ALL (SELECT x FROM b JOIN c USING (x))": "a bc",
    "SELECT count(*) AS n FROM a": "",
    "SELECT count(*) AS n, n AS m FROM a": "",
    "SELECT x, count(*) AS n FROM a GROUP BY ALL": "a",
    "SELECT count(*) AS n FROM a GROUP BY ALL": "",
    "SELECT count(*) AS n FROM a GROUP BY x": "a",
    "SELECT x, count(*) AS n FROM a GROUP BY GROUPING SETS ((x), ())": "",
    "SELECT x, count(*) AS n FROM a GROUP BY ROLLUP (x)": "",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) AS n FROM a": "",
    "SELECT DISTINCT a.* FROM a WHERE x IN (SELECT x FROM b)": "a",
    "SELECT * EXCLUDE (y) FROM (SELECT x, 1 AS y FROM a)": "a",
    "SELECT x IS DISTINCT FROM 2 AS y, x FROM a": "a",
    "SELECT x FROM (SELECT x FROM a UNION ALL SELECT x FROM b) JOIN c USING (x)": "ac bc",
    "WITH o AS (SELECT x FROM a), p (x) AS MATERIALIZED (SELECT x FROM o JOIN b USING (x)) SELECT x FROM p": "ab",
    "WITH one AS (SELECT max(x) AS x FROM a) SELECT x FROM one": "",
    "WITH b AS (SELECT x FROM a) SELECT x FROM b": "a",
    "WITH RECURSIVE up AS (SELECT x FROM a UNION ALL SELECT x + 1 FROM up WHERE x < 3) SELECT x FROM up": "a",
    "SELECT a.x, y FROM a CROSS JOIN LATERAL (SELECT b.x AS y FROM b) AS l": "ab",
    "SELECT x, y FROM a CROSS JOIN unnest([1, 2]) AS u(y)": "a",
    "SELECT y FROM unnest([1, 2]) AS u(y)": "",
    "SELECT x FROM (VALUES (1)) AS v(x)": "",
    "SELECT a.x, y FROM a CROSS JOIN (VALUES (1), (2)) AS v(y)": "a",
    "SELECT x FROM (SELECT x FROM b GROUP BY GROUPING SETS ((x), ())) FULL JOIN a USING (x)": "",
    "WITH o AS (SELECT x FROM b GROUP BY CUBE (x)) SELECT a.x FROM o JOIN a ON o.x IS NULL OR o.x = a.x": "a",
    "SELECT 1 AS x": "",
    "SELECT sum(x) OVER () AS n FROM a": "",
}  # fmt: skip


def expected(alternatives):
    return {frozenset(one) for one in alternatives.split(" ")}


@pytest.mark.parametrize("query", QUERIES)
def test_rows_come_from_where_the_text_says(query):
    sources = row_sources(query)
    assert {*sources} == expected(QUERIES[query])
    with duckdb.connect() as connection:
        for count in range(len(TABLES) + 1):
            for empty in itertools.combinations(TABLES, count):
                for table in TABLES:
                    rows = "[]::INT[]" if table in empty else "[1, 2]"
                    connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT unnest({rows}) AS x")
                rows = connection.execute(query).fetchall()
                if not any(needed.isdisjoint(empty) for needed in sources):
                    assert rows == [], empty
                elif not empty:
                    assert rows


def test_a_query_with_too_many_alternatives_may_have_rows_from_anywhere():
    many = "(" + " UNION ALL ".join(f"SELECT x FROM t{n}" for n in range(9)) + ")"
    assert row_sources(f"SELECT x FROM {many} JOIN {many.replace('t', 'u')} USING (x)") == ANYWHERE


def test_relations_that_are_not_computed_would_have_been_empty(monkeypatch, s1_file, tmp_path):
    found = {}

    def computing(self, work, entry, traces, failed, connection):
        nothing = self._emptiness.reads_nothing(entry)
        # As the worker does: two tables are made at once.
        with self._making_views:
            self._make_views(entry, connection)
        self._make_table(entry, connection)
        if nothing:
            found[entry.name] = self._emptiness.rows[entry.name]

    def making(self, entry, connection):
        self._make_views(entry, connection)
        self._make(entry, {}, connection)
        [(found[entry.name],)] = connection.execute(f"SELECT count(*) FROM {entry.name}").fetchall()

    monkeypatch.setattr(Worker, "_try_table", computing)
    monkeypatch.setattr(Worker, "_put_empty", making)
    write_npu(tmp_path / "kernel_details.csv")
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(s1_file)
        lake.ingest(tmp_path / "kernel_details.csv")
    # Of the 130 tables of each trace, and the views that these read; or the text says too little.
    assert len(found) > 50
    assert {"_ascend_events", "_ascend_launched", "ascend_checks"} <= found.keys()
    assert {"_hlo_operations", "_program_operations", "_xla_ops", "_layer_rules", "_trace_settings"} <= found.keys()
    assert not any(found.values())
