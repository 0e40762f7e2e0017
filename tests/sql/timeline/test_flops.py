"""Floating-point operations by shapes: by hand on small traces, against XLA's own count and TraceLens on real ones."""

import csv
import json

import pytest

import tracelake

from ...kernel_traces import BF16, GEMM, Trace
from ...lakes import in_one_lake
from ...summary_cases import write_case
from ...support import DATA, trace_bytes

FP8 = "c10::Float8_e4m3fn"
#: Instructions of XLA, their category, XLA's count, and the operations with where they are from.
INSTRUCTIONS = {
    # 2 x 8 x 128 elements, each of 512 products.
    "dot.1": (
        ("%dot.1 = f32[8,128]{1,0} dot(f32[8,512]{1,0} %a, f32[512,128]{1,0} %b), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}"), "dot", None, 1048576, "shapes",
    ),
    # 4 batches of 8 x 128 elements, each of 64 products.
    "dot.2": (
        ("%dot.2 = f32[4,8,128]{2,1,0} dot(f32[4,8,64]{2,1,0} %a, f32[4,128,64]{2,1,0} %b), lhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}"), None, None, 524288, "shapes",
    ),
    # 8 x 56 x 56 x 64 elements, each of 3 x 3 x 3 products.
    "convolution.3": (
        ("%convolution.3 = bf16[8,56,56,64]{3,2,1,0} convolution(bf16[8,58,58,3]{3,2,1,0} %x, bf16[3,3,3,64]{3,2,1,0} "
        "%k), window={size=3x3}, dim_labels=b01f_01io->b01f"), "convolution", "0", 86704128, "shapes",
    ),
    # A depthwise one: 1 x 10 x 32 elements, each of 4 products.
    "convolution.4": (
        ("%convolution.4 = f32[1,10,32]{2,1,0} convolution(f32[1,13,32]{2,1,0} %x, f32[4,1,32]{2,1,0} %k), "
        "window={size=4}, dim_labels=b0f_0io->b0f, feature_group_count=32"), "convolution", None, 2560, "shapes",
    ),
    # 1024 x 27648 elements, each of 5120 products; the vectors are of what is fused to it.
    "fusion.5": (
        ("%fusion.5 = bf16[1024,1,27648]{2,0,1:T(16,128)(2,1)} fusion(bf16[27648,5120]{1,0:T(16,128)(2,1)} %param.41, "
        "bf16[1024,5120]{1,0} %x, f32[1024]{0:T(1024)S(1)} %r, bf16[5120]{0} %w), kind=kOutput, calls=%f.64"),
        "convolution fusion", None, 289910292480, "shapes",
    ),
    # XLA's own figure comes first, with what is fused.
    "fusion.6": (
        "%fusion.6 = bf16[1024,27648]{1,0} fusion(bf16[27648,5120]{1,0} %p, bf16[1024,5120]{1,0} %x), kind=kOutput",
        "convolution fusion", "289941749760", 289941749760, "model_flops",
    ),
    # 64 x 64 elements of 32 products; what has the result's shape is added to it.
    "fusion.7": (
        ("%fusion.7 = f32[64,64]{1,0} fusion(f32[64,64]{1,0} %r, f32[64,64]{1,0} %s, f32[64,32]{1,0} %a, "
        "f32[32,64]{1,0} %b), kind=kOutput, calls=%f.7"), "convolution fusion", None, 262144, "shapes",
    ),
    # 32 and 16 products are both possible.
    "fusion.8": (
        ("%fusion.8 = f32[64,64]{1,0} fusion(f32[64,16]{1,0} %c, f32[16,64]{1,0} %d, f32[64,32]{1,0} %a, "
        "f32[32,64]{1,0} %b), kind=kOutput, calls=%f.8"), "convolution fusion", None, None, "none",
    ),
    # 32 heads of 2048 x 2048 elements of 64 products.
    "fusion.9": (
        ("%fusion.9 = bf16[32,2048,2048]{2,1,0} fusion(bf16[32,2048,64]{2,1,0} %q, bf16[32,2048,64]{2,1,0} %k), "
        "kind=kOutput, calls=%f.9"), "convolution fusion", None, 17179869184, "shapes",
    ),
    "fusion.10": ("%fusion.10 = f32[8,8]{1,0} fusion(f32[8,8]{1,0} %a, f32[8,8]{1,0} %b), kind=kLoop, calls=%f.10",
                  "loop fusion", None, None, "none"),
    "fusion.11": ("%fusion.11 = f32[8,8]{1,0} fusion(f32[8,8]{1,0} %a), kind=kLoop, calls=%f.11",
                  "loop fusion", "64", 64, "model_flops"),
    # 16 x 24 elements of 40 products; the second result is a workspace.
    "gemm.12": (
        ('%gemm.12 = (bf16[16,24]{1,0}, s8[4096]{0}) custom-call(bf16[16,40]{1,0} %a, bf16[40,24]{1,0} %b), '
        'custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":'
        '{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}'), "custom-call", "0",
        30720, "shapes",
    ),
    "custom.13": (('%custom.13 = bf16[4,8]{1,0} custom-call(bf16[4,8]{1,0} %q), custom_call_target="tpu_custom_call", '
                  'operand_layout_constraints={bf16[4,8]{1,0}}'), "custom-call", "0", None, "none"),
}  # fmt: skip

