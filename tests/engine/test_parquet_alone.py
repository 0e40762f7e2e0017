"""Where Parquet files lie, nothing else does: a pattern of files, or a reader of a folder, meets no other file."""

import duckdb
import polars
import pyarrow.dataset
import pytest

from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu

#: The log of a Delta table: its files begin with an underscore's folder, which readers of folders leave out.
LOG = "_delta_log"


@pytest.fixture(scope="module")
def lake(s1_file, tmp_path_factory):
    """A lake in which all happened that leaves files: settings, a removal, own rules, compaction."""
    folder = tmp_path_factory.mktemp("alone")
    write_npu(folder / "kernel_details.csv")
    with Lake(folder / "lake") as opened:
        opened.ingest(s1_file, folder / "kernel_details.csv", run="first")
        opened.set("s1", num_layers=3)
        opened.remove("kernel_details")
        opened.layout.lookup.mkdir()
        (opened.layout.lookup / "prices.csv").write_text("hardware\n")
        opened.compact(vacuum_hours=0)
        yield opened


def faults(root):
    """Return what a reader of Parquet would stumble over below a folder."""
    found = []
    for path in root.rglob("*"):
        if (
            path.is_file()
            and LOG not in path.parts
            and any(path.parent.glob("*.parquet"))
            and path.suffix != ".parquet"
        ):
            found.append(path)
        if path.is_file() and path.suffix == ".parquet":
            content = path.read_bytes()
            found += [] if content[:4] == content[-4:] == b"PAR1" else [path]
    return found


def test_in_a_lake(lake):
    assert len(list(lake.path.rglob("*.parquet"))) > 30
    assert list(lake.path.rglob("*.json")) != []
    assert faults(lake.path) == []
    # By pattern and by folder, the events of a trace are its events.
    [folder] = lake.layout.events.iterdir()
    events = lake.rows("SELECT event_count FROM traces")
    assert duckdb.sql(f"SELECT count(*) FROM '{folder}/**/*.parquet'").fetchall() == events
    assert polars.scan_parquet(folder).select(polars.len()).collect().rows() == events
    [(kernels,)] = lake.rows("SELECT count(*) FROM kernels")
    table = lake.layout.tables / "_kernels"
    assert pyarrow.dataset.dataset(table).count_rows() == kernels
    assert duckdb.sql(f"SELECT count(*) FROM '{table}/*.parquet'").fetchall() == [(kernels,)]


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_in_an_export(lake, tmp_path, format):
    lake.export(tmp_path, format, star=True)
    lake.export(tmp_path, format, ["layers", "traces"])
    assert faults(tmp_path) == []
    if format == "parquet":
        assert {path.suffix for path in tmp_path.iterdir()} == {".parquet"}


def test_a_file_beside_them_is_found(tmp_path):
    polars.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_text("{}")
    (tmp_path / "fingerprint").write_text("x")
    assert {path.name for path in faults(tmp_path)} == {"b.parquet", "fingerprint"}
