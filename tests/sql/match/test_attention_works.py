"""FLOP, bytes and types of attention in serving: what its operator's inputs and its kernel's name add to the pairs.

Each trace is a pass of two layers that decodes one token of 64 requests with 8192 keys each, on an H100: 524,288 pairs.
"""

import pytest

from ...kernel_traces import one_layer_model
from ...lakes import Files, in_one_lake

PAIRS = 64 * 8192
BF16 = "c10::BFloat16"
FP8 = "c10::Float8_e4m3fn"
NOTE = f"execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk{PAIRS}sqsq64sqsk{PAIRS})"
FLASH_3 = (
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<"
    "2, cutlass::%s, float, cutlass::arch::Sm90>, flash::CollectiveEpilogueFwd<cutlass::bfloat16_t>>>>(Params)"
)
GQA = ([[64, 32, 128], [64, 8, 128], [64, 8, 128]], None, None)
WORK = "SELECT DISTINCT flop, bytes FROM kernel_roofline WHERE unit = 'attention'"
OPERATOR_WORK = "SELECT DISTINCT flop, bytes FROM trace_ops WHERE family = 'attention'"


def decode(folder, kernel, op, inputs, name="decode", note=NOTE):
    """Write the trace of a decode whose attention is a kernel of an operator."""
    return one_layer_model(folder, name, note=note, attention=(kernel, op, *inputs))


def flash_3(query, keys, latents, query_in_latents=(), window=-1):
    """Return shapes, types and values of FlashAttention 3's `fwd` (vLLM, SGLang): 33 arguments, the 6th is `q_v`."""
    dims = [query, keys, latents, [], [], list(query_in_latents), [], [65], *[[]] * 25]
    types = [BF16 if len(shape) > 1 else "int" if shape else "" for shape in dims]
    # 12: longest query, 23: scale, 24: causal, 25 and 26: keys to the left and the right of a query.
    return dims, types, [*[""] * 12, "1", *[""] * 10, "0.04", "True", str(window), "0", *[""] * 6]


def flash_2(window):
    """Return the same of FlashAttention 2's `varlen_fwd` (vLLM): 21 arguments."""
    dims = [[64, 64, 64], [9000, 16, 8, 64], [9000, 16, 8, 64], [], [65], *[[]] * 16]
    types = [BF16 if len(shape) > 1 else "int" if shape else "" for shape in dims]
    # 10 and 11: longest query and keys, 15: causal, 16 and 17: keys to the left and the right.
    return dims, types, [*[""] * 10, "1", "8192", "0.", "0.1", "False", "True", str(window), "0", *[""] * 3]


@pytest.mark.parametrize("library", ["_vllm_fa3_C", "sgl_kernel"])
@in_one_lake
def test_absorbed_attention_scores_the_latent_with_the_rotary_part_and_with_the_query_in_its_space(tmp_path, library):
    # 128 heads: 64 rotary dimensions and the latent of 512 are scored, and the latent is what is summed up.
    inputs = flash_3([64, 128, 64], [9000, 64, 1, 64], [9000, 64, 1, 512], [64, 128, 512])
    lake = yield decode(tmp_path, FLASH_3 % "bfloat16_t", f"{library}::fwd", inputs)
    flop = 2 * PAIRS * 128 * (64 + 512 + 512)
    # Both parts of the queries, results, and the cache, in BF16.
    moved = 2 * (64 * 128 * (64 + 512 + 512) + PAIRS * (64 + 512))
    assert lake.rows(WORK) == lake.rows(OPERATOR_WORK) == [(flop, moved)]


@pytest.mark.parametrize(
    ("op", "inputs"), [("sgl_kernel::fwd", "flash 3"), ("_vllm_fa3_C::fwd", "flash 3"), ("_vllm_fa2_C::varlen_fwd", "")]
)
@in_one_lake
def test_attention_with_a_window_has_no_flop_by_the_pairs_of_all_keys(tmp_path, op, inputs):
    # A query sees 127 keys before its own, of 8192; without a window, or with one as long as all sequences together, 64
    # heads of 64 + 64 meet all of them.
    def given(window):
        keys = [9000, 16, 8, 64]
        return flash_3([64, 64, 64], keys, keys, window=window) if inputs else flash_2(window)

    lake = yield Files(
        decode(tmp_path, FLASH_3 % "bfloat16_t", op, given(127), name="window"),
        decode(tmp_path, FLASH_3 % "bfloat16_t", op, given(-1), name="all"),
        decode(tmp_path, FLASH_3 % "bfloat16_t", op, given(PAIRS - 1), name="wide"),
    )
    for relation in ("kernel_roofline WHERE unit = 'attention'", "trace_ops WHERE family = 'attention'"):
        work = (2 * PAIRS * 64 * (64 + 64), 2 * (64 * 64 * (64 + 64) + PAIRS * 2 * 8 * 64))
        assert lake.rows(
            f"SELECT DISTINCT trace, flop, bytes FROM (FROM {relation}) JOIN traces USING (trace_id) ORDER BY trace"
        ) == [("all", *work), ("wide", *work), ("window", None, None)]