#: Operators, shapes of their inputs, other values, their kernels' names and durations, and the operations of each.
OPERATORS = [
    ("aten::mm", [[8, 512], [512, 128]], None, {"gemm_kernel": 4}, [1048576]),
    ("aten::addmm", [[128], [8, 512], [512, 128], [], []], None, {"gemm_kernel": 4}, [1048576]),
    # Weights lie transposed.
    ("aten::linear", [[2, 4, 512], [128, 512], [128]], None, {"gemm_kernel": 4}, [1048576]),
    ("aten::bmm", [[4, 8, 64], [4, 64, 128]], None, {"gemm_kernel": 4}, [524288]),
    # One row of the first for each of 4 matrices of the second.
    ("aten::matmul", [[8, 64], [4, 64, 128]], None, {"gemm_kernel": 4}, [524288]),
    ("aten::matmul", [[8, 64], [64]], None, {"gemv_gemm_kernel": 4}, [1024]),
    ("aten::mm", [[8, 512], [500, 128]], None, {"gemm_kernel": 4}, [None]),
    ("aten::mul", [[8, 512], [8, 512]], None, {"elementwise_kernel": 4}, [None]),
    # Two kernels share the work by their times; a fill has no part in it.
    ("aten::mm", [[10, 10], [10, 10]], None, {"Memset (Device)": 9, "gemm_a": 3, "gemm_b": 1}, [None, 1500, 500]),
    # 224 + 2 x 2 - 11 = 217, by 4 is 54: 55 x 55 places of 64 x 3 x 11 x 11 weights, 2 images.
    (
        "aten::cudnn_convolution", [[2, 3, 224, 224], [64, 3, 11, 11], [], [], [], [], [], [], []],
        ["", "", "[2, 2]", "[4, 4]", "[1, 1]", "1", "False", "False", "True"],
        {"implicit_convolve_sgemm": 4}, [281107200],
    ),
    # Each of 5 x 5 places of the input meets 8 x 4 x 3 x 3 weights.
    (
        "aten::convolution", [[1, 8, 5, 5], [8, 4, 3, 3], [4], [], [], [], [], [], []],
        ["", "", "", "[2]", "[1]", "[1]", "True", "[0]", "1"], {"conv2d_kernel": 4}, [14400],
    ),
    # The gradients of input and weights: 55 x 55 places each.
    (
        "aten::convolution_backward", [[2, 64, 55, 55], [2, 3, 224, 224], [64, 3, 11, 11], *[[]] * 8],
        ["", "", "", "[64]", "[4, 4]", "[2, 2]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"],
        {"conv_dgrad": 2, "conv_wgrad": 2}, [281107200, 281107200],
    ),
    # 2 sequences of 4 heads: 10 tokens read 55 pairs of 16 + 16 dimensions.
    (
        "aten::_flash_attention_forward", [[2, 10, 4, 16], [2, 10, 4, 16], [2, 10, 4, 16], [], [], [], [], [], []],
        ["", "", "", "", "", "10", "10", "0.", "True"], {"flash_fwd_kernel": 4}, [28160],
    ),
    # All 10 x 20 pairs; two and a half times that backward.
    (
        "aten::_flash_attention_forward", [[2, 10, 4, 16], [2, 20, 4, 16], [2, 20, 4, 16], [], [], [], [], [], []],
        ["", "", "", "", "", "10", "20", "0.", "False"], {"flash_fwd_kernel": 4}, [102400],
    ),
    (
        "aten::_flash_attention_backward",
        [[2, 10, 4, 16], [2, 10, 4, 16], [2, 20, 4, 16], [2, 20, 4, 16], [2, 10, 4, 16], [2, 4, 10], *[[]] * 6],
        ["", "", "", "", "", "", "", "", "10", "20", "0.", "False"], {"flash_bwd_kernel": 4}, [256000],
    ),
    # FlashAttention 3, with the 55 pairs of a mask: two and a half times 28160.
    (
        "flash_attn_3::bwd", [[2, 10, 4, 16]] * 5 + [[2, 4, 10], *[[]] * 16],
        [*[""] * 15, "0.1", "True", "-1", "-1"], {"flash_bwd_kernel": 4}, [70400],
    ),
    (
        "flash_attn_3::fwd", [*[[1, 30, 4, 16]] * 3, *[[]] * 4, [4], [4], *[[]] * 24],
        [*[""] * 23, "0.1", "True", "-1", "-1"], {"flash_fwd_kernel": 4}, [None],
    ),
    # A cache has room for 4096 keys of each sequence; an input says how many it has.
    ("flash_attn_3::fwd", [[2, 1, 4, 16], *[[2, 4096, 4, 16]] * 2, *[[]] * 8, [2], *[[]] * 19],
     [*[""] * 23, "0.1", "True", "-1", "-1"], {"flash_fwd_kernel": 4}, [None]),
    # Sequences in one row: no shape tells their lengths.
    (
        "aten::_flash_attention_forward", [[30, 4, 16], [30, 4, 16], [30, 4, 16], [4], [4], [], [], [], []],
        ["", "", "", "", "", "10", "10", "0.", "True"], {"flash_fwd_kernel": 4}, [None],
    ),
]  # fmt: skip


