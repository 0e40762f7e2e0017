"""What kernels should have cost: FLOP, bytes, types and roofs by hand, real traces, and another tool's tables.

The H100 of the made-up traces multiplies BF16 at 989 TFLOP/s and FP8 at 1979, and reads 3350 GB/s.
"""

import csv

import pytest

import tracelake

from ...kernel_traces import GEMM, Trace, one_layer_model, tiny_config
from ...lakes import Files, in_one_lake, ingest_at_once
from ...support import DATA, data_file

SQUARE = [[1024, 1024], [1024, 1024]]
SQUARE_FLOP = 2 * 1024**3
FP8 = "c10::Float8_e4m3fn"
EXPERTS = [[6, 16], [8, 8, 16], [8, 16, 4], [6, 2], [6, 2]]
FLASH = ["", "", "", "0.", "True", "False", ""]
FLASH_OP = "aten::_scaled_dot_product_flash_attention"
FLASH_KERNEL = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t>>"
COPY = "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>"


def made_up():
    """Return operators and their kernels, each by a name."""
    found = {}

    def case(name, op, dims, kernels, types=None, values=None, **said):
        found[name] = trace = Trace()
        said_by = trace.op(op, 10, 50, dims, types, values)
        at = 100.0
        for nth, (kernel, dur, *cat) in enumerate(kernels):
            trace.kernel(kernel, 12 + 3 * nth, at, dur, said_by, cat=cat[0] if cat else "kernel", **said)
            at += dur

    case("product", "aten::mm", SQUARE, [(GEMM, 10)])
    case("row", "aten::mm", [[1, 1024], [1024, 1024]], [(GEMM, 2)])
    case("too quick", "aten::mm", SQUARE, [(GEMM, 1)])
    case("split", "aten::mm", SQUARE, [(GEMM, 9), ("void cublasLt::splitKreduce_kernel<32, 16>", 1)])
    case("zeroed", "aten::mm", SQUARE, [("Memset (Device)", 1, "gpu_memset"), (GEMM, 10)])
    case(
        "two experts",
        "vllm::outplace_fused_experts",
        EXPERTS,
        [("moe_align_block_size_kernel", 1), ("fused_moe_kernel", 4), ("fused_moe_kernel", 2)],
    )
    case("tf32", "aten::mm", SQUARE, [("cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4", 10)], ["float"] * 2)
    dgemm = "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize64x64x16_cublas"
    case("fp64", "aten::mm", SQUARE, [(dgemm, 40)], ["double"] * 2)
    case("fp32", "aten::mm", SQUARE, [("ampere_sgemm_128x64_tn", 100)], ["float"] * 2)
    case(
        "fp8",
        "aten::_scaled_mm",
        [*SQUARE, [], []],
        [("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32", 10)],
        [FP8] * 2 + [""] * 2,
    )
    case("silu", "aten::silu", [[1024, 1024]], [("void at::native::vectorized_elementwise_kernel<4, silu_kernel>", 2)])
    case(
        "add",
        "aten::add",
        [[1024, 1024], [1024, 1], []],
        [("void at::native::elementwise_kernel<128, 4, CUDAFunctor_add>", 3)],
    )
    case("cast", "aten::copy_", [[1024], [1024], []], [(COPY, 2)], ["c10::BFloat16", "float", "Scalar"])
    case("copy", "aten::copy_", None, [("Memcpy DtoD (Device -> Device)", 2, "gpu_memcpy")], bytes=1000)
    case("upload", "aten::copy_", None, [("Memcpy HtoD (Pinned -> Device)", 2, "gpu_memcpy")], bytes=1000)
    gather, chosen = "_scatter_gather_elementwise_kernel<128, 4>", "indexSelectLargeIndex<float, int, unsigned int, 1>"
    case("vector gather", "aten::gather", [[200], [], [44802], []], [(gather, 4)], ["float", "", "long", ""])
    case("expanded gather", "aten::gather", [[9000, 64], [], [32, 64]], [(gather, 4)], ["float", "", "long"])
    case("vector select", "aten::index_select", [[755000], [], [1024]], [(chosen, 5)], ["float", "", "int"])
    case("rows select", "aten::index_select", [[9000, 64], [], [32], [32, 64]], [(chosen, 5)], ["float", "", "int"])
    case("embedding", "aten::embedding", [[9000, 64], [4, 8], [], []], [(chosen, 5)], ["float", "long", "", ""])
    case("short table", "aten::embedding", [[10, 64], [4, 8], [], []], [(chosen, 5)], ["float", "long", "", ""])
    scale = "void at::native::vectorized_elementwise_kernel<4, AUnaryFunctor<MulFunctor<float>>>"
    case("mul out", "aten::mul", [[1024, 1705], [], [1024, 1705]], [(scale, 30)], ["float", "double", "float"])
    case(
        "tf32 split",
        "aten::mm",
        SQUARE,
        [
            ("cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4", 9),
            ("void splitKreduce_kernel<float, float, float, float, true, false, false>", 1),
        ],
        ["float"] * 2,
    )
    case("flash", FLASH_OP, [[2, 4, 6, 8]] * 3, [(FLASH_KERNEL, 5)], values=FLASH)
    case("alone", "myop::unknown", None, [(GEMM, 5)])
    return found  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Ask for columns of kernel_roofline, of the kernels of one made-up operator in time order."""
    folder = tmp_path_factory.mktemp("kernels")
    lake = tracelake.open(folder / "lake")
    (folder / "lake" / "lookup").mkdir(exist_ok=True)
    (folder / "lake" / "lookup" / "attainable.csv").write_text(
        "hardware,dtype,batch,m,n,k,latency_us,source\nh100_sxm,bf16,1,1024,1024,1024,4,a library\n"
    )
    lake.ingest(*(trace.write(folder / f"{name}.json") for name, trace in made_up().items()))

    def ask(name, columns):
        return lake.rows(
            f"SELECT {columns} FROM kernel_roofline WHERE trace_id = (SELECT trace_id FROM traces WHERE trace = $1)"
            " ORDER BY start_ns",
            [name],
        )

    yield ask
    lake.close()


def test_a_product_by_hand(rows):
    # 2 x 1024^3 FLOP in 10 µs; three matrices of 2 MiB. At 989 TFLOP/s they take 2.17 µs, at 3350 GB/s 1.88 µs.
    [found] = rows(
        "product",
        "batch, m, n, k, flop, bytes, tflops, mfu, gbps, mbu, compute_us, memory_us, roof_us, gap_us, roofline_eff,"
        " bound, intensity, ridge, dtype, dtype_source, map_rule, flag_over_100",
    )
    compute_us, memory_us = SQUARE_FLOP / 989e6, 3 * 2**21 / 3350e3
    assert found == (
        1, 1024, 1024, 1024, SQUARE_FLOP, 3 * 2**21, pytest.approx(SQUARE_FLOP / 10e6),
        pytest.approx(compute_us / 10), pytest.approx(3 * 2**21 / 10e3), pytest.approx(memory_us / 10),
        pytest.approx(compute_us), pytest.approx(memory_us), pytest.approx(compute_us), pytest.approx(10 - compute_us),
        pytest.approx(compute_us / 10), "compute", pytest.approx(1024 / 3), pytest.approx(989e3 / 3350), "bf16",
        "inputs", "correlation", False,
    )  # fmt: skip


def test_one_row_is_bound_by_the_weights_it_reads(rows):
    [found] = rows("row", "flop, bytes, bound, roof_us")
    moved = 2 * (1024 + 1024**2 + 1024)
    assert found == (2 * 1024**2, moved, "memory", pytest.approx(moved / 3350e3))


def test_what_exceeds_the_peak_is_flagged_with_causes_and_kept(rows):
    [(mfu, mbu, flag, causes)] = rows("too quick", "mfu, mbu, flag_over_100, over_100_causes")
    assert mfu == pytest.approx(SQUARE_FLOP / 989e6) and mfu > 2  # noqa: PT018
    assert mbu > 1 and flag  # noqa: PT018
    assert causes.split(";") == [
        "below_nominal_clock", "kernel_missing_from_group", "read_from_cache", "wrong_hardware", "wrong_peak_dtype"
    ]  # fmt: skip
    assert rows("product", "over_100_causes") == [(None,)]


def test_a_product_that_is_split_and_summed_up_counts_once_on_the_group(rows):
    found = rows(
        "split", "flop, mfu, group_flop, group_us, group_share, group_kernels, group_tflops, kernel_id = group_id"
    )
    shared = (SQUARE_FLOP, 10.0)
    assert found == [
        (None, None, *shared, 0.9, 2, pytest.approx(SQUARE_FLOP / 10e6), True),
        (None, None, *shared, 0.1, 2, pytest.approx(SQUARE_FLOP / 10e6), False),
    ]


def test_a_fill_that_a_library_makes_before_a_product_is_no_part_of_its_time(rows):
    assert rows("zeroed", "map_rule, flop, m, group_us, group_share") == [
        ("overhead", None, None, 10.0, None), ("correlation", SQUARE_FLOP, 1024, 10.0, 1.0)
    ]  # fmt: skip


def test_two_kernels_of_fused_experts_have_the_flop_of_their_product_each(rows):
    # 12 rows through 16 -> 8, then 4 -> 16.
    assert rows("two experts", "flop, group_flop, group_kernels, unit") == [
        (None, None, 2, "permute"), (2 * 12 * 16 * 8, 2 * 12 * (16 * 8 + 4 * 16), 2, "experts"),
        (2 * 12 * 4 * 16, 2 * 12 * (16 * 8 + 4 * 16), 2, "experts"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype", "source", "peak"),
    [
        ("product", "bf16", "inputs", 989),
        # FP32 operands are multiplied as TF32 or as FP32, which only the kernel's name tells.
        ("fp64", "fp64", "inputs", 67),
        ("tf32", "tf32", "inputs", 494.7),
        ("fp32", "fp32", "inputs", 67),
        ("fp8", "fp8", "inputs", 1979),
        ("flash", "bf16", "inputs", 989),
    ],
)
def test_the_peak_is_that_of_the_type_that_the_kernel_multiplies(rows, name, dtype, source, peak):
    assert rows(name, "dtype, dtype_source, peak_tflops") == [(dtype, source, peak)]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2", "fp8"),
        ("bmm_Bfloat16_E2m1E2m1_Fp32_t128x16x256", "fp4"),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "bf16"),
        ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<7168u>", "fp8"),
        ("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", "bf16"),
        ("nvjet_qqtst_128x128_128x6", "fp8"),
        ("nvjet_hsh_128x256_64x4_2x1", "fp16"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64", "bf16"),
        ("Cijk_Alik_Bljk_HHS_BH_Bias_MT256x192x64", "fp16"),
        ("Cijk_Alik_Bljk_F8BS_BH_Bias_MT256x192x64", "fp8"),
        # Tensile writes the types of operands, result and sums in this order; the S of _HA_S_SAV is no type.
        ("Cijk_Alik_Bljk_BSS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64", "bf16"),
        ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64", "bf16"),
        ("Cijk_Alik_Bljk_HSS_BH_Bias_HA_S_SAV_UserArgs_MT96x32x32", "fp16"),
        ("Cijk_Ailk_Bljk_I8II_BH_Bias_HA_S_SAV_UserArgs_MT128x64x32", "int8"),
        ("Cijk_Alik_Bljk_B8F8S_BH_Bias_HA_S_SAB_SAV_UserArgs_MT128x128x128", "fp8"),
        ("Cijk_Alik_Bljk_SB_MT64x32x16", "fp32"),
        ("Cijk_Alik_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT128x128x32", "fp32"),
        # XF32, AMD's name of TF32.
        ("Cijk_Alik_Bljk_S_MX_B_Bias_HA_S_SAV_UserArgs_MT128x128x32", "tf32"),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8", "fp16"),
        ("sm90_xmma_gemm_i8i32_i8i32_i32_tn_n_int8", "int8"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x128_64x3_tn_align16>", "int8"),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_i161616gemm_s8_64x64_128x2_tn_align4>", "int8"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_i16864gemm_s4_256x128_128x3_tn_align32>", None),
        # Four-bit operands with scales in FP8 (UE4M3), of cuBLASLt and CUTLASS.
        ("nvjet_sm100_ootst_128x256_256x7_4x1_2cta_v_bx_Avec16UE4M3_Bvec16UE4M3_TNT", "fp4"),
        ("nvjet_sm100_oohsh_128x256_256x5_2x2_2cta_h_bz_Avec16UE4M3_Bvec16UE4M3_TNT", "fp4"),
        ("cutlass3x_sm100_bstensorop_s256x192x64gemm_block_scaled_ue4m3xf4_ue4m3xf4_f32_f16_f16_256x192x256_0", "fp4"),
        # CUTLASS writes <scale>x<element> for each operand, then the types of sums, C and D.
        ("cutlass3x_sm100_bstensorop_gemm_ue4m3xe2m1_ue4m3xe2m1_f32_bf16_bf16_256x128x256_0_tnn_align32_o", "fp4"),
        ("cutlass3x_sm120_bstensorop_s16864gemm_block_scaled_ue8m0xe2m1_ue8m0xe2m1_f32_f16_e5m2_128x128x256", "fp4"),
        ("cutlass3x_sm100_bstensorop_gemm_ue4m3xe2m1_ue4m3xe2m1_f32_void_ue8m0xe2m1_128x128x256", "fp4"),
        ("cutlass3x_sm100_bstensorop_gemm_ue8m0xe2m1_ue8m0xe2m3_f32_bf16_bf16_256x128x128", "fp8"),
        ("cutlass3x_sm100_bstensorop_gemm_ue8m0xe3m2_ue8m0xe2m1_f32_void_bf16_256x128x128", "fp8"),
        ("SM120_16x8x64_TN_VS<cutlass::float_e2m1_t, cutlass::float_e2m1_t, float, cutlass::float_ue4m3_t>", "fp4"),
        ("nvjet_sm100_qqtst_128x256_128x6_2x2_2cta_h_bz_Avec32UE8M0_Bvec32UE8M0_TNT", "fp8"),
        ("cutlass3x_sm120_bstensorop_s16832gemm_block_scaled_ue8m0xe4m3_ue8m0xe4m3_f32_bf16_bf16_128x128x128", "fp8"),
        # Four-bit weights, widened: their scales are in FP8 too.
        ("w4a16_gemm<cutlass::half_t, cutlass::float_e2m1_t, cutlass::float_ue4m3_t>", "fp16"),
        # aiter: beside the type of the operands stands that of the result.
        ("_ZN5aiter42f4gemm_bf16_per1x32Fp4_BpreShuffle_128x512E", "fp4"),
        ("mfma_moe1_silu_mul_afp4_wfp4_bf16_t64x128x256", "fp4"),
        ("_ZN5aiter50fmoe_bf16_pertokenMXfp4_g1u1_flat_novs_silu_16x256E", "fp4"),
        ("_ZN5aiter48fmoe_bf16_pertokenFp8_g1u1_silu_1tg_32x256E", "fp8"),
        ("_ZN5aiter41I8gemm_bf16_perTokenI8_BpreShuffle_16x128E", "int8"),
        ("_gemm_afp4wfp4_kernel", "fp4"),
        # FlashInfer and TensorRT-LLM: the same, and beside them FP8 times FP4, which runs at the rate of FP8.
        ("void cutlass::device_kernel<flashinfer::gemm::DeviceGemmFp4GemmSm100_half_128_128_256_1_1_1_1SM>", "fp4"),
        ("void cutlass::device_kernel<flashinfer::gemm::DeviceGemmFp4GemmSm120<__nv_bfloat16, cute::tuple>>", "fp4"),
        ("void device_kernel<DeviceGemmMXFP8xMXFP4GemmSm100<__nv_bfloat16, cute::C<128>>>", "fp8"),
        ("void deep_gemm::sm100_fp8_fp4_gemm_1d1d_impl<7168u>", "fp8"),
        ("flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32", "fp8"),
        # FlashMLA widens its FP8 cache, and TensorRT-LLM its 8-bit weights, before they are multiplied.
        ("sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<KernelTemplate>", "bf16"),
        ("weight_only::kernel<KernelDetails<weight_only::BF16DetailsA, weight_only::Int8DetailsW>>", "bf16"),
        ("weight_only::kernel<KernelDetails<weight_only::FP16DetailsA, weight_only::Int8DetailsW>>", "fp16"),
        # Result, then operands: not the query and the keys of an attention.
        ("void gemm_kernel<__nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e4m3>", "fp8"),
        # The type of the cache is an argument of the template, not of the product.
        (
            "paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>",
            "bf16",
        ),
    ],
)
def test_names_of_kernels_tell_types(name_mark, name, dtype):
    assert name_mark(name, "dtype") == dtype


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("_ZN5aiter26pa_p16_d128_reduce_ps_bf16E", "combine"),
        ("_ZN5aiter34pa_p16_d128_8w_reduce_ps_auto_bf16E", "combine"),
        ("void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128, 128, 256, 1>", "combine"),
        ("_ZN5aiter42PA_A16W8_BLK1024_1TG_4W_16mx1_64nx4_MTP_PSE", None),
    ],
)
def test_names_of_kernels_tell_what_sums_up_the_parts_of_attention(name_mark, name, mark):
    assert name_mark(name, "combine") == mark


@pytest.fixture(scope="module")
def name_mark(tmp_path_factory):
    lake = tracelake.open(tmp_path_factory.mktemp("names") / "lake")

    def ask(name, mark):
        return lake.rows(
            "SELECT arg_min(value, priority) FROM kernel_marks WHERE mark = $2 AND regexp_matches(lower($1), pattern)",
            [name, mark],
        )[0][0]

    yield ask
    lake.close()


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("silu", 2 * 2 * 1024**2),  # read and written
        ("add", 2 * (2 * 1024**2 + 1024)),  # the second operand is a column
        ("cast", 1024 * (2 + 4)),
        ("copy", 2000),  # read and written on the device
        ("upload", 1000),
        ("flash", 2 * 4 * 2 * 4 * 6 * 8),  # query, keys, values and result
        ("vector gather", 800 + 44802 * (4 + 8)),  # the table once, each element written, its place
        ("expanded gather", 2 * 32 * 64 * 4 + 32 * 8),  # places are a column, seen 64 times
        ("vector select", 1024 * (4 + 4 + 4)),  # one element a place, not 755000
        ("rows select", 2 * 32 * 64 * 4 + 32 * 4),
        ("embedding", 2 * 32 * 64 * 4 + 32 * 8),  # places in two dimensions
        ("short table", (10 + 32) * 64 * 4 + 32 * 8),  # no more is read than the table has
        ("mul out", 2 * 4 * 1024 * 1705),  # what is named last is written, not read
    ],
)
def test_bytes_are_each_tensor_once(rows, name, moved):
    assert rows(name, "bytes") == [(moved,)]


def test_a_copy_from_the_host_has_no_roof_of_the_device_s_memory(rows):
    # The link between them is the limit, not the 3350 GB/s of the memory, which a copy within the device has.
    columns = "unit, gbps, roof_us, gap_us, bound"
    assert rows("upload", columns) == [("copy HtoD", 0.5, None, None, None)]
    assert rows("copy", columns) == [("copy", 1, pytest.approx(2000 / 3350e3), pytest.approx(2 - 2000 / 3350e3),
                                      "memory")]  # fmt: skip


def test_what_sums_up_a_split_product_is_held_against_its_peak(rows):
    # 2 x 1024^3 FLOP in 10 us are 215 TFLOP/s: more than the 67 of FP32, less than the 495 of TF32.
    found = rows("tf32 split", "dtype, peak_tflops, flag_over_100")
    assert len(found) == 2
    assert all((dtype, flag) == ("tf32", False) and peak > 400 for dtype, peak, flag in found)


def test_what_multiplies_nothing_has_a_roof_of_bytes(rows):
    [found] = rows("silu", "flop, dtype, roof_us, bound, mfu")
    assert found == (None, None, pytest.approx(2 * 2 * 1024**2 / 3350e3), "memory", None)


def test_a_kernel_whose_operator_has_no_rule_has_no_work_and_no_roof(rows):
    assert rows("alone", "flop, flop_source, bytes, roof_us, map_rule") == [(None, "none", None, None, "correlation")]


def test_a_measured_latency_of_the_shape_is_put_beside(rows):
    assert rows("product", "attainable_us, attainable_eff") == [(4, 0.4)]
    assert rows("row", "attainable_us") == [(None,)]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A lake of the real traces with shapes, the capture that belongs to a replay among them."""
    lake = tracelake.open(tmp_path_factory.mktemp("real") / "lake")
    names = (
        "hf_qwen1.5-0.5b_h100", "sglang_qwen3-8b_prefill_mi300x", "sglang_qwen3-8b_decode_mi300x",
        "sglang_qwen3-8b_decode_capture_mi300x", "vllm_gpt-oss_prefill_tp_b200", "deepseek-v3_train_h800",
    )  # fmt: skip
    settings = {
        "vllm_gpt-oss_prefill_tp_b200": {"model": "openai/gpt-oss-120b", "tp": 8},
        "sglang_qwen3-8b_decode_mi300x": {"model": "Qwen/Qwen3-8B"},
    }
    ingest_at_once(lake, {data_file(f"kineto/{name}.json.gz"): settings.get(name, {}) for name in names})
    yield lake
    lake.close()


