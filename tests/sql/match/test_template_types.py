"""Where the FLOP are the template's, what the kernel's own row says of types, experts and bytes still holds."""

import pytest

from ...lakes import Files, in_one_lake
from ..ascend.counters import product, write_table

TOKENS = 16
#: A buffer for 16 tokens of 8 ranks, of which each may go to 8 experts: how many rows are in use is a value.
BUFFER = TOKENS * 8 * 8


def layer(number: int, dtype: str, *, shared: bool = False, fused: bool = False) -> list[dict[str, str]]:
    """Return a layer of DeepSeek-V3, with experts from the fourth layer on; all of its products have one type.

    A shared expert has the shapes of a routed one, and here runs before them. One kernel may do all of the experts'
    half, from tokens and weights of different types.
    """
    norm = product("AddRmsNorm", f"{TOKENS},7168;{TOKENS},7168;7168", f"{TOKENS},7168")
    rows = [
        norm | {"Type": "RmsNorm"} if number == 0 else norm,
        product("QuantBatchMatmulV3", f"{TOKENS},7168;7168,2112", f"{TOKENS},2112", dtype=dtype),
        product(
            "FusedInferAttentionScore", f"{TOKENS},128,1,512;64,1,128,512;64,1,128,512;;;;{TOKENS}", "16,128,1,512"
        ),
        product("QuantBatchMatmulV3", f"{TOKENS},16384;16384,7168", f"{TOKENS},7168", dtype=dtype),
        norm,
    ]
    if number < 3:
        return [*rows, product("QuantBatchMatmulV3", f"{TOKENS},7168;7168,36864", f"{TOKENS},36864", dtype=dtype)]
    if fused:
        half = product("DispatchFFNCombine", f"{TOKENS},7168;32,7168,4096;32,2048,7168;{TOKENS},8", f"{TOKENS},7168")
        return [*rows, half | {"Input Data Types": f"DT_BF16;{dtype};{dtype};INT32"}]
    if shared:
        rows += [
            product("QuantBatchMatmulV3", f"{TOKENS},7168;7168,4096", f"{TOKENS},4096", dtype=dtype),
            product("QuantBatchMatmulV3", f"{TOKENS},2048;2048,7168", f"{TOKENS},7168", dtype=dtype),
        ]
    return [
        *rows,
        product("MoeDistributeDispatchV2", f"{TOKENS},7168;{TOKENS},8", f"{BUFFER},7168"),
        product("GroupedMatmul", f"{BUFFER},7168;32,7168,4096", f"{BUFFER},4096", dtype=dtype),
        product("GroupedMatmul", f"{BUFFER},2048;32,2048,7168", f"{BUFFER},7168", dtype=dtype),
        product("MoeDistributeCombineV2", f"{BUFFER},7168;{TOKENS},8", f"{TOKENS},7168"),
    ]


SET = {"model": "deepseek-v3", "hardware": "ascend_910c"}


def passes(dtype: str, **kind: bool) -> list[dict[str, str]]:
    """Return three passes of five layers."""
    return [
        row
        for _ in range(3)
        for row in [
            product("GatherV2", f"129280,7168;{TOKENS}", f"{TOKENS},7168"),
            *(row for number in range(5) for row in layer(number, dtype, **kind)),
            product("ArgMaxV2", f"{TOKENS},129280", str(TOKENS)),
        ]
    ]


# Dense peaks of the 910C's die: DeepSeek-V3's own type is FP8, which it computes in BF16.
@pytest.mark.parametrize(("dtype", "named", "peak"), [("INT8", "int8", 752), ("DT_BF16", "bf16", 353.9)])
@in_one_lake
def test_experts_whose_rows_are_unknown_have_the_peak_of_the_type_in_their_row(tmp_path, dtype, named, peak):
    lake = yield Files(write_table(tmp_path / "kernel_details.csv", *passes(dtype)), **SET, ep=8, dp=8)
    columns = "flop_source, dtype, dtype_source, peak_tflops, mfu * peak_tflops * 1e6 * dur_us"
    found = lake.rows(f"SELECT DISTINCT {columns} FROM kernel_roofline WHERE unit = 'routed_gate_up' AND pass_id = 1")
    # 16 tokens of each of 8 replicas go to 8 experts each, of which 8 ranks hold equal parts.
    flop = 2 * TOKENS * 8 * 7168 * 4096
    assert found == [("template", named, "inputs", peak, pytest.approx(flop))]


@in_one_lake
def test_a_shared_expert_before_the_routed_ones_of_its_shape_is_none_of_them(tmp_path):
    lake = yield Files(write_table(tmp_path / "kernel_details.csv", *passes("INT8", shared=True)), **SET, ep=8, dp=8)
    found = lake.rows(
        "SELECT DISTINCT unit, display_name FROM kernel_roofline"
        " WHERE pass_id = 1 AND (starts_with(unit, 'shared') OR starts_with(unit, 'routed')) ORDER BY unit"
    )
    assert found == [
        ("routed_down", "GroupedMatmul"), ("routed_gate_up", "GroupedMatmul"),
        ("shared_down", "QuantBatchMatmulV3"), ("shared_gate_up", "QuantBatchMatmulV3"),
    ]  # fmt: skip


@in_one_lake
def test_experts_move_no_more_than_the_weights_that_their_row_has(tmp_path):
    # EP is not set: the template takes all of the model's 256 experts to be on this device.
    lake = yield Files(write_table(tmp_path / "kernel_details.csv", *passes("INT8") * 2), **SET)
    [(moved,)] = lake.rows(
        "SELECT DISTINCT group_bytes FROM kernel_roofline WHERE unit = 'routed_gate_up' AND pass_id = 1"
    )
    # Rows, 32 experts, and rows of the result, all of one byte: a third of what 128 choices of 256 experts would read.
    assert moved == BUFFER * 7168 + 32 * 7168 * 4096 + BUFFER * 4096


@pytest.mark.parametrize(("dtype", "named", "peak"), [("INT8", "int8", 752), ("DT_BF16", "bf16", 353.9)])
@in_one_lake
def test_a_kernel_of_all_of_the_experts_half_computes_in_the_type_of_its_weights(tmp_path, dtype, named, peak):
    lake = yield Files(write_table(tmp_path / "kernel_details.csv", *passes(dtype, fused=True)), **SET, ep=8, dp=8)
    found = lake.rows(
        "SELECT DISTINCT flop_source, dtype, dtype_source, peak_tflops FROM kernel_roofline"
        " WHERE display_name = 'DispatchFFNCombine' AND pass_id = 1"
    )
    assert found == [("template", named, "inputs", peak)]


@in_one_lake
def test_the_weights_of_few_experts_are_smaller_than_the_tokens_of_a_prompt(tmp_path):
    half = product("DispatchFFNCombine", "8192,7168;1,7168,4096;1,2048,7168;8192,8", "8192,7168")
    half |= {"Input Data Types": "DT_BF16;INT8;INT8;INT32"}
    lake = yield write_table(tmp_path / "kernel_details.csv", half)
    # 117 MB of tokens, 29 MB and 15 MB of weights.
    assert lake.rows("SELECT dtype FROM ascend_operators") == [("int8",)]
