"""Other engines open the tables of a lake as the Delta tables they are, and count what a query of the lake counts."""

import json
from pathlib import Path

import polars
import pytest

from tracelake.engine.sql import modules
from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu

from ..support import run_cli


@pytest.fixture(scope="module")
def compacted(s1_file, tmp_path_factory) -> Path:
    """A lake of a decode and an Ascend table, with rows that no longer count taken out."""
    folder = tmp_path_factory.mktemp("engines")
    write_npu(folder / "kernel_details.csv")
    with Lake(folder / "lake") as lake:
        lake.ingest(s1_file, folder / "kernel_details.csv", run="first")
        lake.set("s1", num_layers=3)
        lake.compact()
    return folder / "lake"


@pytest.fixture(scope="module")
def counted(compacted) -> dict[str, int]:
    """The rows of each stored relation that has any, as `tracelake sql` counts them."""
    names = [path.name for path in (compacted / "tables").iterdir() if path.name in modules.stored()]
    query = " UNION ALL ".join(f"SELECT '{name}' AS relation, count(*) AS n FROM {name}" for name in sorted(names))
    done = run_cli("sql", query, "--format", "json", lake=compacted)
    assert done.returncode == 0, done.stderr
    return {row["relation"]: row["n"] for row in json.loads(done.stdout)}


def test_polars_counts_what_a_query_counts(compacted, counted):
    found = {name: polars.scan_delta(str(compacted / "tables" / name)).select(polars.len()) for name in counted}
    assert {name: rows.collect().item() for name, rows in found.items()} == counted
    assert sum(map(bool, counted.values())) > 30
    traces = polars.scan_delta(str(compacted / "tables" / "traces")).select("trace").collect()
    assert sorted(traces.to_series()) == ["kernel_details", "s1"]


def test_daft_counts_what_a_query_counts(compacted, counted):
    daft = pytest.importorskip("daft", reason="pip install daft; it is no dependency of the tests")
    found = {name: daft.read_deltalake(str(compacted / "tables" / name)).count_rows() for name in counted}
    assert found == counted
    kernels = daft.read_deltalake(str(compacted / "tables" / "_kernels"))
    assert kernels.groupby("trace_id").agg(daft.col("kernel_id").count()).count_rows() == 2