def test_qwen_on_an_h100_reaches_63_percent_in_its_products(real):
    # Specification 8.6: 8,854.71 µs, 622.78 TFLOP/s, 62.97 % of 989.
    [found] = real.rows(
        "SELECT sum(dur_us), sum(flop) / sum(dur_us) / 1e6, sum(compute_us) / sum(dur_us), any_value(dtype)"
        " FROM kernel_roofline WHERE trace_id = $1 AND flop IS NOT NULL AND dtype = 'bf16' AND unit IS DISTINCT FROM"
        " 'attention'",
        [real.resolve("hf_qwen1.5-0.5b_h100")],
    )
    assert found == (pytest.approx(8854.707), pytest.approx(622.78, abs=0.005), pytest.approx(0.6297, abs=5e-5), "bf16")


def test_a_replayed_graph_takes_shapes_from_its_capture_and_pairs_from_its_own_annotation(real):
    # Specification 8.6: time of the five products in 36 layers and of attention with its reduction, µs.
    found = {
        unit: (kernels, us, flop)
        for unit, kernels, us, flop in real.rows(
            "SELECT unit, count(*), sum(dur_us), sum(group_flop) FILTER (kernel_id = group_id) FROM kernel_roofline"
            " WHERE trace_id = $1 AND dtype IS NOT NULL AND map_rule = 'graph_capture' GROUP BY unit",
            [real.resolve("sglang_qwen3-8b_decode_mi300x")],
        )
    }
    expected = {
        "qkv_proj": (36, 903.5, 36 * 1_610_612_736), "o_proj": (36, 602.3, 36 * 1_073_741_824),
        "gate_up_proj": (36, 2417.7, 36 * 6_442_450_944), "down_proj": (36, 1461.9, 36 * 3_221_225_472),
        "lm_head": (1, 396.8, 39_829_110_784), "attention": (72, 2127.9, 36 * 537_149_440),
    }  # fmt: skip
    assert found == {
        unit: (kernels, pytest.approx(us, abs=0.06), flop) for unit, (kernels, us, flop) in expected.items()
    }
    assert sum(us for unit, (_, us, _) in found.items() if unit != "attention") == pytest.approx(5782.257)
    # 36 layers' keys and values, queries and results: 128.566 MiB each.
    [(moved,)] = real.rows(
        "SELECT DISTINCT group_bytes FROM kernel_roofline WHERE trace_id = $1 AND unit = 'attention'",
        [real.resolve("sglang_qwen3-8b_decode_mi300x")],
    )
    assert moved / 2**20 == pytest.approx(128.566, abs=5e-4)


