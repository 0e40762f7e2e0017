"""Convolutions whose library changes the layout of their tensors before and after."""

import pytest

from ...kernel_traces import Trace
from ...lakes import Files, in_one_lake

BLOCKS = 4
LAYOUTS = "void cudnn::engines_precompiled::{}Kernel<__nv_bfloat16, __nv_bfloat16, float, false, true>(int)"


def convolutions(path, shaped):
    """A convolution in each block, between changes of layout of a third of its time; `shaped` of them show shapes."""
    trace, now = Trace(), 0.0
    trace.module("ResNetModel_0", 0.0, BLOCKS * 100.0 - 1)
    for block in range(BLOCKS):
        trace.module(f"ResNetBlock_{block}", now + 1, 98.0)
        dims = [[1, 8, 16, 16], [32, 8, 3, 3], [], [], [], [], []] if block < shaped else None
        values = ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False"] if dims else None
        number = trace.op("aten::cudnn_convolution", now + 2, 50.0, dims, values=values)
        names = [
            LAYOUTS.format("nchwToNhwc"),
            "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>",
            LAYOUTS.format("nhwcToNchw"),
        ]
        for i, (name, us) in enumerate(zip(names, (10.0, 30.0, 10.0), strict=True)):
            trace.kernel(name, now + 5 + i, now + 20 + 25 * i, us, number)
        now += 100.0
    return trace.write(path)


@pytest.mark.parametrize(("shaped", "covered"), [(BLOCKS, 100.0), (BLOCKS // 2, 100 * 30 / (30 + 50))])
@in_one_lake
def test_a_change_of_layout_around_a_convolution_of_known_flop_hides_no_flop(tmp_path, shaped, covered):
    """Of a convolution of unknown FLOP it may be the part that multiplies."""
    lake = yield Files(convolutions(tmp_path / "net.json", shaped), hardware="h100_sxm")
    [(flop, share)] = lake.rows("SELECT flop, flop_covered_pct FROM pass_mfu WHERE time_basis = 'sum'")
    assert flop == shaped * 2 * 16 * 16 * 32 * 8 * 9
    assert share == pytest.approx(covered)
