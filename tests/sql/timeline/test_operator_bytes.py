"""Bytes that operators on elements read and write: by the types and shapes of their results.

torch_golden holds what PyTorch 2.13 answers to torch.promote_types for all pairs of types, and to torch.result_type for
a tensor, a tensor without dimensions and a Python number; of all three, to torch._prims_common.elementwise_dtypes.
"""

import csv
from pathlib import Path
from typing import Any

import pytest

import tracelake
from tracelake.lake import Lake

from ...kernel_traces import BF16, Trace

GOLDEN = Path(__file__).parent / "torch_golden"
F, D, L, N, B, FP8 = "float", "double", "long int", "int", "bool", "c10::Float8_e4m3fn"


def golden(name: str) -> list[list[str]]:
    with (GOLDEN / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))[1:]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory):
    opened = tracelake.open(tmp_path_factory.mktemp("bytes") / "lake")
    yield opened
    opened.close()


def test_two_types_are_promoted_to_the_one_that_pytorch_promotes_them_to(lake: Lake) -> None:
    pairs = golden("promote_types.csv")
    assert len(pairs) == 17 * 18 / 2
    own = "(SELECT max(mask) FROM type_promotions WHERE dtype = {})"
    for one, other, promoted in pairs:
        found = lake.rows(
            f"SELECT dtype FROM type_promotions WHERE mask = {own.format('$1')} | {own.format('$2')}", [one, other]
        )
        # What PyTorch refuses is in no trace.
        assert found == [(promoted,)] or not promoted, (one, other)
    refused = {(one, other) for one, other, promoted in pairs if not promoted}
    assert all({one, other} & {"uint16", "uint32", "uint64", "fp8"} for one, other in refused)


def test_tensors_decide_over_those_without_dimensions_and_these_over_numbers_as_in_pytorch(lake: Lake) -> None:
    cases = golden("result_type.csv")
    numbers = {"": "", "bool": "bool", "int": "int64", "float": "fp32", "complex": "complex64"}
    values = ", ".join(f"('{a}', '{b}', '{numbers[c]}', '{result}')" for a, b, c, result in cases)
    lake.prepare("type_promotions _promoted_type")
    wrong = lake.rows(
        f"""
        WITH masks AS (SELECT dtype, max(mask) AS mask FROM type_promotions GROUP BY dtype)
        SELECT v.*, t.dtype
        FROM (VALUES {values}) AS v(tensor, zero_dim, number, result)
        LEFT JOIN masks AS a ON a.dtype = v.tensor
        LEFT JOIN masks AS b ON b.dtype = v.zero_dim
        LEFT JOIN masks AS c ON c.dtype = v.number
        LEFT JOIN type_promotions AS t
            ON t.mask = _promoted_type(coalesce(a.mask, 0), coalesce(b.mask, 0), coalesce(c.mask, 0))
        WHERE t.dtype IS DISTINCT FROM v.result
        """
    )
    assert (len(cases), wrong) == (499, [])