def test_products_and_experts_of_a_rank_of_gpt_oss(real):
    trace_id = real.resolve("vllm_gpt-oss_prefill_tp_b200")
    # Specification 8.6: 784.76 µs, 300.5 TFLOP/s, 13.4 % of 2250.
    [found] = real.rows(
        "SELECT sum(dur_us), sum(flop) / sum(dur_us) / 1e6, sum(compute_us) / sum(dur_us) FROM kernel_roofline"
        " WHERE trace_id = $1 AND n IS NOT NULL",
        [trace_id],
    )
    assert found == (pytest.approx(784.762), pytest.approx(300.5, abs=0.05), pytest.approx(0.134, abs=5e-4))
    # Experts of a rank and layer by the template: 22,096,281,600. Four-bit weights times FP8 run at the peak of FP8.
    assert real.rows(
        "SELECT DISTINCT a.flop + b.flop, a.dtype, a.flop_source, a.peak_tflops FROM kernel_roofline AS a"
        " JOIN kernel_roofline AS b USING (trace_id, pass_id, layer_id) WHERE a.unit = 'routed_gate_up'"
        " AND b.unit = 'routed_down' AND trace_id = $1",
        [trace_id],
    ) == [(22_096_281_600, "fp8", "template", 4500)]


def peer_products(name):
    """Return FLOP in G, µs of all calls, calls and MiB moved by name and shape, as TraceLens prints them."""
    path = DATA / "peer-golden" / name / "GEMM.csv"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    with path.open(encoding="utf-8") as lines:
        return {
            (row["name"], int(row["param: M"]), int(row["param: N"]), int(row["param: K"])): (
                float(row["GFLOPS_first"]), float(row["Kernel Time (µs)_sum"]), int(row["name_count"]),
                float(row["Data Moved (MB)_first"]),
            )
            for row in csv.DictReader(lines)
        }  # fmt: skip


