"""Other tools open the exports and find the figures of the lake, each in an environment of its own.

The versions are those that these tests were written with; what they found is in the guide on BI tools.
"""

import shutil
import subprocess

import duckdb
import pytest

from tracelake.reports.export import star

from ..support import ROOT
from .environments import python_with, run

pytestmark = pytest.mark.slow
TABLES = {entry.name: entry for entry in star.tables()}
#: A client that was released before the engine of the lake.
CLIENT = "duckdb==1.4.4"


def test_a_duckdb_client_of_1_4_opens_the_databases(exports):
    script = """
import duckdb, json, sys
star, plain = (duckdb.connect(path, read_only=True) for path in sys.argv[1:])
query = "SELECT category, CAST(sum(dur_ns) AS BIGINT) FROM {} GROUP BY ALL"
comments = "SELECT count(comment) FROM duckdb_columns() WHERE NOT internal"
keys = "SELECT count(*) FROM duckdb_constraints() WHERE constraint_type LIKE '%KEY'"
print(json.dumps([
    duckdb.__version__,
    dict(star.execute(query.format("fact_kernel JOIN dim_category USING (category_key)")).fetchall()),
    dict(plain.execute(query.format("kernels")).fetchall()),
    star.execute(comments).fetchone()[0], star.execute(keys).fetchone()[0],
]))
"""
    version, of_star, of_plain, comments, keys = run(python_with(CLIENT), script, exports.database, exports.plain)
    assert version == "1.4.4"
    assert of_star == of_plain == exports.figures
    assert (comments, keys) == (sum(len(entry.columns) for entry in TABLES.values()), 30)


@pytest.mark.parametrize("kind", ["star", "delta"])
def test_polars_reads_files_and_delta_tables(exports, kind):
    script = """
import json, polars, sys
folder, kind = sys.argv[1:]
def read(name):
    return polars.read_delta(f"{folder}/{name}") if kind == "delta" else polars.read_parquet(f"{folder}/{name}.parquet")
joined = read("fact_kernel").join(read("dim_category"), on="category_key")
print(json.dumps(dict(joined.group_by("category").agg(polars.col("dur_ns").sum()).rows())))
"""
    assert (
        run(python_with("polars==1.36.1", "deltalake==1.2.1"), script, getattr(exports, kind), kind) == exports.figures
    )


def test_pandas_reads_files_with_keys_as_whole_numbers_and_moments_as_moments(exports):
    script = """
import json, pandas, sys
read = lambda name: pandas.read_parquet(f"{sys.argv[1]}/{name}.parquet")
facts = read("fact_kernel")
joined = facts.merge(read("dim_category"), on="category_key", validate="many_to_one")
kinds = {name: str(kind) for name, kind in facts.dtypes.items()}
print(json.dumps([joined.groupby("category").dur_ns.sum().to_dict(), kinds]))
"""
    figures, kinds = run(python_with("pandas==2.3.3", "pyarrow"), script, exports.star)
    assert figures == exports.figures
    assert {kinds[name] for name in kinds if name.endswith("_key")} <= {"int32", "int64"}
    assert kinds["start_at"] == "datetime64[us]"


def test_ibis_asks_the_database(exports):
    script = """
import ibis, json, sys
star = ibis.duckdb.connect(sys.argv[1], read_only=True)
joined = star.table("fact_kernel").join(star.table("dim_category"), "category_key")
answer = joined.group_by("category").agg(dur_ns=joined.dur_ns.sum().cast("int64")).to_pyarrow().to_pylist()
print(json.dumps([{row["category"]: row["dur_ns"] for row in answer}, sorted(star.list_tables())]))
"""
    figures, tables = run(python_with("ibis-framework[duckdb]", CLIENT), script, exports.database)
    assert (figures, tables) == (exports.figures, sorted(TABLES))


def test_sqlalchemy_reflects_every_table_with_its_types_and_comments(exports):
    script = """
import json, sqlalchemy, sys
engine = sqlalchemy.create_engine(f"duckdb:///{sys.argv[1]}", connect_args={"read_only": True})
inspector = sqlalchemy.inspect(engine)
found = {}
for name in inspector.get_table_names():
    table = sqlalchemy.Table(name, sqlalchemy.MetaData(), autoload_with=engine)
    found[name] = {
        "columns": {column.name: str(column.type) for column in table.columns},
        "comments": {column.name: column.comment for column in table.columns},
        "comment": table.comment,
    }
with engine.connect() as connection:
    tables = ("fact_kernel", "dim_category")
    facts, names = (sqlalchemy.Table(name, sqlalchemy.MetaData(), autoload_with=engine) for name in tables)
    joined = sqlalchemy.select(names.c.category, sqlalchemy.func.sum(facts.c.dur_ns)).join_from(
        facts, names, facts.c.category_key == names.c.category_key
    ).group_by(names.c.category)
    found["figures"] = {category: int(total) for category, total in connection.execute(joined)}
print(json.dumps(found))
"""
    # SQLAlchemy from 2.0.41 asks for a catalog that DuckDB 1.4 has not (pg_collation).
    python = python_with("duckdb-engine==0.17.0", "sqlalchemy==2.0.40", CLIENT)
    found = run(python, script, exports.database)
    assert found.pop("figures") == exports.figures
    # Keys it does not reflect: to this dialect every table has none.
    kinds = {"VARCHAR": "VARCHAR", "DOUBLE": "FLOAT", "BIGINT": "BIGINT", "INTEGER": "INTEGER", "BOOLEAN": "BOOLEAN"}
    assert found == {
        name: {
            "columns": {column.name: kinds.get(column.type, column.type) for column in entry.columns},
            "comments": {column.name: column.text for column in entry.columns},
            "comment": entry.doc,
        }
        for name, entry in TABLES.items()
    }


def test_dbt_builds_its_models_and_their_tests_pass(exports, tmp_path):
    python = python_with("dbt-duckdb==1.10.0", "dbt-core==1.10.23", CLIENT)
    project = shutil.copytree(ROOT / "docs" / "examples" / "dbt", tmp_path / "dbt")
    build = [python.parent / "dbt", "build", "--profiles-dir", "."]
    done = subprocess.run(
        build, cwd=project, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "STAR": str(exports.database),
             "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "ERROR=0" in done.stdout
    with duckdb.connect(str(project / "warehouse.duckdb"), read_only=True) as built:
        shares = built.execute("SELECT category, sum(dur_ns) FROM category_share GROUP BY ALL").fetchall()
        assert {category: int(total) for category, total in shares} == exports.figures
        assert built.execute("SELECT count(*) FROM slow_layers").fetchall()[0][0] > 0
        assert built.execute("SELECT count(*) FROM pass_mfu").fetchall()[0][0] > 0