# An operator, shapes and types of its inputs, and the bytes of each input that is read and of the result, by hand.
CALLS = [
    ("aten::mul", [[8, 4], [8, 4]], [BF16, F], 64 + 128 + 32 * 4),  # bf16 with fp32 is fp32
    ("aten::mul", [[8, 4], []], [BF16, D], 64 + 32 * 2),  # a Python number
    ("aten::mul", [[], [8, 4]], [F, BF16], 64 + 32 * 2),  # a tensor without dimensions, of the same category
    ("aten::mul", [[8, 4], []], [N, D], 128 + 32 * 4),  # an int tensor by 0.5 is fp32
    ("aten::mul", [[8, 4], []], [B, L], 32 + 32 * 8),  # a mask by 2 is int64
    ("aten::add", [[8, 4], [8, 4], []], ["signed char", "unsigned char", "Scalar"], 64 + 32 * 2),  # int16
    ("aten::add", [[8, 4], [8, 4], []], [BF16, "c10::Half", "Scalar"], 128 + 32 * 4),  # fp32
    ("aten::add", [[8, 1], [1, 4], []], [F, F, "Scalar"], 32 + 16 + 32 * 4),  # broadcast to 8 x 4
    ("aten::add", [[3, 8, 1], [4], []], [F, F, "Scalar"], 96 + 16 + 96 * 4),
    ("aten::add", [[8, 3], [8, 4], []], [F, F, "Scalar"], None),  # these do not fit
    ("aten::eq", [[8, 4], [8, 4]], [F, F], 128 + 128 + 32),  # bool
    ("aten::lt", [[8, 4], []], [L, "Scalar"], 256 + 32),
    ("aten::logical_and", [[8, 4], [8, 4]], [B, B], 32 + 32 + 32),
    ("aten::logical_not", [[8, 4]], [F], 128 + 32),
    ("aten::where", [[8, 4], [8, 4], []], [B, BF16, BF16], 32 + 64 + 32 * 2),  # the type of the values
    ("aten::where", [[8, 1], [8, 4], [1, 4]], [B, F, F], 8 + 128 + 16 + 32 * 4),
    ("aten::where", [[8, 4], [], []], [B, "Scalar", "Scalar"], None),  # of two numbers that no shape tells
    ("aten::div", [[8, 4], [8, 4]], [N, N], 128 + 128 + 32 * 4),  # of integers it is fp32
    ("aten::div", [[8, 4], [8, 4]], [L, L], 256 + 256 + 32 * 4),
    ("aten::div", [[8, 4], [8, 4], []], [L, L, ""], 256 + 256 + 32 * 8),  # rounded, they stay integers
    ("aten::exp", [[8, 4]], [L], 256 + 32 * 4),
    ("aten::exp", [[8, 4]], [BF16], 64 + 32 * 2),
    ("aten::abs", [[8, 4]], ["c10::complex<float>"], 256 + 32 * 4),  # real
    ("aten::pow", [[8, 4], []], [BF16, "Scalar"], 64 + 32 * 2),
    ("aten::pow", [[8, 4], []], [L, "Scalar"], None),  # by 2 or by 0.5
    ("aten::clamp", [[8, 4], [], []], [F, "Scalar", "Scalar"], 128 + 32 * 4),
    ("aten::masked_fill", [[8, 4], [1, 4], []], [BF16, B, F], 64 + 4 + 32 * 2),  # the value changes no type
    ("aten::cumsum", [[8, 4], [], []], [F, "Scalar", ""], 128 + 32 * 4),  # as much as it reads
    ("aten::cumsum", [[8, 4], [], []], [N, "Scalar", ""], 128 + 32 * 8),  # int64
    ("aten::cumsum", [[8, 4], [], []], [B, "Scalar", ""], 32 + 32 * 8),
    ("aten::sort", [[8, 4], [], []], [F, "Scalar", "Scalar"], 128 + 32 * (4 + 8)),  # values and places
    ("aten::argsort", [[8, 4], [], []], [F, "Scalar", "Scalar"], 128 + 32 * 8),
    ("aten::sum", [[8, 4]], [F], 128),
    ("aten::mul", [[8, 4], [], [8, 4]], [F, D, BF16], 128 + 32 * 2),  # the result goes into the third
    ("aten::mul_", [[8, 4], [8, 4]], [BF16, F], 64 + 128 + 64),  # in place
    ("aten::fill_", [[8, 4], []], [F, "Scalar"], 128),
    ("aten::fill_", [[], []], [F, "Scalar"], 4),
    ("aten::abs", [[8, 4], [0]], [L, L], 256 + 32 * 8),  # an empty one that is given for the result is made to fit
    ("aten::sort", [[8, 4], [], [], [8, 4], [8, 4]], [F, "Scalar", "Scalar", F, L], 128 + 32 * (4 + 8)),
    ("aten::pow", [[8, 4], [8], [2, 4], [2, 4], []], [F, F, F, F, "Scalar"], None),  # some other call
    ("aten::cumsum", [[], [8], [], []], ["", L, "Scalar", ""], None),
    ("aten::add", [[8, 4], [8, 4], []], ["a_new_type", F, "Scalar"], None),
    # aiter's norms return the result, or write it to the first input; with a residual, that of the sum too.
    ("aiter::rms_norm", [[8, 4], [4], [], []], [BF16, BF16, "Scalar", "Scalar"], 64 + 8 + 64),
    ("aiter::rmsnorm2d_fwd_ck", [[8, 4], [4], []], [BF16, F, "Scalar"], 64 + 16 + 64),  # a weight of its own type
    ("aiter::layernorm2d_fwd", [[8, 4], [4], [4], [], []], [BF16, BF16, BF16, "Scalar", ""], 64 + 8 + 8 + 64),
    ("aiter::rmsnorm", [[8, 4], [8, 4], [4], []], [BF16, BF16, BF16, "Scalar"], 64 + 8 + 64),
    ("aiter::rmsnorm2d_fwd_with_add_ck", [*[[8, 4]] * 4, [4], []], [*[BF16] * 5, "Scalar"], 4 * 64 + 8),
    ("aiter::layernorm2d_fwd_with_add", [*[[8, 4]] * 4, [4], [4], []], [*[BF16] * 6, "Scalar"], 4 * 64 + 8 + 8),
    ("aiter::rmsnorm_quant", [[8, 4], [8, 4], [8, 1], [4], []], [FP8, BF16, F, BF16, "Scalar"], 32 + 64 + 32 + 8),
    ("aiter::add_rmsnorm_quant", [*[[8, 4]] * 4, [8, 1], [4], []], [FP8, *[BF16] * 3, F, BF16, "Scalar"],
     32 + 3 * 64 + 32 + 8),
    ("aiter::rmsnorm2d_fwd_with_smoothquant", [[8, 4], [8, 4], [4], [8, 1], [4], []],
     ["signed char", BF16, F, F, BF16, "Scalar"], 32 + 64 + 16 + 32 + 8),
    # 8 rows of 32 values, as bytes of two, and of two scales in padded words, from twice as many BF16 values.
    ("_C::silu_and_mul_nvfp4_quant", [[8, 16], [8, 1], [8, 64], [1]], ["unsigned char", N, BF16, F], 128 + 32 + 1024),
    ("_C::silu_and_mul", [[8, 32], [8, 64]], [BF16, BF16], 512 + 1024),
    # Keys and values of 8 tokens go to the places that the fifth input names, as FP8 if the caches are of it.
    ("_C_cache_ops::reshape_and_cache_flash", [*[[8, 1, 4]] * 2, *[[9, 16, 1, 4]] * 2, [8], [], [], []],
     [BF16, BF16, "unsigned char", "unsigned char", L, "", F, F], 64 + 64 + 64 + 32 + 32),
    ("sglang::store_cache", [*[[8, 4]] * 2, *[[99, 4]] * 2, [8], [], []],
     [*[BF16] * 4, L, "Scalar", "Scalar"], 64 + 64 + 64 + 64 + 64),
    ("aten::_int_mm", [[8, 4], [4, 16]], ["signed char", "signed char"], 32 + 64 + 128 * 4),  # sums are int32
]  # fmt: skip