def products_of(real, name):
    """Return the same of ours, and the time of all that these operators launched."""
    return {
        (op, rows, columns, inner): measured
        for op, rows, columns, inner, *measured in real.rows(
            "WITH launched AS (SELECT op_id, sum(dur_ns) / 1000 AS us FROM kernels WHERE trace_id = $1 GROUP BY op_id)"
            " SELECT trace_op, batch * m, n, k, any_value(flop) / 1e9, sum(kernel_roofline.dur_us), count(*),"
            " any_value(bytes) / 1048576, sum(us), sum(flop) / sum(kernel_roofline.dur_us) / 1e6 FROM kernel_roofline"
            " JOIN kernels USING (trace_id, kernel_id) JOIN launched USING (op_id)"
            " WHERE trace_id = $1 AND n IS NOT NULL GROUP BY trace_op, batch, m, n, k",
            [real.resolve(name)],
        )
    }


def test_products_are_as_tracelens_prints_them_on_an_mi300x(real):
    name = "sglang_qwen3-8b_prefill_mi300x"
    # It lists the wrapper around a product as well: aiter::gemm_a16w16 holds aten::mm.
    theirs = {key: row for key, row in peer_products(name).items() if key[0] == "aten::mm"}
    ours = products_of(real, name)
    assert ours.keys() == theirs.keys()
    for key, (gflop, us, calls, mib) in theirs.items():
        assert ours[key][:4] == [pytest.approx(gflop), pytest.approx(us), calls, pytest.approx(mib)]
        assert ours[key][5] == pytest.approx(gflop * calls / us * 1e3, rel=0.01)


