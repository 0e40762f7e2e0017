"""The best time that a matrix product ever took on a chip, of the lake's other traces and of tables that were attached.

Of bf16 on an H100: 1024^3 takes 2.17 µs at the peak, twice the rows twice that.
"""

import pytest

import tracelake

from ...kernel_traces import GEMM, Trace

#: Rows of the product, columns and inner dimension 1024, and how long its calls take, by trace.
CALLS = {
    "first": [(1024, 10), (1024, 12), (2048, 30)],
    "second": [(1024, 8), (64, 5)],
    "third": [(1500, 20), (9000, 100)],
    "elsewhere": [(1024, 1)],
}


def made(calls, **around):
    trace = Trace(**around)
    for nth, (rows, dur) in enumerate(calls):
        op = trace.op("aten::mm", 100 * nth, 50, [[rows, 1024], [1024, 1024]])
        trace.kernel(GEMM, 100 * nth + 10, 10_000 + 200 * nth, dur, op)
    return trace


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bests")
    other = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0}]}
    lake = tracelake.open(folder / "lake")
    lake.ingest(*(
        made(calls, **(other if name == "elsewhere" else {})).write(folder / f"{name}.json")
        for name, calls in CALLS.items()
    ))  # fmt: skip
    return lake


def bests(lake, trace):
    """Return time, best time, share, distance and the trace it is from, of each call in turn."""
    return lake.rows(
        "SELECT group_us, best_us, pct_of_best, best_distance, other.trace FROM kernel_roofline AS k "
        "JOIN traces USING (trace_id) LEFT JOIN traces AS other ON other.trace_id = best_source "
        "WHERE traces.trace = $1 ORDER BY k.start_ns",
        [trace],
    )


def test_a_trace_has_the_least_time_of_each_product(lake):
    found = lake.rows(
        "SELECT m, calls, best_us FROM best_times JOIN traces USING (trace_id) WHERE trace = 'first' ORDER BY m"
    )
    assert found == [(1024, 2, 10), (2048, 1, 30)]


def test_the_same_product_of_another_trace_of_the_chip_is_the_reference(lake):
    quick, slow, *_ = bests(lake, "first")
    assert quick == (10, 8, 80, 0, "second")
    assert slow == (12, 8, pytest.approx(100 * 8 / 12), 0, "second")


def test_the_quickest_of_all_is_above_100_percent_of_the_others(lake):
    assert bests(lake, "second")[0] == (8, 10, 125, 0, "first")


def test_where_no_trace_ran_it_the_nearest_number_of_rows_stands_for_it_by_its_roof(lake):
    # 2048 rows are nearer to 1500 than 1024 are; both are bound by the peak, so that the time goes with the rows.
    [near, far] = bests(lake, "third")
    assert near == (
        20, pytest.approx(30 * 1500 / 2048), pytest.approx(100 * 30 * 1500 / 2048 / 20),
        pytest.approx(0.449, abs=0.001), "first",
    )  # fmt: skip
    # 9000 rows are more than twice those of any other.
    assert far == (100, None, None, None, None)


def test_another_chip_is_no_reference(lake):
    assert bests(lake, "elsewhere") == [(1, None, None, None, None)]


def test_without_a_bandwidth_products_have_no_roof_and_only_the_same_product_is_a_reference(tmp_path):
    with tracelake.open(tmp_path / "lake") as opened:
        (tmp_path / "lake" / "lookup").mkdir()
    own = "hardware,vendor,name,peak_bf16_tflops,hbm_gb\nno_bandwidth,nvidia,No bandwidth,1000,100\n"
    (tmp_path / "lake" / "lookup" / "hardware.csv").write_text(own)
    with tracelake.open(tmp_path / "lake") as opened:
        for name, calls in (("one", [(1024, 10), (2048, 30)]), ("other", [(1024, 8), (1500, 20)])):
            opened.ingest(made(calls).write(tmp_path / f"{name}.json"), hardware="no_bandwidth")
        assert [row[1] for row in bests(opened, "other")] == [10, None]
        roofs = "SELECT compute_us, roof_us, group_roof_us, bound FROM kernel_roofline WHERE m = 1024"
        # 2 x 1024^3 FLOP at 1000 TFLOP/s take 2.147 us.
        assert opened.rows(roofs) == [(pytest.approx(2 * 1024**3 / 1e9), None, None, None)] * 2


def test_the_roof_of_a_product_in_fp4_has_half_a_byte_for_a_value(tmp_path):
    # B200: 9000 TFLOP/s in FP4, 8 TB/s. 1024 columns, inner dimension 1024 in 512 bytes, by rows: 512 move 512 KiB and
    # 512 x 1 KiB, 131 ns (119 at the peak); 1024 take 238.6 ns at the peak (197 in memory). By whole bytes: 1.5.
    chip = {"deviceProperties": [{"id": 0, "name": "NVIDIA B200", "computeMajor": 10, "computeMinor": 0}]}
    lake = tracelake.open(tmp_path / "lake")
    for name, rows in (("few", 512), ("many", 1024)):
        trace = Trace(**chip)
        types = ["c10::Float4_e2m1fn_x2"] * 2
        op = trace.op("aten::_scaled_mm", 0, 50, [[rows, 512], [512, 1024]], types)
        trace.kernel(GEMM, 10, 10_000, 40, op)
        lake.ingest(trace.write(tmp_path / f"{name}.json"))
    [[_, best, _, distance, source]] = bests(lake, "many")
    ratio = (2 * 1024 * 1024 * 1024 / 9000e3) / ((2**19 + 512 * 1024) / 8000)
    assert (best, distance, source) == (pytest.approx(40 * ratio), 1, "few")
    assert ratio == pytest.approx(1.82, abs=0.001)