# The same with values of arguments, which give the result a type: as a number of PyTorch (6: FP32, 15: BF16), or as
# half_to_float of a softmax; or name a dimension.
TYPED = [
    ("aten::softmax", [[8, 4], [], []], [BF16, "Scalar", "Scalar"], ["", "-1", "6"], 64 + 32 * 4),
    ("aten::softmax", [[8, 4], [], []], [BF16, "Scalar", ""], ["", "-1", ""], 64 + 32 * 2),
    ("aten::_softmax", [[8, 4], [], []], [BF16, "Scalar", "Scalar"], ["", "-1", "True"], 64 + 32 * 4),
    ("aten::_softmax", [[4, 8], [], []], [BF16, "Scalar", "Scalar"], ["", "-1", "False"], 64 + 32 * 2),
    ("aten::_log_softmax", [[8, 4], [], []], [BF16, "Scalar", "Scalar"], ["", "-1", "True"], 64 + 32 * 4),
    ("aten::_log_softmax", [[4, 8], [], []], [BF16, "Scalar", "Scalar"], None, 64 + 32 * 2),
    ("aten::_softmax_backward_data", [[8, 4], [8, 4], [], []], [F, F, "Scalar", "Scalar"], ["", "", "-1", "15"],
     128 + 128 + 32 * 2),
    ("aten::_softmax_backward_data", [[4, 8], [4, 8], [], []], [F, F, "Scalar", "Scalar"], ["", "", "-1", "6"],
     128 + 128 + 32 * 4),
    ("aten::cumsum", [[8, 4], [], []], [BF16, "Scalar", "Scalar"], ["", "1", "6"], 64 + 32 * 4),
    ("aten::cumsum", [[8, 4], [], []], [N, "Scalar", "Scalar"], ["", "1", "3"], 128 + 32 * 4),  # int32 by request
    ("aten::cumsum", [[8, 4], [], []], [F, "Scalar", "Scalar"], ["", "1", "99"], None),  # a type of later versions
    # The dimension of a selection, 8 of 32 rows of 64 or of 65 columns of 32; without it the fewest elements.
    ("aten::index_select", [[32, 64], [], [8]], [BF16, "Scalar", L], ["", "0", ""], 2 * 8 * 64 * 2 + 64),
    ("aten::index_select", [[32, 65], [], [8]], [BF16, "Scalar", L], ["", "-1", ""], 2 * 8 * 32 * 2 + 64),
    ("aten::index_select", [[32, 66], [], [8]], [BF16, "Scalar", L], None, 2 * 8 * 32 * 2 + 64),
    # Two calls that differ in nothing else: kernels show shapes and types, not which of the two they are of.
    ("aten::cumprod", [[8, 4], [], []], [BF16, "Scalar", "Scalar"], ["", "1", "6"], None),
    ("aten::cumprod", [[8, 4], [], []], [BF16, "Scalar", "Scalar"], ["", "1", "7"], None),
]  # fmt: skip