def test_products_are_as_tracelens_prints_them_on_an_h100_but_for_fills_and_biases(real):
    name = "hf_qwen1.5-0.5b_h100"
    theirs = peer_products(name)
    ours = products_of(real, name)
    # Its products of one row of the batch are ours of 32 rows: it counts the batch as rows.
    assert ours.keys() == theirs.keys()
    for key, (gflop, us, calls, mib) in theirs.items():
        # It adds M x N for a bias: 0.05 % here.
        assert ours[key][0] == pytest.approx(gflop, rel=1e-3)
        assert ours[key][2] == calls
        assert ours[key][3] == pytest.approx(mib, rel=1e-3)
        # Its time holds the fill that cuBLAS makes before each product, 1 to 3 % of it, and so its rates.
        assert ours[key][4] == pytest.approx(us, rel=1e-4)
        assert gflop * calls / ours[key][4] * 1e3 == pytest.approx(gflop * calls / us * 1e3, rel=0.01)
        assert ours[key][1] <= us


@in_one_lake
def test_kernels_of_an_npu_have_the_work_of_their_own_row(tmp_path):
    lake = yield Files(data_file("ascend/kernel_details_training_910b_arithmetic.csv"), hardware="ascend_910b2")
    # MatMul91: 4096 x 12288 by the transpose of 4608 x 12288, half precision, 1478.18 µs; the chip has 376 TFLOP/s.
    [found] = lake.rows(
        "SELECT m, n, k, flop, bytes, dtype, mfu, map_rule, flop_source FROM kernel_roofline"
        " JOIN kernels USING (trace_id, kernel_id) WHERE name = 'MatMul91' AND dur_ns = 1478180"
    )
    flop = 2 * 4096 * 4608 * 12288
    moved = 2 * (4096 * 12288 + 4608 * 12288 + 4096 * 4608)
    mfu = pytest.approx(flop / 1478.18e-6 / 376e12)
    assert found == (4096, 4608, 12288, flop, moved, "fp16", mfu, "correlation", "shape")


