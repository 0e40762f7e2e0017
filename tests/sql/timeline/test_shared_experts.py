"""Fused experts, where a rank has some of them: how many of the choices are theirs."""

import pytest

from ...kernel_traces import BF16, Trace
from ...lakes import in_one_lake


@in_one_lake
def test_a_rank_with_some_of_the_experts_multiplies_with_the_chosen_that_are_its_own(tmp_path):
    # Six tokens choose 2 of 32 experts each. 8 are here: 3 of the 12 choices are expected to be theirs.
    dims = [[6, 16], [8, 8, 16], [8, 16, 4], [6, 2], [6, 2], [], [32]]
    trace = Trace()
    experts = trace.op(
        "vllm::outplace_fused_experts", 10, 20, dims, [BF16, BF16, BF16, "float", "int", "Scalar", "int"]
    )
    trace.kernel("fused_moe_kernel", 15, 100, 30, experts)
    lake = yield trace.write(tmp_path / "t.json")
    [(m, flop, moved)] = lake.rows("SELECT m, flop, bytes FROM trace_ops")
    assert (m, flop) == (3, 2 * 3 * (8 * 16 + 16 * 4))
    # A token leaves an expert out with 30/32, all six with that to the sixth.
    assert moved == pytest.approx(2 * 2 * 6 * 16 + 8 * (1 - (30 / 32) ** 6) * 2 * (8 * 16 + 16 * 4))


def experts(op, dims, types, argument, value):
    """Return a trace of experts among whose arguments one tells of the ranks that share them."""
    trace = Trace()
    dims, types = dims + [[]] * (argument + 1 - len(dims)), types + ["Scalar"] * (argument + 1 - len(types))
    trace.op(op, 10, 20, dims, types, [""] * argument + [value])
    return trace


@pytest.mark.parametrize(("ranks", "rows"), [("1", 12), ("4", 3)])
@pytest.mark.parametrize("kind", ["bf16", "fp4"])
@in_one_lake
def test_experts_of_tensorrt_llm_share_the_choices_with_those_of_other_ranks(tmp_path, kind, ranks, rows):
    # Six tokens of 64 choose 2 experts each; 8 experts of 64 -> 2 x 32 -> 64 are here. In NVFP4 a byte of a token has
    # two values, an item of the weights 16.
    token, items, types = {"bf16": (64, 1, [BF16, BF16]), "fp4": (32, 16, ["unsigned char", "long int"])}[kind]
    dims = [[6, token], [6, 2], [6, 2], [8, 64, 64 // items], [], [8, 64, 32 // items]]
    trace = experts("trtllm::fused_moe", dims, [types[0], "int", "float", types[1], "", types[1]], 16, ranks)
    lake = yield trace.write(tmp_path / "t.json")
    [(m, flop, moved, dtype)] = lake.rows("SELECT m, flop, bytes, dtype FROM trace_ops")
    assert (m, flop, dtype) == (rows, 2 * rows * (64 * 64 + 64 * 32), kind)
    # Tokens in and, of two bytes a value, out; weights of the experts that some of the six choose.
    read = 8 * (1 - (1 - 2 / (8 * int(ranks))) ** 6) * (64 * 64 + 64 * 32) * (2 if kind == "bf16" else 0.5)
    assert moved == pytest.approx(6 * 64 * (2 if kind == "bf16" else 0.5) + 6 * 64 * 2 + read)


@pytest.mark.parametrize(("name", "argument"), [("inplace", 25), ("outplace", 26)])
@pytest.mark.parametrize(("some", "rows"), [("False", 12), ("True", None)])
@in_one_lake
def test_of_sglang_s_experts_on_several_ranks_the_rows_of_one_are_unknown(tmp_path, name, argument, some, rows):
    dims = [[6, 16], [8, 8, 16], [8, 16, 4], [6, 2], [6, 2]]
    types = [BF16, BF16, BF16, "float", "int"]
    trace = experts(f"sglang::{name}_fused_experts", dims, types, argument, some)
    lake = yield trace.write(tmp_path / "t.json")
    assert lake.rows("SELECT m, flop FROM trace_ops") == [(rows, rows and 2 * rows * (8 * 16 + 16 * 4))]


@in_one_lake
def test_experts_of_int8_weights_have_them_turned(tmp_path):
    # 8 experts of 64 -> 2 x 48 -> 64, as TensorRT-LLM lays out weights of INT8 for tokens in BF16.
    dims = [[6, 64], [6, 2], [6, 2], [8, 64, 2 * 48], [], [8, 48, 64]]
    trace = experts("trtllm::fused_moe", dims, [BF16, "int", "float", "signed char", "", "signed char"], 16, "1")
    lake = yield trace.write(tmp_path / "t.json")
    read = 8 * (1 - (1 - 2 / 8) ** 6) * 3 * 48 * 64
    [(m, flop, moved)] = lake.rows("SELECT m, flop, bytes FROM trace_ops")
    assert (m, flop, moved) == (12, 2 * 12 * 3 * 48 * 64, pytest.approx(2 * 2 * 6 * 64 + read))