# The same with strides: along a dimension with stride 0 an input repeats what it has.
LAID = [
    ("aten::copy_", [[8, 4], [8, 4], []], [BF16, BF16, "Scalar"], [[4, 1], [0, 1], []], 64 + 4 * 2),
    ("aten::mul", [[8, 4], [8, 4]], [F, F], [[0, 0], [4, 1]], 4 + 128 + 128),
    ("aten::mul", [[1, 4], [1, 4]], [F, F], [[0, 1], [4, 1]], 16 + 16 + 16),  # a single row repeats nothing
    ("aten::mul_", [[4, 4], [4, 4]], [F, F], [[4, 1], [1, 0]], 64 + 16 + 64),
    ("aten::gather", [[9, 4], [], [8, 4], []], [F, "", L, ""], [[4, 1], [], [1, 0], []], 2 * 128 + 8 * 8),
    ("aten::bmm", [[8, 2, 4], [8, 4, 3]], [BF16, BF16], [[8, 4, 1], [0, 3, 1]], 128 + 12 * 2 + 48 * 2),
    # Two calls that differ in nothing else: kernels show shapes, not which of the two they are of.
    ("aten::add", [[8, 4], [8, 4], []], [F, F, "Scalar"], [[4, 1], [0, 1], []], None),
    ("aten::add", [[8, 4], [8, 4], []], [F, F, "Scalar"], [[4, 1], [4, 1], []], None),
]  # fmt: skip