@in_one_lake
def test_operations_of_a_tpu_have_the_work_that_their_events_tell(tmp_path):
    lake = yield Files(data_file("jax/tpu_inference_k1.trace.json.gz"), hardware="tpu_v6e")
    [(flop, source, rule)] = lake.rows(
        "SELECT sum(flop), any_value(flop_source), any_value(map_rule) FROM kernel_roofline WHERE category = 'gemm'"
    )
    told = lake.rows(
        "SELECT sum(CAST(args ->> '$.model_flops' AS BIGINT)) FROM events JOIN kernels USING (trace_id)"
        " WHERE event_id = kernel_id AND kernels.category = 'gemm'"
    )
    assert (flop, source, rule) == (told[0][0], "profiler", "correlation")
    # No operator is known of these: each category is a row of its own, with all of its time.
    named = lake.rows(
        "SELECT kernel_category, sum(kernel_count), round(sum(sum_us), 6) FROM op_roofline"
        " WHERE coalesce(unit, trace_op) IS NULL GROUP BY ALL ORDER BY ALL"
    )
    assert named == lake.rows(
        "SELECT category, count(*), round(sum(dur_us), 6) FROM kernel_roofline ANTI JOIN enclosing_kernels"
        " USING (trace_id, kernel_id) WHERE coalesce(unit, trace_op) IS NULL GROUP BY ALL ORDER BY ALL"
    )
    assert "gemm" in {category for category, *_ in named}
    assert lake.rows("SELECT count(*) FROM op_roofline WHERE kernel_category IS NOT NULL AND unit IS NOT NULL") == [
        (0,)
    ]


