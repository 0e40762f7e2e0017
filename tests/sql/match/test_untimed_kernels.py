"""Operations that take no time or end before they start."""

from pathlib import Path

from ...kernel_traces import GEMM, Trace
from ...lakes import in_one_lake


@in_one_lake
def test_the_roofline_counts_the_operations_that_ops_counts_and_rates_those_that_take_time(tmp_path: Path):
    trace = Trace()
    for nth, dur in enumerate([70, -5, 0, 70]):
        op = trace.op("aten::mm", 100 * nth, 20, [[512, 256], [256, 128]])
        trace.kernel(GEMM, 100 * nth + 5, 100 * nth + 30, dur, op)
    lake = yield trace.write(tmp_path / "odd.json")
    # The one of 0 is a call, but has no rate: two products of 2 x 512 x 256 x 128 in 140 µs.
    rate = 2 * 2 * 512 * 256 * 128 / 140e-6 / 1e12
    for relation in ("ops", "op_roofline"):
        [(calls, sum_us, tflops)] = lake.rows(f"SELECT calls, sum_us, tflops FROM {relation}")
        assert (calls, sum_us, round(tflops, 9)) == (3, 140, round(rate, 9)), relation
    moved = 2 * (512 * 256 + 256 * 128 + 512 * 128)
    assert lake.rows("SELECT round(gbps, 6) FROM op_roofline") == [(round(2 * moved / 140e-6 / 1e9, 6),)]
    assert lake.rows("SELECT count(*), min(dur_us) FROM kernel_roofline") == [(3, 0)]
