"""What the events of XLA's profiler tell of an operation's work: its bytes, and the type that it multiplies."""

import json

import pytest

from tracelake.reports.mfu.trace import report

from ...lakes import Files, in_one_lake
from ...summary_cases import write_case


def written(path, *described):
    """Write a trace of a TPU: an operation of 10 µs for each name, category of XLA and other arguments."""
    text = "; ".join(
        f"{name} {20 * nth}+10 {json.dumps({'hlo_category': category, **args})}"
        for nth, (name, category, args) in enumerate(described)
    )
    return write_case(path, [(1, "/device:TPU:0", {"XLA Ops": text})])


@in_one_lake
def test_a_custom_call_of_zero_bytes_has_unknown_bytes_and_no_roof(tmp_path):
    path = written(
        tmp_path / "unstated.json",
        ("RPA-bq_32-", "custom-call", {"bytes_accessed": "0", "model_flops": "0"}),
        ("gmm.1", "custom-call", {"bytes_accessed": "16380000", "model_flops": "0"}),
        ("bitcast.1", "bitcast", {"bytes_accessed": "0", "model_flops": "0"}),
    )
    lake = yield Files(path, hardware="tpu_v6e")
    # 16.38 MB in 10 µs are 1638 GB/s, all that the chip has. A bitcast moves nothing.
    assert lake.rows("SELECT bytes, roof_us, bound, mbu FROM kernel_roofline ORDER BY start_ns") == [
        (None, None, None, None), (16380000, pytest.approx(10), "memory", pytest.approx(1)), (0, 0, "memory", 0),
    ]  # fmt: skip
    assert lake.rows("SELECT name, bytes, gbps FROM ops ORDER BY bytes DESC NULLS LAST") == [
        ("gmm.1", 16380000, pytest.approx(1638)), ("bitcast.1", 0, 0), ("RPA-bq_32-", None, None),
    ]  # fmt: skip


def product(*operands, result="bf16[1024,1024]{1,0:T(8,128)(2,1)S(1)}"):
    listed = ", ".join(f"{operand}{{1,0:T(8,128)(2,1)}} %p{nth}" for nth, operand in enumerate(operands))
    text = f"%fusion.1 = {result} fusion({listed}), kind=kOutput, calls=%fused_computation.1"
    # XLA's profiler scales flops down for types that the chip multiplies faster, and model_flops not.
    args = {"long_name": text, "model_flops": "9180000000", "flops": "4590000000", "bytes_accessed": "1000"}
    return ("fusion.1", "convolution fusion", args)


PRODUCTS = {
    # Operands, type, peak of a TPU v6e in that type.
    ("s8[1024,8192]", "s8[8192,1024]"): ("int8", 1836),
    # Scales of rows and columns are no factors.
    ("s8[1024,8192]", "s8[8192,1024]", "f32[1024,1]", "f32[1024]"): ("int8", 1836),
    ("f8e4m3fn[1024,8192]", "f8e5m2[8192,1024]"): ("fp8", 918),
    # The residual is added to the product of the other two.
    ("bf16[1,1024,1024]", "s8[1024,8192]", "s8[8192,1024]"): ("int8", 1836),
    ("f8e4m3fn[1,1024,8192]", "f32[1024,1024]", "f8e4m3fn[1024,8192]"): ("fp8", 918),
    ("bf16[1024,8192]", "s8[8192,1024]", "s8[4096,1024]"): ("bf16", 918),
    # Weights of four bits are widened to the eight of the rows, and to the sixteen.
    ("f8e4m3fn[1024,8192]", "f4e2m1fn[8192,1024]"): ("fp8", 918),
    ("bf16[1024,8192]", "f4e2m1fn[8192,1024]", "f8e8m0fnu[256,1024]"): ("bf16", 918),
    # Scales of blocks are exponents alone.
    ("f8e4m3fn[8,128,8192]", "f8e4m3fn[8,8192,1024]", "f8e8m0fnu[8,128,256]", "f8e8m0fnu[8,256,1024]"): ("fp8", 918),
    # The wider factor decides: weights are widened.
    ("bf16[1024,8192]", "s8[8192,1024]"): ("bf16", 918),
    ("bf16[1024,8192]", "bf16[8192,1024]", "pred[1024,8192]"): ("bf16", 918),
}


@pytest.mark.parametrize(("operands", "expected"), PRODUCTS.items())
@in_one_lake
def test_a_product_of_xla_is_held_to_the_peak_of_its_operands(tmp_path, operands, expected):
    path = written(tmp_path / f"{'_'.join(operands).replace(',', 'x')}.json", product(*operands))
    lake = yield Files(path, hardware="tpu_v6e")
    dtype, peak = expected
    # 9.18 GFLOP in 10 µs: 918 TFLOP/s.
    assert lake.rows("SELECT dtype, dtype_source, peak_tflops, mfu FROM kernel_roofline") == [
        (dtype, "inputs", peak, pytest.approx(918 / peak))
    ]
    assert lake.rows("SELECT xla_flop, xla_tflops FROM hlo_ops") == [(9.18e9, pytest.approx(918))]


@in_one_lake
def test_a_chip_without_fp8_multiplies_it_as_bf16(tmp_path):
    path = written(tmp_path / "widened.json", product("f8e4m3fn[1024,8192]", "f8e4m3fn[8192,1024]"))
    lake = yield Files(path, hardware="tpu_v5e")
    assert lake.rows("SELECT dtype, peak_tflops FROM kernel_roofline") == [("bf16", 197)]


@pytest.mark.parametrize(("vendor", "moved", "said"), [("google", 5.0, 1), ("google", None, 0), ("nvidia", 5.0, 0)])
def test_bytes_of_a_tpu_carry_a_caveat(vendor, moved, said):
    columns = "device pass_id phase time_basis time_us kernel_count mapped_pct flop flop_covered_pct tflops peak_tflops"
    row = dict.fromkeys(columns.split()) | {"time_us": 1.0, "bytes": moved, "recomputed_flop": None}
    row |= dict.fromkeys(("mfu_pct", "cluster_mfu_pct", "bytes_covered_pct", "mbu_pct", "roofline_pct"))
    trace = {"trace": "t", "model": "m", "hardware": "h", "hardware_name": "h", "vendor": vendor}
    parts = report(
        {"trace": trace, "passes": [row], "operators": [], "exchanging": [], "unsized": [], "model_doubts": []}
    )
    assert sum("VMEM" in part for part in parts if isinstance(part, str)) == said