def test_layers_and_passes_add_up_what_their_kernels_tell(real):
    trace_id = real.resolve("sglang_qwen3-8b_prefill_mi300x")
    [(flop, tflops, mfu, peak)] = real.rows(
        "SELECT flop, tflops, mfu, peak_tflops FROM pass_mfu WHERE trace_id = $1 AND time_basis = 'busy'", [trace_id]
    )
    # Specification 8.6: (213.3926 + 36 x 0.128975) TFLOP in 0.4927736 s of the whole trace; 442.5 TFLOP/s.
    assert flop == 213_392_645_160_960 + 36 * 128_974_848_000
    assert (tflops, mfu, peak) == (pytest.approx(442.5, abs=0.1), pytest.approx(tflops / 1307.4), pytest.approx(1307.4))
    layers = real.rows(
        "SELECT count(*), min(flop), max(flop), sum(mapped_us), sum(overhead_us), sum(unmapped_us), sum(sum_us)"
        " FROM layer_roofline WHERE trace_id = $1",
        [trace_id],
    )
    [(count, least, most, mapped, overhead, unmapped, total)] = layers
    assert (count, least, most) == (36, 5_927_054_868_480 + 128_974_848_000, 5_927_054_868_480 + 128_974_848_000)
    assert mapped + overhead + unmapped == pytest.approx(total)


