"""Latency tables in aiconfigurator's layout become best times that the kernels of the lake are compared with."""

import polars as pl
import pytest

import tracelake
from tracelake.engine.errors import InputError, UsageError

from ...kernel_traces import GEMM, Trace


def table(folder, *, rows, system="h100_sxm", version="0.19.0", **more):
    """Write a table of products: type, rows, columns, inner dimension, ms."""
    place = folder / "data" / system / "vllm" / version
    place.mkdir(parents=True, exist_ok=True)
    names = ("gemm_dtype", "m", "n", "k", "latency")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    count = len(rows)
    frame = pl.DataFrame({
        "framework": ["VLLM"] * count, "version": [version] * count, "op_name": ["gemm"] * count,
        "kernel_source": ["vllm_default"] * count, **columns, **more,
    })  # fmt: skip
    frame.write_parquet(place / "gemm_perf.parquet")
    return folder / "data"


@pytest.fixture
def empty(tmp_path):
    return tracelake.open(tmp_path / "lake")


@pytest.fixture
def lake(empty, tmp_path):
    trace = Trace()
    op = trace.op("aten::mm", 0, 50, [[1024, 1024], [1024, 1024]])
    trace.kernel(GEMM, 10, 10_000, 10, op)
    empty.ingest(trace.write(tmp_path / "trace.json"))
    return empty


def best(lake):
    return lake.rows("SELECT best_us, pct_of_best, best_distance, best_source FROM kernel_roofline")


def test_the_least_time_of_a_product_is_what_its_kernel_is_compared_with(lake, tmp_path):
    assert best(lake) == [(None, None, None, None)]
    table(tmp_path, rows=[("bfloat16", 1024, 1024, 1024, 0.005), ("bfloat16", 2048, 1024, 1024, 0.006)])
    folder = table(tmp_path, rows=[("bfloat16", 1024, 1024, 1024, 0.004)], version="0.20.0")
    found = lake.attach(folder)
    assert (found.tables, found.products, found.skipped) == (2, 2, ())
    # 0.004 ms of the later version are 40 % of the kernel's 10 µs.
    assert best(lake) == [(4, 40, 0, "h100_sxm/vllm/0.20.0")]
    # The same again changes nothing, and a slower time neither.
    table(tmp_path, rows=[("bfloat16", 1024, 1024, 1024, 0.009)], version="0.20.0")
    assert lake.attach(folder).products == 2
    assert best(lake) == [(4, 40, 0, "h100_sxm/vllm/0.20.0")]


def test_rows_that_the_user_wrote_stay(lake, tmp_path):
    lookup = tmp_path / "lake" / "lookup"
    lookup.mkdir(exist_ok=True)
    (lookup / "attainable.csv").write_text("hardware,dtype,m,n,k,latency_us\nh100_sxm,bf16,1024,1024,1024,3\n")
    lake.attach(table(tmp_path, rows=[("bfloat16", 1024, 1024, 1024, 0.004), ("fp8_block", 64, 64, 64, 0.001)]))
    assert best(lake) == [(3, 30, 0, "attainable")]
    assert lake.rows("SELECT dtype, latency_us FROM attainable ORDER BY ALL") == [("bf16", 3), ("fp8", 1)]


def test_the_chip_is_the_one_of_the_device_else_of_the_folder(empty, tmp_path):
    empty.attach(table(tmp_path, rows=[("fp8", 1, 2, 3, 1.0)], system="b200_sxm"))
    empty.attach(table(tmp_path, rows=[("fp8", 4, 5, 6, 1.0)], system="mine", device=["NVIDIA H200"]))
    assert empty.rows("SELECT hardware, m FROM attainable ORDER BY m") == [("b200", 1), ("h200", 4)]


def test_what_cannot_be_used_is_counted_with_the_reason(empty, tmp_path):
    folder = table(tmp_path, rows=[("int4_wo", 1, 2, 3, 1.0), ("bfloat16", 1, 2, 3, 1.0)])
    table(tmp_path, rows=[("bfloat16", 1, 2, 3, 1.0)], system="abacus")
    # A table of another operator.
    pl.DataFrame({"num_tokens": [1], "latency": [1.0]}).write_parquet(folder / "moe_perf.parquet")
    found = empty.attach(folder)
    assert (found.tables, found.products) == (2, 1)
    assert found.skipped == (
        "1 rows: a type that no kernel computes in, or unknown (gemm_perf.parquet)",
        "1 rows: unknown chip (gemm_perf.parquet)",
    )


def test_a_folder_without_products_and_a_file_that_is_no_parquet_are_errors_in_words(empty, tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        empty.attach(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no latencies of matrix products"):
        empty.attach(tmp_path / "empty")
    (tmp_path / "empty" / "gemm_perf.parquet").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        empty.attach(tmp_path / "empty")