@in_one_lake
def test_attention_has_unknown_bytes_where_the_tokens_in_the_cache_are_unknown_and_not_assumed_to_be_none(tmp_path):
    # Of a context alone the short annotation assumes an empty cache; a generation has one, of unknown size.
    lake = yield Files(
        *(
            decode(tmp_path, FLASH_3 % "bfloat16_t", "vllm::unified_attention", GQA, name, note=note)
            for name, note in (
                ("context", "execute_context_1(64_4096)_generation_0(0)"),
                ("generation", "execute_context_0(0)_generation_64(64)"),
            )
        )
    )
    # 64 x 65 / 2 pairs; queries and results of 32 heads, keys and values of 8.
    work = (2 * 2080 * 32 * (128 + 128), 2 * 64 * 128 * (2 * 32 + 2 * 8))
    for relation in ("kernel_roofline WHERE unit = 'attention'", "trace_ops WHERE family = 'attention'"):
        assert lake.rows(
            f"SELECT DISTINCT trace, flop, bytes FROM (FROM {relation}) JOIN traces USING (trace_id) ORDER BY trace"
        ) == [("context", *work), ("generation", None, None)]


SPARSE = [
    "void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<KernelTemplate<(ModelType)0, 128>>(Params)",
    "void sm100::fwd::head128::sparse_attn_fwd_kernel<KernelTemplate>(SparseAttnFwdParams, TmaParams)",
    "fmhaSm100fKernel_QkvE4m3OBfloat16HQk576HV512PagedKvDenseStaticTokenSparseP1VarSeqQ32Kv128PersistentSwapsAbForGen",
]
LATENT = ([[64, 128, 192], [64, 512], [64, 1, 64], [64, 16384], []], None, None)


@pytest.mark.parametrize("kernel", SPARSE)
@in_one_lake
def test_attention_to_the_keys_that_an_indexer_chooses_has_no_flop_by_the_pairs_of_all_keys(tmp_path, kernel):
    lake = yield decode(tmp_path, kernel, "vllm::unified_mla_attention_with_output", LATENT)
    assert lake.rows(WORK) == lake.rows(OPERATOR_WORK) == [(None, None)]


@in_one_lake
def test_a_model_with_an_indexer_pairs_each_query_with_its_top_keys_whatever_the_kernel_is_called(tmp_path):
    # aiter's kernels of absorbed attention take a list of keys, all of them or the chosen ones.
    path = decode(tmp_path, "_ZN5aiter36mla_a16w16_decode_qh128_stage1E", "vllm::unified_mla_attention", LATENT)
    lake = yield Files(path, model="deepseek-v3.2")
    # 2048 of 8192 keys; 128 heads score 64 + 512 dimensions and sum up 512.
    flop = 2 * 64 * 2048 * 128 * (64 + 512 + 512)
    assert lake.rows("SELECT DISTINCT flop, flop_source FROM kernel_roofline WHERE unit = 'attention'") == [
        (flop, "template")
    ]
    assert lake.rows(OPERATOR_WORK) == [(None, None)]


FLASHINFER = (
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u, 8u, "
    "flashinfer::DefaultAttention<false, false, false, false>, flashinfer::BatchDecodeParams<%s, int> >(Params)"
)
PAGED = "void vllm::paged_attention_v2_kernel<__nv_bfloat16, %s, 128, 16, 128, (vllm::Fp8KVCacheDataType)%d, false>"
TRTLLM = "fmhaSm100fKernel_Qkv%sOBfloat16H128PagedKvCausalP64MultiCtasKvVarSeqQ8Kv128StaticSwapsAbForGen"