def test_the_decode_is_bound_by_memory(real):
    [(mfu, eff)] = real.rows(
        "SELECT mfu, roofline_eff FROM pass_mfu WHERE trace_id = $1 AND time_basis = 'busy'",
        [real.resolve("sglang_qwen3-8b_decode_mi300x")],
    )
    # Specification 8.6: MFU 3.9 %; 38.6 % of the bandwidth by weights and cache alone, activations come on top.
    assert mfu == pytest.approx(0.039, abs=0.001)
    assert 0.386 < eff < 0.40


def test_mixed_types_are_weighed_by_their_flop(real):
    [(flop, peak_us, peak, cluster, gpus)] = real.rows(
        "SELECT flop, peak_us, peak_tflops, cluster_mfu, gpus FROM pass_mfu WHERE trace_id = $1 AND time_basis = 'sum'",
        [real.resolve("vllm_gpt-oss_prefill_tp_b200")],
    )
    products, experts = 235_838_453_760, 36 * 22_096_281_600
    attention = flop - products - experts
    # Products in BF16 at 2250, experts and attention in FP8 at 4500 TFLOP/s.
    assert peak_us == pytest.approx(products / 2250e6 + (experts + attention) / 4500e6)
    assert peak == pytest.approx(flop / peak_us / 1e6)
    assert gpus == 8 and 0 < cluster < 1  # noqa: PT018


def test_time_is_conserved_to_the_nanosecond_in_every_pass(real):
    parts = real.rows("SELECT mapped_us, overhead_us, unmapped_us, sum_us FROM pass_mfu")
    assert len(parts) >= 12
    assert all(sum(round(1000 * us) for us in row[:3]) == round(1000 * row[3]) for row in parts)
    # The training trace tells no shapes: what is neither launched by a known operator nor overhead stays visible.
    [(unmapped,)] = real.rows(
        "SELECT sum(unmapped_us) FROM pass_mfu WHERE trace_id = $1 AND time_basis = 'sum'",
        [real.resolve("deepseek-v3_train_h800")],
    )
    assert unmapped > 0
    assert [name for name, _ in real.broken_invariants() if name.startswith("_work")] == []


def test_what_is_known_without_shapes_comes_from_the_template_and_is_marked(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(one_layer_model(tmp_path, "bare", with_shapes=False))
    lake.set("bare", model=str(tiny_config(tmp_path)))
    found = lake.rows(
        "SELECT unit, map_rule, flop, flop_source, dtype FROM kernel_roofline WHERE layer_id = 0 ORDER BY start_ns"
    )
    # 64 tokens: 256 -> 8 heads of 64 and 256 -> 2 x 512 -> 256; 64 x 65 / 2 pairs in 4 heads of 64 + 64.
    assert found == [
        ("norm", "category", None, "none", None),
        ("qkv_proj", "position", 2 * 64 * 256 * 512, "template", "bf16"),
        ("attention", "category", 2 * 2080 * 4 * 128, "template", "bf16"),
        ("o_proj", "position", 2 * 64 * 256 * 256, "template", "bf16"),
        ("gate_up_proj", "position", 2 * 64 * 256 * 1024, "template", "bf16"),
        ("silu_mul", "category", None, "none", None),
        ("down_proj", "position", 2 * 64 * 512 * 256, "template", "bf16"),
    ]
    lake.close()
