"""Apache Superset imports the bundle of the examples, and its charts find the figures of the lake.

It installs a hundred packages: only where TRACELAKE_TEST_SUPERSET is set.
"""

import os
import shutil
import subprocess
import zipfile

import pytest

from ..support import ROOT
from .environments import python_with, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "TRACELAKE_TEST_SUPERSET" not in os.environ, reason="TRACELAKE_TEST_SUPERSET=1 installs Superset, a few minutes"
    ),
]
#: Not among what Superset 6.1.0 requires, and imported by it: rich, cachetools. Its cache does not start with
#: Flask-Caching from 2.4 on.
PACKAGES = (
    "apache-superset==6.1.0",
    "duckdb==1.4.4",
    "duckdb-engine==0.17.0",
    "rich",
    "cachetools",
    "flask-caching<2.4",
)
ASK = """
import json, sys
from superset.app import create_app
app = create_app()
with app.app_context(), app.test_request_context():
    from superset import security_manager
    from superset.charts.schemas import ChartDataQueryContextSchema
    from superset.commands.chart.data.get_data_command import ChartDataCommand
    from superset.extensions import db
    from superset.models.dashboard import Dashboard
    from superset.models.slice import Slice
    from superset.utils.core import override_user
    with override_user(security_manager.find_user("admin")):
        found = {"dashboards": [[one.dashboard_title, len(one.slices)] for one in db.session.query(Dashboard)]}
        for chart in db.session.query(Slice):
            context = ChartDataQueryContextSchema().load(json.loads(chart.query_context))
            found[chart.slice_name] = ChartDataCommand(context).run()["queries"][0]["data"]
print(json.dumps(found))
"""


def test_superset_imports_the_dashboard_and_runs_the_queries_of_its_charts(exports, tmp_path):
    python = python_with(*PACKAGES)
    bundle = shutil.copytree(ROOT / "docs" / "examples" / "superset", tmp_path / "superset")
    database = bundle / "databases" / "tracelake.yaml"
    database.write_text(database.read_text().replace("/data/star.duckdb", str(exports.database)))
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as packed:
        for path in bundle.rglob("*.yaml"):
            packed.write(path, path.relative_to(tmp_path))
    (tmp_path / "superset_config.py").write_text(
        f"SECRET_KEY = 'of a test, of no server'\nSQLALCHEMY_DATABASE_URI = 'sqlite:///{tmp_path}/meta.db'\n"
    )
    there = {"SUPERSET_CONFIG_PATH": str(tmp_path / "superset_config.py"), "SUPERSET_HOME": str(tmp_path)}
    person = "--username admin --firstname a --lastname b --email a@example.org --password admin"
    for words in (
        "db upgrade", f"fab create-admin {person}", "init", f"import-dashboards -p {tmp_path}/bundle.zip -u admin"
    ):  # fmt: skip
        done = subprocess.run(
            [python.parent / "superset", *words.split()], capture_output=True, text=True, check=False,
            env=os.environ | there | {"FLASK_APP": "superset"}, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
    found = run(python, ASK, **there)
    assert found.pop("dashboards") == [["Where the time of the device goes", 2]]
    sums = dict.fromkeys(exports.figures, 0.0)
    for row in found["Kernel time by category"]:
        sums[row["category"]] += row["kernel_ms"]
    assert sums == pytest.approx({category: total / 1e6 for category, total in exports.figures.items()})
    named = found["Kernels that take most time"]
    assert sum(row["kernel_ms"] for row in named) == pytest.approx(sum(exports.figures.values()) / 1e6)