def operator_events():
    """Yield a thread that calls each operator, and a stream that runs what these launch, 100 µs apart."""
    number = 0
    for nth, (name, dims, values, kernels, _) in enumerate(OPERATORS):
        at = 100 * nth
        given = {} if values is None else {"Concrete Inputs": values}
        args = {"External id": nth + 1, "Input Dims": dims, "Input type": [""] * len(dims), **given}
        yield {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 90, "args": args}
        begin = at + 50
        for kernel, dur in kernels.items():
            number += 1
            args = {"External id": nth + 1, "correlation": number}
            kind = "gpu_memset" if kernel.startswith("Mem") else "kernel"
            launched = {"ts": at + number % 9, "dur": 1, "args": args}
            yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, **launched}
            yield {"ph": "X", "cat": kind, "name": kernel, "pid": 0, "tid": 7, "ts": begin, "dur": dur,
                   "args": {**args, "device": 0, "stream": 7}}  # fmt: skip
            begin += dur


@pytest.fixture(scope="module")
def xla(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xla")
    text = "; ".join(
        f"{name} {10 * nth}+5 " + json.dumps({"long_name": instruction}
        | ({"hlo_category": category} if category else {}) | ({"model_flops": told} if told else {}))
        for nth, (name, (instruction, category, told, *_)) in enumerate(INSTRUCTIONS.items())
    )  # fmt: skip
    lake = tracelake.open(folder / "lake")
    lake.ingest(write_case(folder / "case.json", [(1, "/device:TPU:0", {"XLA Ops": text})]))
    return lake


def test_instructions_of_xla_tell_their_operations(xla):
    found = {name: rest for name, *rest in xla.rows("SELECT name, flop, flop_source FROM ops")}
    assert found == {name: list(rest) for name, (_, _, _, *rest) in INSTRUCTIONS.items()}


def test_a_product_counts_once_where_another_trace_gives_it_another_category(lake, tmp_path):
    f32 = "f32[4,4]{1,0}"
    said = f"%dot.1 = {f32} dot({f32} %a, {f32} %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    paths = []
    for category in ("convolution", "custom-call"):
        args = json.dumps({"long_name": said, "hlo_category": category})
        case = [(1, "/device:TPU:0", {"XLA Ops": f"dot.1 0+5 {args}"})]
        paths.append(write_case(tmp_path / f"{category}.json", case))
    lake.ingest(*paths)
    # 2 x 4 x 4 x 4.
    assert lake.rows("SELECT trace, calls, flop FROM ops JOIN traces USING (trace_id) ORDER BY trace") == [
        ("convolution", 1, 128), ("custom-call", 1, 128),
    ]  # fmt: skip


def test_what_stands_in_attributes_is_no_operand(xla):
    shapes = dict(xla.rows("SELECT name, operand_shape FROM _xla_texts JOIN _op_shapes USING (instruction)"))
    assert shapes["custom.13"] == "4,8"
    assert shapes["convolution.3"] == "8,58,58,3|3,3,3,64"
    assert shapes["gemm.12"] == "16,40|40,24"


def test_a_family_says_whether_shapes_or_xla_tell_its_operations(xla):
    [(flop, source, known, rate)] = xla.rows(
        "SELECT flop, flop_source, flop_known_pct, tflops FROM op_families WHERE family = 'matmul'"
    )
    fusions = (f"fusion.{nth}" for nth in range(5, 10))
    names = ("dot.1", "dot.2", "convolution.3", "convolution.4", *fusions, "gemm.12")
    assert flop == sum(INSTRUCTIONS[name][3] or 0 for name in names)
    # Of 10 operations of 5 µs one is unknown.
    assert (source, known) == ("both", pytest.approx(90))
    assert rate == pytest.approx(flop / 45e-6 / 1e12)


@in_one_lake
def test_operators_tell_the_operations_of_their_kernels(tmp_path):
    (tmp_path / "trace.json").write_bytes(trace_bytes(list(operator_events())))
    lake = yield tmp_path / "trace.json"
    rows = lake.rows("SELECT start_ns // 100000, flop, flop_source FROM _device_ops ORDER BY start_ns")
    found = [[] for _ in OPERATORS]
    for nth, flop, source in rows:
        found[nth].append(flop)
        assert source == ("none" if flop is None else "shapes")
    assert found == [expected for *_, expected in OPERATORS]


@in_one_lake
def test_marlin_multiplies_by_packed_weights_wherever_a_version_has_them_among_its_inputs(tmp_path):
    a, packed, scales = ([4, 32], BF16), ([2, 128], "int"), ([1, 64], BF16)
    none, workspace, number = ([], ""), ([16], "int"), ([], "Scalar")
    zeros, bias = ([1, 8], "int"), ([64], BF16)
    versions = [
        ("_C::gptq_marlin_gemm", [a, packed, scales, zeros, none, none, workspace, *[number] * 8]),
        ("_C::gptq_marlin_gemm", [a, none, packed, scales, none, none, none, none, workspace, *[number] * 8]),
        ("_C::marlin_gemm", [a, none, packed, bias, scales, *[none] * 5, workspace, *[number] * 8]),
        # Weights that do not fit the inner dimension.
        ("_C::marlin_gemm", [a, none, ([4, 128], "int"), none, scales, *[none] * 5, workspace, *[number] * 8]),
    ]
    trace = Trace()
    for nth, (name, inputs) in enumerate(versions):
        trace.op(name, 10 * nth, 5, [dims for dims, _ in inputs], [of_type for _, of_type in inputs])
    lake = yield trace.write(tmp_path / "trace.json")
    # 2 x 4 x 64 x 32 FLOP. Bytes: 4 x 32 values of two, 2 x 128 of four (eight weights each), 4 x 64 of two.
    expected = (4, 64, 32, 2 * 4 * 64 * 32, 256 + 1024 + 512, "bf16")
    found = lake.rows("SELECT m, n, k, flop, bytes, dtype FROM trace_ops ORDER BY start_ns")
    assert [row for row in found if row[0]] == [expected] * 3


@pytest.mark.parametrize(
    ("name", "right", "element", "k"),
    [
        # Weights of nvfp4_gemm and of blocks in FP8 are [n, k], those of cuBLAS a view [k, n].
        ("trtllm::nvfp4_gemm", [16, 8], "unsigned char", 16),
        ("trtllm::fp8_block_scaling_gemm", [16, 8], FP8, 8),
        ("trtllm::cublas_scaled_mm", [8, 16], FP8, 8),
        ("trtllm::cublas_mm", [8, 16], BF16, 8),
        ("trtllm::dsv3_fused_a_gemm_op", [8, 16], BF16, 8),
    ],
)
@in_one_lake
def test_products_of_tensorrt_llm_have_the_operations_of_their_shapes(tmp_path, name, right, element, k):
    trace = Trace()
    trace.op(name, 10, 5, [[4, 8], right, [], []], [element, element, "float", "float"])
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.rows("SELECT m, n, k, flop FROM trace_ops") == [(4, 16, k, 2 * 4 * 16 * k)]


@pytest.mark.parametrize("name", ["sglang::fp4_gemm", "vllm::flashinfer_mm_fp4"])
@in_one_lake
def test_flashinfer_s_products_in_fp4_have_two_values_in_a_byte(tmp_path, name):
    trace = Trace()
    # The second matrix is a view: [k / 2, n]. Scales, a factor, the type of the result.
    dims = [[4, 8], [8, 16], [128, 4], [4, 16], [], [], []]
    trace.op(name, 10, 5, dims, ["unsigned char"] * 3 + [FP8, "float", "Scalar", "Scalar"])
    lake = yield trace.write(tmp_path / "trace.json")
    # 4 x 16 sums of 16 products; 4 x 8 and 8 x 16 bytes, and 4 x 16 values of two.
    found = lake.rows("SELECT m, n, k, flop, bytes, dtype FROM trace_ops")
    assert found == [(4, 16, 16, 2 * 4 * 16 * 16, 32 + 128 + 128, "fp4")]


@in_one_lake
def test_a_call_counts_once_whichever_of_its_operators_launch_kernels(tmp_path):
    trace = Trace()
    around = trace.op("aten::linear", 10, 30, [[4, 8], [16, 8], [16]])
    inside = trace.op("aten::mm", 14, 10, [[4, 8], [8, 16]])
    trace.kernel(GEMM, 15, 100, 4, inside)
    trace.kernel("elementwise_kernel", 30, 110, 4, around)
    # A graph's kernels are not those of the operator around its launch.
    graph = trace.op("aten::mm", 50, 10, [[4, 8], [8, 16]])
    for nth in range(2):
        trace.kernel(GEMM, 52, 200 + 10 * nth, 4, graph)
    trace.events[-1]["args"]["correlation"] = trace.events[-3]["args"]["correlation"]
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.rows("SELECT start_ns // 1000, flop FROM _device_ops ORDER BY start_ns") == [
        (100, 1024), (110, None), (200, None), (210, None)
    ]  # fmt: skip
    assert lake.rows("SELECT start_ns // 1000, group_flop FROM kernel_roofline ORDER BY start_ns") == [
        (100, 1024), (110, None), (200, None), (210, None)
    ]  # fmt: skip


@in_one_lake
def test_a_kernel_has_the_operations_of_the_counted_operator_around_the_one_that_launched_it(tmp_path):
    trace = Trace()
    trace.op("vllm::rocm_unquantized_gemm", 10, 30, [[4, 8], [16, 8], []])
    trace.kernel("wvSplitK_hf_sml_", 15, 100, 4, trace.op("_rocm_C::wvSplitK", 12, 20, [[16, 8], [4, 8], [], []]))
    # What only moves elements inside a product is no part of it.
    trace.op("vllm::rocm_unquantized_gemm", 50, 30, [[4, 8], [16, 8], []])
    trace.kernel("copy_kernel", 53, 110, 4, trace.op("aten::copy_", 52, 5, [[4, 8], [4, 8]]))
    # A kernel of another category prepares the product, however deep the operator that launched it.
    trace.kernel("quant_kernel", 61, 120, 4, trace.op("aiter::quant_of_rows", 60, 5, [[4, 8]]))
    trace.kernel(GEMM, 71, 130, 4, trace.op("aiter::gemm_asm_of_rows", 70, 5))
    lake = yield trace.write(tmp_path / "trace.json")
    # 2 x 4 x 8 x 16, at every level.
    expected = [(100, 1024), (110, None), (120, None), (130, 1024)]
    assert lake.rows("SELECT start_ns // 1000, flop FROM _device_ops ORDER BY start_ns") == expected
    assert lake.rows("SELECT start_ns // 1000, flop FROM kernel_roofline ORDER BY start_ns") == expected
    assert lake.rows("SELECT sum(flop) FROM op_families") == lake.rows("SELECT sum(flop) FROM trace_ops") == [(2048,)]


@pytest.mark.parametrize("trace", ["hf_qwen1.5-0.5b_h100", "sglang_qwen3-8b_prefill_mi300x"])
def test_kernels_have_the_operations_of_the_operators_that_the_shapes_tell(real_lake, trace):
    lake = real_lake(f"kineto/{trace}.json.gz")
    [(kernels, operators)] = lake.rows(
        "SELECT (SELECT sum(flop) FROM ops), (SELECT sum(flop) FROM trace_ops WHERE flop_source = 'shape')"
    )
    assert kernels == operators > 0


def test_xla_counts_no_less_than_the_products_alone_and_hardly_more(real_lake):
    lake = real_lake("jax/tpu_inference_k1.trace.json.gz")
    [(texts, found, least, most)] = lake.rows(
        "SELECT count(*), count(shape_flop), min(shape_flop / xla_model_flop), max(shape_flop / xla_model_flop) "
        "FROM _op_texts WHERE hlo_category = 'convolution fusion'"
    )
    # In 64 the halves of the first operand are multiplied with each other before; no shape tells that.
    assert (texts, found) == (257, 193)
    assert 0.998 < least <= most <= 1
    # 2 x 1024 x 27648 x 5120; XLA adds 6 for each of the 1024 x 5120 elements that it scales first.
    query = "SELECT xla_model_flop, shape_flop FROM _op_texts WHERE name = 'convolution_bitcast_fusion.62'"
    assert lake.rows(query) == [(289941749760, 289910292480)]
    assert lake.rows("SELECT DISTINCT flop_source FROM ops WHERE hlo_category = 'convolution fusion'") == [
        ("model_flops",)
    ]


def gigaflops(trace, table):
    """Return TraceLens' GFLOP of a trace's operators: of each row its count, of one call, and its parameters."""
    path = DATA / "peer-golden" / trace / f"{table}.csv"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    with path.open(newline="") as lines:
        return [(row["name"], int(row["name_count"]), float(row["GFLOPS_first"]), row) for row in csv.DictReader(lines)]


@pytest.mark.parametrize("trace", ["hf_qwen1.5-0.5b_h100", "sglang_qwen3-8b_prefill_mi300x"])
def test_tracelens_counts_the_same_products(real_lake, trace):
    lake = real_lake(f"kineto/{trace}.json.gz")
    expected = {}
    for name, calls, gflop, row in gigaflops(trace, "GEMM"):
        # It counts the addition of the bias; and under another name what calls aten::mm once more.
        bias = int(row["param: M"]) * int(row["param: N"]) / 1e9 if row["param: bias"] == "True" else 0
        if name.startswith("aten::"):
            expected[name] = expected.get(name, 0) + calls * (gflop - bias)
    found = dict(
        lake.rows(
            "SELECT op_name, sum(ops.flop) / 1e9 FROM _device_ops AS ops JOIN kernels USING (trace_id, kernel_id) "
            "WHERE kernels.category = 'gemm' AND ops.flop IS NOT NULL GROUP BY op_name"
        )
    )
    assert found == pytest.approx(expected, rel=1e-12)
    assert found


def test_tracelens_takes_half_of_all_pairs_for_causal_attention(real_lake):
    trace = "hf_qwen1.5-0.5b_h100"
    lake = real_lake(f"kineto/{trace}.json.gz")
    [(_, calls, gflop, _)] = gigaflops(trace, "SDPA_fwd")
    [(found,)] = lake.rows("SELECT sum(flop) / 1e9 FROM ops WHERE category = 'attention'")
    # 559 tokens: 559 x 560 / 2 pairs against 559 x 559 / 2.
    assert found == pytest.approx(calls * gflop * 560 / 559, rel=1e-9)