def check_bytes(lake: Lake, path: Path, calls: list[tuple[Any, ...]]) -> None:
    """Compare with the last value of each call; the others: operator, shapes, types, values and strides of inputs."""
    trace = Trace()
    for nth, (op, dims, types, values, strides, _) in enumerate(calls):
        # Shapes of their own keep equal calls apart.
        laid = {"Input Strides": strides} if strides else {}
        trace.op(op, 100 * nth, 50, dims, types, values, kept_apart=nth, **laid)
        trace.kernel(f"kernel_{nth}", launched=100 * nth + 10, start=100 * nth + 20, dur=10)
    [ingested] = lake.ingest(trace.write(path))
    found = lake.sql(
        f"""
        SELECT e.start_ns // 100000 AS nth, any_value(w.bytes) AS bytes
        FROM events AS e
        LEFT JOIN operator_works AS w
            ON w.trace_id = e.trace_id
            AND w.work_id = work_id(e.name, e.input_dims, e.input_types, CAST(NULL AS VARCHAR))
        WHERE e.category = 'cpu_op' AND e.trace_id = '{ingested.trace_id}'
        GROUP BY nth
        """
    ).fetchall()
    expected = {nth: moved for nth, (*_, moved) in enumerate(calls)}
    assert {nth: (calls[nth], moved) for nth, moved in found if moved != expected[nth]} == {}
    assert len(found) == len(calls)


def test_a_result_is_written_in_the_type_and_shape_that_its_operands_give_it(lake: Lake, tmp_path: Path) -> None:
    calls = [(op, dims, types, None, None, moved) for op, dims, types, moved in CALLS]
    typed = [(op, dims, types, values, None, moved) for op, dims, types, values, moved in TYPED]
    check_bytes(lake, tmp_path / "trace.json", calls + typed)


def test_elements_that_an_input_repeats_are_read_once(lake: Lake, tmp_path: Path) -> None:
    laid = [(op, dims, types, None, strides, moved) for op, dims, types, strides, moved in LAID]
    check_bytes(lake, tmp_path / "laid.json", laid)


def test_a_transposed_convolution_writes_the_places_that_its_stride_makes(lake: Lake, tmp_path: Path) -> None:
    """FP32. Length 20 by stride 2 with padding 1 and a window of 4: 19 x 2 - 2 + 3 + 1 = 40 places of 4 x 8 channels.

    A plain one of the same input with padding 1 and a window of 3: 20 places of 16 channels.
    """
    trace = Trace()
    groups, lists = ["", "", "", "[2]", "[1]", "[1]", "True", "[0]", "4"], [[]] * 7
    types = [F, F, "", *["ScalarList"] * 3, "", "ScalarList", "Scalar"]
    for nth, (weight, values) in enumerate(
        [([32, 8, 4], groups), ([16, 32, 3], ["", "", "", "[1]", "[1]", "[1]", "False", "[0]", "1"])]
    ):
        called = trace.op("aten::convolution", 100 * nth + 10, 30, [[8, 32, 20], weight, *lists], types, values)
        trace.kernel("conv_kernel", 100 * nth + 15, 100 * nth + 50, 4, called)
    lake.ingest(trace.write(tmp_path / "transposed.json"))
    rows = lake.rows(
        "SELECT bytes, flop FROM operator_works WHERE trace_id = $1 ORDER BY bytes DESC", [lake.resolve("transposed")]
    )
    read = 8 * 32 * 20
    assert rows == [
        (4 * (read + 32 * 8 * 4 + 8 * 32 * 40), 2 * 8 * 20 * 32 * 8 * 4),
        (4 * (read + 16 * 32 * 3 + 8 * 16 * 20), 2 * 8 * 20 * 16 * 32 * 3),
    ]