@pytest.mark.parametrize(
    ("kernel", "key_bytes", "dtype"),
    [
        # Query, keys and values, result: what is narrower than the query is widened before it is multiplied.
        (FLASHINFER % "__nv_bfloat16, __nv_bfloat16, __nv_bfloat16", 2, "bf16"),
        (FLASHINFER % "__nv_bfloat16, __nv_fp8_e4m3, __nv_bfloat16", 1, "bf16"),
        (FLASHINFER % "__half, __nv_fp8_e5m2, __half", 1, "fp16"),
        (FLASHINFER % "__nv_bfloat16, __nv_bfloat16, __nv_fp8_e4m3", 2, "bf16"),
        (PAGED % ("__nv_bfloat16", 0), 2, "bf16"),
        (PAGED % ("unsigned char", 1), 1, "bf16"),
        # These multiply in FP8; the operator quantises its query.
        (TRTLLM % "E4m3", 1, "fp8"),
        (TRTLLM % "Bfloat16", 2, "bf16"),
        (TRTLLM.replace("OBfloat16", "OE4m3") % "Bfloat16", 2, "bf16"),
        (FLASH_3 % "float_e4m3_t", 1, "fp8"),
    ],
)
@in_one_lake
def test_a_cache_has_the_bytes_and_the_kernel_the_type_that_its_name_says(tmp_path, kernel, key_bytes, dtype):
    lake = yield decode(tmp_path, kernel, "vllm::unified_attention", GQA)
    # Queries and results in BF16, and keys and values of 8 heads of 128.
    moved = 2 * 64 * 32 * 128 * 2 + PAIRS * 2 * 8 * 128 * key_bytes
    assert lake.rows(OPERATOR_WORK) == lake.rows(WORK) == [(2 * PAIRS * 32 * (128 + 128), moved)]
    assert lake.rows("SELECT DISTINCT dtype FROM kernel_roofline WHERE unit = 'attention'") == [(dtype,)]


@in_one_lake
def test_a_cache_of_one_byte_that_is_an_input_is_not_halved_again(tmp_path):
    dims, _, values = flash_3([64, 32, 128], [9000, 16, 8, 128], [9000, 16, 8, 128])
    types = [FP8 if len(shape) > 1 else "" for shape in dims]
    lake = yield decode(tmp_path, FLASH_3 % "float_e4m3_t", "sgl_kernel::fwd", (dims, types, values))
    [(_, moved)] = lake.rows(WORK)
    # The epilogue in the kernel's name writes BF16.
    assert moved - PAIRS * 2 * 8 * 128 == 64 * 32 * (128 + 2 * 128)


@pytest.mark.parametrize(("result", "result_bytes"), [(BF16, 2), (FP8, 1), (None, 2)])
@in_one_lake
def test_the_result_of_an_fp8_query_has_the_type_of_the_tensor_it_is_written_to(tmp_path, result, result_bytes):
    # vLLM quantises the query before the operator; it writes BF16, or FP8 if it also quantises for the next product.
    dims = [[64, 32, 128], [64, 8, 128], [64, 8, 128], [64, 32, 128] if result else [], [], [], []]
    given = (dims, [FP8, BF16, BF16, result or "", "", "", ""], None)
    lake = yield decode(tmp_path, TRTLLM % "E4m3", "vllm::unified_attention_with_output", given)
    moved = 64 * 32 * 128 * (1 + result_bytes) + PAIRS * 2 * 8 * 128
    assert lake.rows(OPERATOR_WORK) == lake.rows(WORK) == [(2 * PAIRS * 32 * (128 + 128), moved)]


@in_one_lake
def test_keys_read_faster_than_memory_may_be_keys_that_a_window_leaves_out(tmp_path):
    # 2.1 GB take 641 µs at 3350 GB/s, the FLOP less than the kernel's time; its name shows no window.
    lake = yield decode(tmp_path, TRTLLM % "Bfloat16", "vllm::unified_attention", GQA)
    expected = {"read_from_cache", "skipped_work", "wrong_hardware", "wrong_pass_load"}
    for relation in ("kernel_roofline", "op_roofline", "layer_roofline", "pass_mfu"):
        found = lake.rows(f"SELECT DISTINCT over_100_causes FROM {relation} WHERE mbu > 1 AND mfu <= 1")
        assert found, relation
        assert all(expected <= set(causes.split(";")) for (causes,) in found), relation
