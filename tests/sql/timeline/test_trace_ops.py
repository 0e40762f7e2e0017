"""FLOP of framework operators: a hand-worked example per formula, one operator per call, and real traces.

Totals of real traces are those of the compute specification (8.6), worked out from the published dimensions of their
models and checked there against two other programs.
"""

import json
from typing import Any

import pytest

import tracelake

from ...kernel_traces import GEMM, Trace
from ...lakes import in_one_lake

FP8 = "c10::Float8_e4m3fn"
FP4 = "c10::Float4_e2m1fn_x2"
ATTENTION = [[2, 4, 6, 8]] * 3  # two sequences, four heads, six tokens, eight wide


PRODUCTS = [
    # batch, m, n, k, FLOP = 2 x batch x m x n x k, and bytes of both operands and the result, 2 per element.
    ("aten::mm", [[4, 8], [8, 16]], (1, 4, 16, 8, 1024, 2 * (32 + 128 + 64))),
    ("aten::addmm", [[16], [4, 8], [8, 16], [], []], (1, 4, 16, 8, 1024, 2 * (32 + 128 + 64))),
    ("aten::linear", [[2, 4, 8], [16, 8], [16]], (1, 8, 16, 8, 2048, 2 * (64 + 128 + 128))),
    ("aten::linear", [[8], [16, 8], []], (1, 1, 16, 8, 256, 2 * (8 + 128 + 16))),
    ("aten::bmm", [[2, 4, 8], [2, 8, 16]], (2, 4, 16, 8, 2048, 2 * (64 + 256 + 128))),
    ("aten::matmul", [[2, 3, 4, 8], [2, 3, 8, 16]], (6, 4, 16, 8, 6144, 2 * (192 + 768 + 384))),
    # A matrix times two of them: the result has both.
    ("aten::matmul", [[4, 8], [2, 8, 16]], (2, 4, 16, 8, 2048, 2 * (32 + 256 + 128))),
    ("aten::matmul", [[8], [8, 16]], (1, 1, 16, 8, 256, 2 * (8 + 128 + 16))),
    ("aten::mv", [[4, 8], [8]], (1, 4, 1, 8, 64, 2 * (32 + 8 + 4))),
    ("aten::baddbmm", [[2, 4, 16], [2, 4, 8], [2, 8, 16], [], []], (2, 4, 16, 8, 2048, 2 * (64 + 256 + 128))),
    # Either repeats the dimension that is 1 or missing: 2 x 3 products.
    ("aten::matmul", [[2, 1, 4, 8], [3, 8, 16]], (6, 4, 16, 8, 6144, 2 * (64 + 384 + 384))),
    # Three experts share ten rows: each row meets one of their matrices.
    ("aten::_grouped_mm", [[10, 8], [3, 8, 16], [3]], (1, 10, 16, 8, 2560, 2 * (80 + 384 + 160))),
    # A gradient of weights: the experts share out the inner dimension, and each has a result of 16 x 8.
    ("aten::_grouped_mm", [[16, 10], [10, 8], [3], [], []], (1, 16, 8, 10, 2560, 2 * (160 + 80 + 3 * 128))),
    (
        "aten::_scaled_grouped_mm",
        [[16, 10], [10, 8], [48], [24], [3], [], [], [], []],
        (1, 16, 8, 10, 2560, 2 * (160 + 80 + 3 * 128)),
    ),
    ("aiter::gemm_a16w16", [[4, 8], [16, 8], [], [], []], (1, 4, 16, 8, 1024, 2 * (32 + 128 + 64))),
    # One of a library whose other products take weights the other way round.
    ("aiter::hipb_mm", [[4, 8], [8, 16], [], []], (1, 4, 16, 8, 1024, 2 * (32 + 128 + 64))),
    # Templates of PyTorch's compiler: the bias of addmm is its first buffer, or comes after the factors if it is fused.
    ("triton_tem_fused_addmm_3", [[16], [2, 2, 8], [16, 8], [4, 16], [], [], []], (1, 4, 16, 8, 1024, 2 * 224)),
    ("triton_tem_fused_addmm_gelu_4", [[4, 8], [16, 8], [16], [4, 16], [], [], []], (1, 4, 16, 8, 1024, 2 * 224)),
    # A residual with the shape of the result, which is written as (batch, heads, tokens, width).
    ("triton_tem_fused_add_mm_view_5", [[4, 8], [16, 8], [2, 2, 16], [2, 4, 2, 4]], (1, 4, 16, 8, 1024, 2 * 224)),
    # Both buffers of silu(gate) x up are read as the first factor; a workspace comes after the result.
    ("triton_tem_fused_mm_mul_silu_6", [[4, 8], [4, 8], [32, 8], [4, 32], [384]], (1, 4, 32, 8, 2048, 2 * 416)),
    # Batches of 2 x 3: the first factor has its heads after its tokens, the second its rows last.
    ("triton_tem_fused_bmm_7", [[2, 4, 3, 8], [6, 16, 8], [6, 4, 16]], (6, 4, 16, 8, 6144, 2 * (192 + 768 + 384))),
    ("triton_tem_fused_bmm_mul_8", [[6, 4, 8], [6, 8, 16], [2, 3, 4, 16]], (6, 4, 16, 8, 6144, 2 * (192 + 768 + 384))),
    ("triton_tem_fused_baddbmm_9", [[16], [6, 4, 8], [6, 8, 16], [6, 4, 16]], (6, 4, 16, 8, 6144, 2 * 1344)),
    # One product of what a batch of others gave: the name has both.
    ("triton_tem_fused_bmm_clone_mm_10", [[2, 2, 2, 4], [16, 8], [4, 16]], (1, 4, 16, 8, 1024, 2 * 224)),
    # Square ones, of which any two buffers fit the third. Two products that are added: unknown.
    ("triton_tem_fused_addmm_11", [[8], [8, 8], [8, 8], [8, 8]], (1, 8, 8, 8, 1024, 2 * 192)),
    ("triton_tem_fused_add_mm_12", [[4, 8], [8, 16], [4, 8], [8, 16], [4, 16]], (None,) * 6),
    # The inner dimension is heads x width, with tokens between them.
    ("triton_tem_fused_mm_t_view_13", [[2, 2, 2, 4], [8, 16], [4, 16]], (1, 4, 16, 8, 1024, 2 * 224)),
    # Shapes that no tensor has.
    ("triton_tem_fused_mm_14", [[-4, 8], [8, 16], [4, 16]], (None,) * 6),
    ("triton_tem_fused_mm_15", [[2**62, 8], [2**62, 16], [4, 16]], (None,) * 6),
    # Heads and tokens of the result have changed places: how many products there are is unknown.
    ("triton_tem_fused_bmm_clone_16", [[6, 4, 16], [6, 16, 8], [2, 4, 3, 8]], (None,) * 6),
    # Scales of rows and of columns fit the result too, with an inner dimension of 1.
    ("triton_tem_fused__scaled_mm_17", [[4, 8], [8, 16], [4, 1], [1, 16], [4, 16]], (1, 4, 16, 8, 1024, 2 * 224)),
    # Inner dimensions that differ make no product.
    ("aten::mm", [[4, 8], [9, 16]], (None,) * 6),
]
FLASH = ("", "", "", "0.", "True", "False", "")
PAIRS = [
    # Pairs of one head of one sequence: all 6 x 6, or 1 + 2 + ... + 6.
    ("aten::_scaled_dot_product_flash_attention", ATTENTION, ("", "", "", "0.", "False", "False", ""), 36),
    ("aten::_scaled_dot_product_flash_attention", ATTENTION, FLASH, 21),
    ("aten::scaled_dot_product_attention", ATTENTION, ("", "", "", "", "0.", "True", "", "False"), 21),
    # Four queries after two older tokens see 3 + 4 + 5 + 6 keys, when the mask ends at the bottom right.
    ("flash_attn::_flash_attn_forward", [[2, 4, 4, 8], [2, 6, 4, 8], [2, 6, 4, 8]],
     ("", "", "", "0.", "0.1", "True", "-1", "-1"), 18),
    # PyTorch's lower right mask is this operator with more keys than queries (torch.nn.attention.bias).
    ("aten::_scaled_dot_product_flash_attention", [[2, 4, 4, 8], [2, 4, 6, 8], [2, 4, 6, 8]], FLASH, 18),
    # With a window of two keys before its own each query sees at most three.
    ("flash_attn::_flash_attn_forward", [[2, 6, 4, 8]] * 3, ("", "", "", "0.", "0.1", "True", "2", "0"), 15),
    # FlashAttention 3 has 24 inputs before the mask.
    ("flash_attn_3::fwd", [[2, 6, 4, 8]] * 3, (*[""] * 23, "0.1", "True", "2", "0"), 15),
    # More queries than keys, from the top left: 1 + 2 + 3 + 3 + 3 + 3.
    ("aten::scaled_dot_product_attention", [[2, 4, 6, 8], [2, 4, 3, 8], [2, 4, 3, 8]],
     ("", "", "", "", "0.", "True", "", "False"), 15),
]  # fmt: skip
CONVOLUTIONS = [
    # An image of 8 x 8 and a window of 3 x 3 with a border of one: 64 places, 16 channels of 3 x 9 values each.
    ("aten::conv2d", [[2, 3, 8, 8], [16, 3, 3, 3], [16], [], [], [], []],
     ("", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "1"), 2 * 2 * 64 * 16 * 27),
    # Every second place, without a border: 3 x 3 of them. Four groups: a channel sees a quarter of the inputs.
    ("aten::convolution", [[1, 8, 8, 8], [16, 2, 3, 3], [], [], [], [], [], [], []],
     ("", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "4"), 2 * 9 * 16 * 18),
    # Transposed: each of 16 places of the input meets 4 x 5 x 5 weights per channel.
    ("aten::convolution", [[1, 8, 4, 4], [8, 4, 5, 5], [], [], [], [], [], [], []],
     ("", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"), 2 * 16 * 8 * 4 * 25),
    # A sequence, dilated: 20 - 2 x (3 - 1) = 16 places.
    ("aten::conv1d", [[1, 4, 20], [6, 4, 3], [], [], [], [], []], ("", "", "", "[1]", "[0]", "[2]", "1"),
     2 * 16 * 6 * 12),
    # cuDNN and MIOpen have the padding before the stride: 4 x 4 places, 10 x 10 the other way round.
    ("aten::cudnn_convolution", [[1, 2, 8, 8], [4, 2, 3, 3]], ("", "", "[1, 1]", "[2, 2]", "[1, 1]"), 2 * 16 * 4 * 18),
    ("aten::miopen_convolution", [[1, 2, 8, 8], [4, 2, 3, 3], [4]], ("", "", "", "[1, 1]", "[2, 2]", "[1, 1]"),
     2 * 16 * 4 * 18),
    # Backward: the products of the forward pass twice, places by the gradient of the result.
    ("aten::convolution_backward", [[2, 16, 8, 8], [2, 3, 8, 8], [16, 3, 3, 3], [], [], [], [], [], [], [], []],
     ("", "", "", "[16]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, True]"),
     2 * 2 * 2 * 64 * 16 * 27),
]  # fmt: skip
EXPERTS = [[6, 16], [8, 8, 16], [8, 16, 4], [6, 2], [6, 2]]
BACKWARD = "aten::_scaled_dot_product_flash_attention_backward"
GRADIENTS = [[2, 16, 8, 8], [2, 3, 8, 8], [16, 3, 3, 3], [], [], [], [], [], [], [], []]
OTHERS = {
    "no image": ("aten::convolution_backward", GRADIENTS, None, (*("",) * 7, "False", "", "", "[False, True, True]")),
    "no arguments": ("aten::convolution_backward", GRADIENTS, None, None),
    "no mask": (PAIRS[0][0], ATTENTION, None, None),
    "bounds": (
        "aten::_efficient_attention_forward",
        [[1, 30, 4, 16]] * 3 + [[], [4], [4], *[[]] * 5],
        None,
        ("",) * 9 + ("1", "False"),
    ),
    "fp8": ("aten::_scaled_mm", [[4, 8], [8, 16], [], []], (FP8, FP8, "float", "float"), None),
    "nvfp4": ("aten::_scaled_mm", [[4, 8], [8, 16], [512], [512]], (FP4, FP4, FP8, FP8), None),
    "nvfp4 groups": (
        "aten::_scaled_grouped_mm",
        [[4, 8], [2, 8, 16], [512], [512], [2], [], [], [], []],
        (FP4, FP4, FP8, FP8, "int", "", "", "Scalar", "Scalar"),
        None,
    ),
    "fp8 blocks": (
        "vllm::fp8_gemm_nt_op",
        [[4, 8], [4, 1], [16, 8], [1, 1], [4, 16], []],
        (FP8, "float", FP8, "float", "c10::BFloat16", "Scalar"),
        None,
    ),
    "fp8 blocks by Triton": (
        "vllm::w8a8_triton_block_scaled_mm_func",
        [[4, 8], [16, 8], [4, 1], [1, 1], [], []],
        (FP8, FP8, "float", "float", "ScalarList", "Scalar"),
        None,
    ),
    "fp4": ("aiter::gemm_a4w4", [[4, 8], [16, 8]], ("unsigned char",) * 2, None),
    "grouped heads": (PAIRS[0][0], [[2, 4, 6, 8], [2, 2, 6, 8], [2, 2, 6, 8]], None, FLASH),
    "backward": (BACKWARD, [[2, 4, 6, 8]] * 5 + [[]] * 7, None, ("",) * 11 + ("True",)),
    "experts": ("vllm::outplace_fused_experts", EXPERTS, None, None),
    "packed": ("vllm::unified_attention", [[6, 4, 8], [6, 2, 8], [6, 2, 8], []], None, None),
}


def in_lake(folder, traces):
    """Return a lake of some traces by name."""
    lake = tracelake.open(folder / "lake")
    lake.ingest(*(trace.write(folder / f"{name}.json") for name, trace in traces.items()))
    return lake


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Ask for columns of trace_ops, of one operator among many that each are a trace of their own."""
    examples: dict[str, Any] = {f"product {nth}": (op, dims, None, None) for nth, (op, dims, _) in enumerate(PRODUCTS)}
    for kind, rows in (("attention", PAIRS), ("convolution", CONVOLUTIONS)):
        examples |= {f"{kind} {nth}": (op, dims, None, values) for nth, (op, dims, values, _) in enumerate(rows)}
    traces = {}
    for name, (op, dims, types, values) in (examples | OTHERS).items():
        traces[name] = Trace()
        traces[name].op(op, 10 + len(traces), 5, dims, types, values)
    lake = in_lake(tmp_path_factory.mktemp("examples"), traces)

    def ask(name, columns):
        [row] = lake.rows(
            f"SELECT {columns} FROM trace_ops WHERE trace_id = (SELECT trace_id FROM traces WHERE trace = $1)", [name]
        )
        return row

    yield ask
    lake.close()


@pytest.mark.parametrize(("nth", "example"), [*enumerate(PRODUCTS)])
def test_a_product_is_two_flop_per_multiplication_whatever_its_operands_are_called(found, nth, example):
    assert found(f"product {nth}", "CASE WHEN flop > 0 THEN batch END, m, n, k, flop, bytes") == example[-1]


@pytest.mark.parametrize("name", ["fp8", "fp8 blocks", "fp8 blocks by Triton"])
def test_operands_of_a_byte_give_a_result_of_two(found, name):
    # 4 x 8 and 8 x 16 values of a byte, 4 x 16 of two.
    assert found(name, "flop, bytes, dtype") == (1024, 32 + 128 + 128, "fp8")


@pytest.mark.parametrize("name", ["nvfp4", "nvfp4 groups"])
def test_a_type_of_two_values_in_a_byte_doubles_the_inner_dimension(found, name):
    # 4 x 16 sums of 16 products. Bytes: 4 x 8 and 8 x 16 (of each group) of the operands, 4 x 16 values of two.
    groups = 2 if "groups" in name else 1
    assert found(name, "m, n, k, flop, bytes, dtype") == (4, 16, 16, 2 * 4 * 16 * 16, 32 + 128 * groups + 128, "fp4")


def test_two_values_in_a_byte_double_the_inner_dimension(found):
    assert found("fp4", "m, n, k, flop, dtype") == (4, 16, 16, 2 * 4 * 16 * 16, "fp4")


@pytest.mark.parametrize(("nth", "example"), [*enumerate(PAIRS)])
def test_attention_counts_each_pair_of_a_query_and_a_key_that_it_sees(found, nth, example):
    op, dims, _, pairs = example
    queries, keys = (dims[0][1], dims[1][1]) if op.startswith("flash") else (dims[0][2], dims[1][2])
    # Two sequences, four heads; per pair eight products for the score and eight for the value.
    assert found(f"attention {nth}", "flop, flop_full") == (2 * 2 * 4 * pairs * 16, 2 * 2 * 4 * queries * keys * 16)


def test_grouped_heads_of_keys_change_bytes_and_not_flop(found):
    # Query and result have 2 x 4 x 6 x 8 elements, keys and values half of that.
    assert found("grouped heads", "flop, bytes") == (2 * 2 * 4 * 21 * 16, 2 * (384 + 384 + 192 + 192))


def test_the_backward_pass_of_attention_makes_five_products_of_the_two(found):
    assert found("backward", "flop") == (2.5 * 2 * 2 * 4 * 21 * 16,)


@pytest.mark.parametrize(("nth", "example"), [*enumerate(CONVOLUTIONS)])
def test_a_convolution_is_a_product_per_place_of_its_result(found, nth, example):
    assert found(f"convolution {nth}", "flop, 2 * m * n * k * CASE WHEN op LIKE '%backward' THEN 2 ELSE 1 END") == (
        example[-1], example[-1]
    )  # fmt: skip


def test_a_gradient_that_is_not_asked_for_is_not_counted(found):
    # The first layer needs none of its image. 128 places, 16 channels of 3 x 9 values.
    assert found("no image", "flop") == (2 * 128 * 16 * 27,)


def test_what_only_arguments_tell_is_unknown_without_them(found):
    assert found("no arguments", "flop, flop_source") == (None, "none")
    # Whether a mask hides half of the pairs; library counters print all of them.
    assert found("no mask", "flop, flop_full") == (None, 2 * 2 * 4 * 36 * 16)
    # Sequences behind each other in one row: their bounds are values.
    assert found("bounds", "flop, flop_full, m") == (None, None, 30)


def test_fused_experts_multiply_each_token_with_the_matrices_of_the_chosen(found):
    # Six tokens choose 2 of 8 experts: 12 rows through 16 -> 2 x 4 and 4 -> 16.
    flop, moved = found("experts", "flop, bytes")
    assert flop == 2 * 12 * (8 * 16 + 16 * 4)
    # Tokens in and out, and the weights of 8 x (1 - (3/4)^6) experts.
    assert moved == pytest.approx(2 * 2 * 6 * 16 + 8 * (1 - 0.75**6) * 2 * (8 * 16 + 16 * 4))


def test_packed_attention_outside_of_a_pass_has_no_flop(found):
    assert found("packed", "flop, flop_source, m") == (None, "none", 6)


@in_one_lake
def test_of_one_call_the_innermost_operator_counts(tmp_path):
    trace = Trace()
    trace.op("aten::linear", 10, 30, [[2, 4, 8], [16, 8], []])
    trace.op("aten::matmul", 12, 20, [[2, 4, 8], [8, 16]])
    trace.op("aten::mm", 14, 10, [[8, 8], [8, 16]])
    trace.op("aten::mm", 50, 10, [[8, 8], [8, 16]])
    # Without shapes inside, the one around tells.
    trace.op("aten::linear", 70, 30, [[2, 4, 8], [16, 8], []])
    trace.op("aten::mm", 72, 10)
    # Another thread at the same time.
    trace.op("aten::mm", 14, 10, [[8, 8], [8, 32]], tid=2)
    lake = yield trace.write(tmp_path / "t.json")
    assert lake.rows("SELECT op, start_ns // 1000, flop FROM trace_ops ORDER BY start_ns, flop") == [
        ("aten::mm", 14, 2048), ("aten::mm", 14, 4096), ("aten::mm", 50, 2048), ("aten::linear", 70, 2048)
    ]  # fmt: skip


@pytest.mark.parametrize("order", [1, -1])
@in_one_lake
def test_of_two_operators_of_equal_times_the_one_with_the_higher_id_counts_in_any_order(tmp_path, order):
    # In whole microseconds, the caller and its product begin and end together. 2 x 6 x 8 x 16 FLOP.
    trace = Trace()
    trace.op("aten::matmul", 10, 20, [[2, 3, 8], [8, 16]])
    trace.kernel(GEMM, 15, 100, 30, trace.op("aten::mm", 10, 20, [[6, 8], [8, 16]]))
    trace.events = trace.events[::order]
    lake = yield trace.write(tmp_path / "t.json")
    assert lake.rows("SELECT op FROM counted_operators") == [("aten::mm",)]
    assert lake.rows("SELECT op_name, flop FROM kernels JOIN _device_ops USING (trace_id, kernel_id)") == [
        ("aten::mm", 1536)
    ]


@in_one_lake
def test_attention_written_out_as_products_gives_way_to_them_and_experts_keep_their_router(tmp_path):
    trace = Trace()
    trace.op("aten::scaled_dot_product_attention", 10, 30, ATTENTION, values=["", "", "", "", "0.", "True", "", ""])
    trace.op("aten::bmm", 12, 5, [[8, 6, 8], [8, 8, 6]])
    trace.op("aten::bmm", 20, 5, [[8, 6, 6], [8, 6, 8]])
    trace.op("vllm::outplace_fused_experts", 50, 30, EXPERTS)
    trace.op("aten::mm", 52, 5, [[6, 16], [16, 8]])
    lake = yield trace.write(tmp_path / "t.json")
    assert lake.rows("SELECT op, flop FROM trace_ops ORDER BY start_ns") == [
        ("aten::bmm", 2 * 8 * 6 * 6 * 8), ("aten::bmm", 2 * 8 * 6 * 8 * 6),
        ("vllm::outplace_fused_experts", 2 * 12 * (8 * 16 + 16 * 4)), ("aten::mm", 2 * 6 * 8 * 16),
    ]  # fmt: skip


@in_one_lake
def test_a_grouped_product_gives_way_to_the_products_of_its_groups(tmp_path):
    # Without a kernel for the device, PyTorch multiplies the rows of each expert on their own: 6 and 4 of the ten.
    trace = Trace()
    trace.op("aten::_grouped_mm", 10, 30, [[10, 8], [2, 8, 16], [2], [], []])
    trace.op("aten::mm", 12, 5, [[6, 8], [8, 16]])
    trace.op("aten::mm", 20, 5, [[4, 8], [8, 16]])
    trace.op("aten::_grouped_mm", 50, 30, [[10, 8], [2, 8, 16], [2], [], []])
    lake = yield trace.write(tmp_path / "t.json")
    assert lake.rows("SELECT op, flop FROM trace_ops ORDER BY start_ns") == [
        ("aten::mm", 2 * 6 * 8 * 16), ("aten::mm", 2 * 4 * 8 * 16), ("aten::_grouped_mm", 2 * 10 * 8 * 16)
    ]  # fmt: skip


def specification_fixture(folder):
    """Write the extractor fixture of the specification, 8.6b."""
    module = "nn.Module: Qwen3MoeForCausalLM_model"

    def span(cat, name, ts, dur, dims=None, tid=1, **args):
        if dims is not None:
            args["Input Dims"] = dims
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}

    frames = [
        ("embed_tokens", 0, 20), ("layers_0_self_attn", 90, 200), ("layers_0_self_attn_q_proj", 100, 50),
        ("layers_0_mlp_gate", 300, 20), ("layers_0_mlp_experts", 330, 60), ("layers_1_mlp_gate_up_proj", 400, 60),
        ("layers_1_post_attention_layernorm", 470, 10), ("lm_head", 700, 50),
    ]  # fmt: skip
    events = [span("python_function", f"{module}_{name}", ts, dur) for name, ts, dur in frames] + [
        span("cpu_op", "aten::embedding", 5, 5, [[151936, 4096], [4]]),
        span("cpu_op", "aten::linear", 110, 30, [[4, 4096], [2048, 4096], []], stage="DECODE"),
        span("cpu_op", "aten::mm", 115, 20, [[4, 4096], [4096, 2048]]),
        span("cpu_op", "aten::bmm", 200, 10, [[16, 4, 128], [16, 128, 4]]),
        span("cpu_op", "aten::mm", 305, 5, [[4, 4096], [4096, 128]]),
        span("cpu_op", "aten::bmm", 340, 30, [[16, 2, 4096], [16, 4096, 192]]),
        span("cpu_op", "aten::addmm", 410, 30, [[24576], [4, 4096], [4096, 24576], [], []], scope="prefill"),
        span("cpu_op", "aten::rms_norm", 472, 5, [[4, 4096]]),
        span("cpu_op", "aten::mm", 600, 5, tid=2),
        span("cpu_op", "cuda_graph_capture", 400, 50, tid=9),
        span("cpu_op", "aten::mm", 710, 20, [[1, 4096], [4096, 18992]]),
    ]
    path = folder / "fixture.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@in_one_lake
def test_the_extractor_fixture_of_the_specification(tmp_path):
    lake = yield specification_fixture(tmp_path)
    found = lake.rows("SELECT op, layer_id, flop, stage, in_capture, weight_shape FROM trace_ops ORDER BY start_ns")
    assert found == [
        ("aten::mm", 0, 67_108_864, "decode", False, "[4096,2048]"),
        ("aten::bmm", 0, 65_536, None, False, "[16,128,4]"),
        ("aten::mm", 0, 4_194_304, None, False, "[4096,128]"),
        ("aten::bmm", 0, 50_331_648, None, False, "[16,4096,192]"),
        ("aten::addmm", 1, 805_306_368, "prefill", True, "[4096,24576]"),
        ("aten::mm", None, None, None, False, None),
        ("aten::mm", None, 155_582_464, None, False, "[4096,18992]"),
    ]  # fmt: skip
    assert sum(row[2] or 0 for row in found) == 1_082_589_184
    assert lake.rows("SELECT module FROM trace_ops WHERE layer_id = 1") == [
        ("Qwen3MoeForCausalLM_model_layers_1_mlp_gate_up_proj",)
    ]


REAL = [
    ("hf_qwen1.5-0.5b_h100", "family = 'product' AND op <> 'aten::bmm'", 168, 5_514_536_681_472),
    ("hf_qwen1.5-0.5b_h100", "op = 'aten::bmm'", 1, 35_776),
    ("hf_qwen1.5-0.5b_h100", "family = 'sdpa'", 24, 24 * 10_257_694_720),
    ("sglang_qwen3-8b_prefill_mi300x", "family = 'product'", 145, 213_392_645_160_960),
    ("sglang_qwen3-8b_prefill_mi300x", "family = 'attention'", 36, 36 * 128_974_848_000),
    ("sglang_qwen3-8b_decode_capture_mi300x", "family = 'product' AND in_capture", 145, 484_358_225_920),
    ("vllm_gpt-oss_prefill_tp_b200", "family = 'product'", 109, 235_838_453_760),
    ("vllm_gpt-oss_prefill_tp_b200", "k = 2880 AND n = 640", 36, 36 * 3_273_523_200),
    ("vllm_gpt-oss_prefill_tp_b200", "k = 2880 AND n = 128", 36, 36 * 654_704_640),
    ("vllm_gpt-oss_prefill_tp_b200", "k = 512", 36, 36 * 2_618_818_560),
]


@pytest.mark.parametrize(("name", "where", "ops", "flop"), REAL)
def test_real_traces_have_the_flop_of_the_specification(real_lake, name, where, ops, flop):
    lake = real_lake(f"kineto/{name}.json.gz")
    assert lake.rows(f"SELECT count(*), sum(flop) FROM trace_ops WHERE {where}") == [(ops, flop)]


def test_library_counters_print_full_attention_and_we_keep_both(real_lake):
    lake = real_lake("kineto/hf_qwen1.5-0.5b_h100.json.gz")
    # 16 x 16 heads, 559 tokens, 64 wide: 4 x 16 x 16 x 559 x 559 x 64.
    assert lake.rows("SELECT DISTINCT flop_full FROM trace_ops WHERE family = 'sdpa'") == [(20_478_754_816,)]
    assert lake.rows(
        "SELECT DISTINCT layer_id, module FROM trace_ops WHERE module_path LIKE '%DecoderLayer_23/Qwen2MLP%'"
        " ORDER BY ALL"
    ) == [(23, "Linear_165"), (23, "Linear_166"), (23, "Linear_167")]
