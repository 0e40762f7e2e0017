"""The lookup tables are data, so their tests are about what they answer on real kernel names.

Golden totals come from the layer pipeline specification (sections 8.8 to 8.10) and the Ascend one (10.1);
both were produced by programs that share nothing with the rules tested here.
"""

import csv
import gzip
import json
from collections import Counter, defaultdict
from decimal import Decimal
from functools import cache
from itertools import pairwise

import duckdb
import pytest

from tracelake.engine.sql import modules
from tracelake.engine.sql.modules import csv_file

from ...support import DATA

TRACES = sorted((DATA / "kineto").glob("*.json.gz"))

COLUMNS = {
    "category_rules": {
        "priority": "INTEGER", "category": "VARCHAR", "label": "VARCHAR", "kind": "VARCHAR",
        "pattern": "VARCHAR",
        "vendor": "VARCHAR", "stack": "VARCHAR", "profile": "VARCHAR", "comment": "VARCHAR",
    },
    "name_rules": {
        "priority": "INTEGER", "pattern": "VARCHAR", "replacement": "VARCHAR", "comment": "VARCHAR",
    },
    "hardware": {
        "hardware": "VARCHAR", "vendor": "VARCHAR", "name": "VARCHAR", "aliases": "VARCHAR",
        "device_pattern": "VARCHAR",
        "compute_major": "INTEGER", "compute_minor": "INTEGER", "num_sms": "INTEGER",
        "memory_bytes_min": "BIGINT", "memory_bytes_max": "BIGINT", "clock_mhz": "INTEGER",
        "peak_fp64_tflops": "DOUBLE", "peak_fp32_tflops": "DOUBLE", "peak_tf32_tflops": "DOUBLE",
        "peak_bf16_tflops": "DOUBLE",
        "peak_fp16_tflops": "DOUBLE", "peak_fp8_tflops": "DOUBLE", "peak_fp4_tflops": "DOUBLE",
        "peak_int8_tops": "DOUBLE", "vector_fp32_tflops": "DOUBLE", "hbm_gbps": "DOUBLE", "hbm_gb": "DOUBLE",
        "link_gbps": "DOUBLE", "tdp_w": "DOUBLE", "source": "VARCHAR", "trusted": "BOOLEAN",
    },
    "profiles": {
        "profile": "VARCHAR", "anchor_pattern": "VARCHAR", "role": "VARCHAR", "blocks_per_layer": "INTEGER",
        "half_labels": "VARCHAR", "default_layers": "INTEGER", "config_field": "VARCHAR",
        "model_types": "VARCHAR",
        "priority": "INTEGER", "comment": "VARCHAR",
    },
    "anchor_roles": {
        "category": "VARCHAR", "role": "VARCHAR", "blocks_per_layer": "INTEGER", "comment": "VARCHAR",
    },
}  # fmt: skip


@cache
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    for table, columns in COLUMNS.items():
        connection.execute(
            f"CREATE TABLE {table} AS FROM read_csv('{csv_file(table)}', header = true, delim = ',', quote = '\"', "
            f"escape = '\"', columns = {columns})"
        )
    return connection


def rows(sql: str, *parameters: object) -> list[tuple]:
    return database().execute(sql, parameters).fetchall()


def winners(names: set[str], profile: str = "") -> dict[str, tuple[str, int | None]]:
    """Category and winning priority of each name, exactly as a view would look them up."""
    found = rows(
        """
        SELECT n.name, coalesce(arg_min(r.category, r.priority), 'other'), min(r.priority)
        FROM unnest(?::VARCHAR[]) AS n (name)
        LEFT JOIN category_rules AS r
            ON coalesce(r.profile, '') IN ('', ?) AND regexp_matches(lower(n.name), r.pattern)
        GROUP BY n.name
        """,
        sorted(names),
        profile,
    )
    return {name: (category, priority) for name, category, priority in found}


def category_totals(kernels: list[tuple[str, Decimal]], profile: str = "") -> dict[str, tuple[int, Decimal]]:
    category = winners({name for name, _ in kernels}, profile)
    count: Counter[str] = Counter()
    total: defaultdict[str, Decimal] = defaultdict(Decimal)
    for name, duration in kernels:
        count[category[name][0]] += 1
        total[category[name][0]] += duration
    return {key: (count[key], total[key]) for key in count}


@cache
def trace(file: str) -> dict:
    path = DATA / "kineto" / file
    if not path.exists():
        pytest.skip(f"needs the real trace {file}; point TRACELAKE_TEST_DATA at the folder that holds kineto/")
    with gzip.open(path) as stream:
        return json.load(stream, parse_float=Decimal)


@cache
def device_events(file: str, *categories: str) -> list[tuple[str, Decimal]]:
    return [
        (event["name"], Decimal(event.get("dur", 0)))
        for event in trace(file)["traceEvents"]
        if event.get("ph") == "X" and str(event.get("cat", "")).lower() in categories
    ]


def kernels_of(file: str) -> list[tuple[str, Decimal]]:
    return device_events(file, "kernel")


# ------------------------------------------------------------------------------------- the files themselves


@pytest.mark.parametrize("table", COLUMNS)
def test_every_file_is_plain_csv_whose_header_names_exactly_the_documented_columns(table):
    raw = csv_file(table).read_bytes()
    assert b"\r" not in raw
    assert raw.endswith(b"\n")
    lines = list(csv.reader(raw.decode("utf-8").splitlines()))
    assert lines[0] == list(COLUMNS[table])
    assert {len(line) for line in lines} == {len(COLUMNS[table])}
    assert rows(f"SELECT count(*) FROM {table}") == [(len(lines) - 1,)]  # DuckDB reads as many rows as Python


@pytest.mark.parametrize("table", ["category_rules", "name_rules", "profiles"])
def test_no_two_rules_share_a_priority(table):
    assert rows(f"SELECT priority FROM {table} GROUP BY priority HAVING count(*) > 1 OR priority IS NULL") == []


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("category_rules", "pattern"),
        ("name_rules", "pattern"),
        ("hardware", "device_pattern"),
        ("profiles", "anchor_pattern"),
    ],
)
def test_every_pattern_compiles_and_none_matches_everything(table, column):
    for (pattern,) in rows(f"SELECT {column} FROM {table}"):
        assert rows("SELECT regexp_matches('', ?), regexp_matches('zzz', ?)", pattern, pattern) == [(False, False)]


# ------------------------------------------------------------------------------------------- category rules


def test_every_category_rule_wins_the_example_in_its_own_comment():
    """A rule that loses its own example is shadowed: it can be deleted, or its priority is wrong."""
    lost = []
    for priority, profile, comment in rows("SELECT priority, coalesce(profile, ''), comment FROM category_rules"):
        assert comment.count("; e.g. ") == 1, f"rule {priority} gives no example"
        example = comment.split("; e.g. ")[1]
        winner = winners({example}, profile)[example]
        if winner[1] != priority:
            lost.append((priority, example, winner))
    assert lost == []


def test_a_category_has_one_label_and_one_kind_wherever_it_appears():
    assert rows("SELECT category FROM category_rules GROUP BY category HAVING count(DISTINCT (label, kind)) > 1") == []
    assert {kind for (kind,) in rows("SELECT DISTINCT kind FROM category_rules")} == {
        "compute", "communication", "memory",
    }  # fmt: skip


def test_patterns_are_lower_case_because_they_are_applied_to_lower_case_names():
    # Escapes such as \S or \W would be the only honest upper-case letters; none is used.
    assert rows("SELECT priority FROM category_rules WHERE pattern <> lower(pattern)") == []


def test_rules_of_a_profile_name_a_profile_that_exists_and_come_before_the_general_ones():
    assert rows("SELECT profile FROM category_rules WHERE profile <> '' EXCEPT SELECT profile FROM profiles") == []
    ((last_special, first_general),) = rows(
        "SELECT max(priority) FILTER (profile <> ''), min(priority) FILTER (coalesce(profile, '') = '') "
        "FROM category_rules"
    )
    assert last_special < first_general


# Totals of section 8.9: kernels and microseconds per category. Keys missing here are `other` there.
TOTALS = {
    "sglang_qwen3-8b_prefill_mi300x.json.gz": {
        "gemm": (145, "420305.748"), "attention": (36, "20075.158"), "norm": (145, "26258.560"),
        "activation": (36, "16508.145"), "rope": (36, "4725.106"), "kv_store": (36, "1271.220"),
        "other": (93, "3629.655"),
    },
    "sglang_qwen3-8b_decode_mi300x.json.gz": {
        "gemm": (145, "5782.257"), "attention": (72, "2127.869"), "norm": (145, "683.953"),
        "activation": (36, "324.367"), "rope": (36, "195.815"), "kv_store": (36, "173.545"),
        "other": (85, "477.631"),
    },
    "vllm_gpt-oss_decode_mi300x.json.gz": {
        "gemm": (73, "1230.560"), "moe_gemm": (48, "7034.595"), "attention": (36, "724.360"),
        "norm": (49, "332.030"), "rope": (24, "149.735"), "kv_store": (24, "136.415"),
        "moe_routing": (144, "754.491"), "other": (27, "312.331"),
    },
    "vllm_gpt-oss_prefill_tp_b200.json.gz": {
        "gemm": (109, "784.762"), "moe_gemm": (72, "5214.837"), "attention": (36, "485.821"),
        "norm": (73, "456.644"), "rope": (36, "133.085"), "kv_store": (36, "162.686"),
        "moe_routing": (144, "696.067"), "quant": (72, "264.835"), "communication": (74, "2141.501"),
        "other": (116, "522.678"),
    },
}  # fmt: skip
NAMED_THERE = {
    "gemm", "moe_gemm", "attention", "norm", "activation", "rope", "kv_store", "moe_routing", "quant",
    "communication",
}  # fmt: skip


@pytest.mark.parametrize("file", TOTALS)
def test_category_totals_are_the_published_ones_once_our_finer_categories_fold_into_other(file):
    folded: dict[str, tuple[int, Decimal]] = {}
    for category, (count, total) in category_totals(kernels_of(file)).items():
        key = category if category in NAMED_THERE else "other"
        before = folded.get(key, (0, Decimal(0)))
        folded[key] = (before[0] + count, before[1] + total)
    assert folded == {key: (count, Decimal(total)) for key, (count, total) in TOTALS[file].items()}


@pytest.mark.parametrize(
    ("file", "count", "total"),
    [  # The line "memcpy, outside" of section 8.9.
        ("sglang_qwen3-8b_prefill_mi300x.json.gz", 7, "37.971"),
        ("sglang_qwen3-8b_decode_mi300x.json.gz", 3, "13.177"),
        ("vllm_gpt-oss_decode_mi300x.json.gz", 9, "43.191"),
        ("vllm_gpt-oss_prefill_tp_b200.json.gz", 161, "802.844"),
    ],
)
def test_copies_by_the_driver_are_memcpy_and_nothing_else_is(file, count, total):
    totals = category_totals(device_events(file, "kernel", "gpu_memcpy", "gpu_memset"))
    assert totals["memcpy"] == (count, Decimal(total))


def synthetic_deepseek_v4() -> list[tuple[str, Decimal]]:
    """Section 8.8: five passes over six layers; u counts 100 us."""
    all_reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    opening = [
        ("mhc_pre_gemm_sqrsum_tilelang_kernel", 2),
        ("mhc_pre_big_fuse_tilelang_kernel", 1),
        ("norm::RMSNormKernel", 1),
    ]
    extra = {
        0: [],
        4: [("fast_hadamard_transform_kernel", 2), ("fused_store_indexer_cache", 1),
            ("void deep_gemm::sm90_fp8_paged_mqa_logits<1>", 3), ("topk_transform_512", 2)],
        128: [("c128_prefill", 1)],
    }  # fmt: skip
    emitted: list[tuple[str, int]] = []
    for scale in (1, 3, 4, 4, 4):
        emitted.append(("embedding_kernel", 2))
        for ratio in (0, 0, 4, 128, 4, 128):
            emitted += [
                *opening,
                ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<1>", 5),
                *extra[ratio],
                ("void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<1>", 10 * scale),
                ("void smxx::decode::flash_fwd_mla_combine_kernel<1>", 1),
                ("nvjet_tst_64x8", 3),
                (all_reduce, 4),
                ("mhc_post_tilelang_kernel", 1),
                *opening,
                ("moe_fused_gate", 1),
                ("moe_align_block_size_kernel", 1),
                ("count_and_sort_expert_tokens_kernel", 1),
                ("void per_token_group_quant_8bit_kernel<1>", 1),
                ("fused_moe_kernel", 6 * scale),
                ("act_and_mul_kernel", 1),
                ("fused_moe_kernel", 4 * scale),
                (all_reduce, 4),
                ("mhc_post_tilelang_kernel", 1),
            ]
        emitted += [("nvjet_lm_head", 20), ("sampling_kernel", 5)]
    return [(name, Decimal(100 * units)) for name, units in emitted]


def test_the_synthetic_deepseek_v4_trace_has_the_published_totals_under_its_profile():
    kernels = synthetic_deepseek_v4()
    assert (len(kernels), sum(duration for _, duration in kernels)) == (695, 310500)  # the recipe's own check
    assert category_totals(kernels, "dsv4_csa_hca") == {
        "mla": (30, 96000), "moe": (60, 96000), "allreduce": (60, 24000), "gemm_bf16": (35, 19000),
        "gemm_fp8": (30, 15000), "mhc_pre_gemm": (60, 12000), "other": (40, 6500), "mhc_pre_fuse": (60, 6000),
        "rmsnorm": (60, 6000), "mhc_post": (60, 6000), "moe_gate": (30, 3000), "moe_align": (30, 3000),
        "moe_sort": (30, 3000), "quant": (30, 3000), "activation": (30, 3000), "paged_mqa": (10, 3000),
        "hadamard": (10, 2000), "topk": (10, 2000), "indexer": (10, 1000), "c128_prefill": (10, 1000),
    }  # fmt: skip


@pytest.mark.parametrize("profile", ["dsv3_mla", "dsv4_csa_hca"])
def test_products_of_cublas_with_the_architecture_in_their_name_are_of_the_same_type_as_without(profile):
    names = {"gemm_fp8": "nvjet_{}qqtst_128x128_128x6_1x2_h_bz_TNT", "gemm_bf16": "nvjet_{}tst_64x8_64x16_4x1_v_bz_TNT"}
    for expected, name in names.items():
        versions = {name.format(architecture) for architecture in ("", "sm90_", "sm100_")}
        assert {category for category, *_ in winners(versions, profile).values()} == {expected}


def test_without_a_profile_the_same_kernels_fall_into_the_general_categories():
    totals = category_totals(synthetic_deepseek_v4())
    assert not totals.keys() & {"mla", "moe", "allreduce", "rmsnorm", "gemm_fp8", "moe_gate"}
    assert totals["communication"] == (60, 24000)
    assert totals["moe_gemm"] == (60, 96000)
    assert totals["norm"] == (60, 6000)


def test_communication_of_the_deepseek_training_trace_is_every_deepep_exchange_and_nothing_more():
    kernels = kernels_of("deepseek-v3_train_h800.json.gz")
    assert len(kernels) == 963
    category = winners({name for name, _ in kernels})
    assert {name for name, (won, _) in category.items() if won == "communication"} == {
        name for name, _ in kernels if "ep::internode" in name
    }
    assert category_totals(kernels)["communication"] == (32, 113030)  # section 8.10


def test_categories_of_a_real_ascend_training_step_fold_one_to_one_into_the_published_ones():
    path = DATA / "ascend" / "kernel_details_training_910b_arithmetic.csv"
    if not path.exists():
        pytest.skip(f"needs {path.name}; point TRACELAKE_TEST_DATA at the folder that holds ascend/")
    with path.open(encoding="utf-8") as stream:
        kernels = [(row["Name"], Decimal(row["Duration(us)"].strip())) for row in csv.DictReader(stream)]
    assert category_totals(kernels) == {  # category sums at the end of section 10.1, under our names
        "communication": (19, Decimal("346398.74")), "gemm": (13, Decimal("14252.72")),
        "optimizer": (28, Decimal("12939.38")), "elementwise": (180, Decimal("7642.22")),
        "cast": (75, Decimal("5904.02")), "reduce": (88, Decimal("3429.80")),
        "random": (14, Decimal("2757.80")),
        "norm": (5, Decimal("1640.02")), "fill": (92, Decimal("811.10")), "copy": (70, Decimal("484.82")),
        "index": (3, Decimal("190.40")), "attention": (2, Decimal("182.96")),
        "activation": (2, Decimal("173.06")),
    }  # fmt: skip


@pytest.mark.parametrize("file", [path.name for path in TRACES] or ["any real trace"])
def test_less_than_a_tenth_of_the_kernel_time_is_other(file):
    kernels = kernels_of(file)
    if not kernels:
        pytest.skip("a trace without kernels")
    total = sum(duration for _, duration in kernels)
    other = category_totals(kernels).get("other", (0, Decimal(0)))[1]
    assert other < total / 10


# Names as public code of these projects compiles them; most of them are in no trace we have. The left column
# was decided by what the kernel does. The remark says which careless word would have decided otherwise.
CHOICES = """
communication | ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
communication | ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)
communication | void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, int)
communication | _ZN5aiter26cross_device_reduce_2stageI14__hip_bfloat16Li8EEEvPN
communication | void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8>(int)
communication | void deep_ep::internode_ll::dispatch<false, 3, 10, 7168>(void*, float*)
communication | void deep_ep::intranode::notify_combine<8>(int)
communication | void hybrid_ep::dispatch_kernel<hybrid_ep::x, 8>(hybrid_ep::dispatch_kernel_param_t<x>)
communication | void hybrid_ep::device_sync_kernel<4>(unsigned int*)
communication | void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>(mori::moe::EpDispatchCombineArgs<hip_bfloat16>)
communication | EpCombineInterNodeV1Kernel_bf16
communication | void a2a_kernels::a2a_dispatch_send_kernel<true, 16ul, 8ul>(int)
communication | void pplx::dispatchKernel<16, true>(x)
communication | hcom_reduceScatter__328_1
communication | reduce-scatter.3
mc2           | MatmulReduceScatter
moe_routing   | void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)       # dispatch
moe_routing   | _row_id_map_pass_1_kernel
moe_routing   | deepseek_v3_topk_kernel
moe_gemm      | void tensorrt_llm::kernels::cutlass_kernels::fused_moe::run_global<x>(int)
sampling      | _topk_topp_kernel
sampling      | verify_tree_greedy
sampling      | void VerifyTreeGreedy<int, int>(x)
moe_routing   | fused_topk_deepseek                                                      # topk
indexer       | void vllm::topKPerRowDecode<512, false>(x)
moe_routing   | _combined_routing_compute                                                # combine
moe_routing   | _combined_routing_memset                                                 # memset
moe_routing   | void vllm::moe::topkGatingSoftmax<8, 128, 4, 16>(float const*)           # softmax, topk
moe_routing   | void vllm::moe::moe_align_block_size_kernel<int>(int*)
moe_routing   | MoeGatingTopK                                                            # topk
attention     | void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<128u>>(int)
attention     | void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u>(int)
attention     | void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false>>(Flash_fwd_params)
attention     | void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > > >(int)
attention     | void flash::compute_attn_ws<Flash_fwd_kernel_traits<192, 128, 128>, true>(int)
attention     | cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0  # cudnn, fprop
attention     | fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)
attention     | void vllm::paged_attention_v1_kernel<unsigned short, unsigned short, 128, 16, 128>(int)
attention     | _fwd_grouped_kernel_stage1
attention     | _ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_12BlockDropoutENS_15QuantENS_11BlockGemmEEEEEvT0_  # dropout, quant, gemm
attention     | _fwd_kernel_flash_decode_stage1
attention     | FusedInferAttentionScore
kv_store      | void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>(int)  # flash, fp8
kv_store      | void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)     # mla
kv_store      | ReshapeAndCacheNdKernel
kv_store      | void k_set_rows<float, long, __half>(float const*)
kv_store      | void turbomind::ProcessKV_v2<128, 64>(x)
gemm          | void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8, 4, 8>(int4 const*)
gemm          | void vllm::awq::gemm_forward_4bit_cuda_m16nXk32<128>(int)
gemm          | void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16>(int)
gemm          | sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_cublas
gemm          | void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>(int)
gemm          | triton_tem_fused_mm_4
gemm          | _w8a8_block_fp8_matmul                                                   # fp8
gemm          | QuantBatchMatmulV3                                                       # quant
gemm          | _w8a8_triton_block_scaled_mm
gemm          | void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 8>(__half const*)  # gptq
gemm          | void gptq_marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8, 4, 8>(int4 const*)  # gptq
gemm          | _batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_kernel  # quant
gemm          | void mul_mat_q<(ggml_type)12, 64, false>(char const*, int const*)
gemm          | void mul_mat_vec_f<__nv_bfloat16, float, 1, 256>(__nv_bfloat16 const*)
gemm          | dequantize_mul_mat_vec_q4_0                                              # quant
gemm          | convolution_bitcast_fusion.12                                            # fusion
gemm          | dot.5.remat
moe_gemm      | fused_moe_kernel                                                         # moe
moe_gemm      | GroupedMatmul
moe_gemm      | _ZN2ck15kernel_moe_gemmINS_24GridwiseMoeGemmBlockScaleE                  # gemm
moe_gemm      | void deep_gemm::sm90_fp8_gemm_1d2d_impl<4096u, 7168u, 128u, (deep_gemm::GemmType)1>(float*)
moe_gemm      | _matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu                      # swiglu
moe_gemm      | _matmul_NNT_bf16xbf16xmxfp4_16x256x128x1                                 # mxfp4
moe_gemm      | _p_matmul_NNT_fp8e4nvxfp8e4nvxmxfp4_128x256x128x1_swiglu                 # swiglu, mxfp4
moe_gemm      | batched_triton_kernel
moe_gemm      | _ZN2ck20kernel_moe_mxgemm_2ldsINS_12GridwiseGemmEEE                      # moe
norm          | void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)
norm          | void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn, 8>(int)  # quant
norm          | AddRmsNormDynamicQuant                                                   # quant
norm          | _fused_rms_fp8_group_quant_kernel                                        # quant
norm          | void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(int)
norm          | triton_red_fused_add_mean_mul_pow_rsqrt_0
rope          | void tensorrt_llm::kernels::applyMLARopeAndAssignQKVKernelGeneration<__nv_bfloat16>(x)
rope          | _fused_qk_rope_cat_and_cache_mla_kernel                                   # mla
rope          | void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 128u, 8u, 16u, __nv_bfloat16, long>(int)
activation    | void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(int)
activation    | SwiGlu
activation    | void turbomind::activation_kernel<8>(x)
activation    | _act_mul_and_dynamic_mxfp4_quant_kernel                                  # quant
quant         | void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, false, false, float>(void const*)
quant         | void vllm::dynamic_per_token_scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(int)
linear_attention | _causal_conv1d_fwd_kernel                                             # conv
linear_attention | fused_recurrent_gated_delta_rule_fwd_kernel
linear_attention | _fwd_diag_kernel
linear_attention | _fwd_none_diag_kernel
linear_attention | _fwd_kv_parallel
linear_attention | _chunk_scan_fwd_kernel                                                # scan
softmax       | void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, c10::BFloat16, float, c10::BFloat16>(int)
reduce        | void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::WelfordOps<float, float, int>, unsigned int, float, 4> >(int)  # welford
reduce        | void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int, float, 4> >(int)  # norm
optimizer     | void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >(int)
batch_norm    | void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(int)  # cudnn
conv          | void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816dgrad_optimized_f16_128x128_32x4_nhwc_unity_stride_align8>(int)
conv          | sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16  # gemm
fused         | triton_poi_fused__scaled_dot_product_flash_attention_clone_3             # attention
fused         | triton_poi_fused_add_all_reduce_wait_tensor_2                            # all_reduce
fused         | fusion.3.remat2
fused         | loop_add_fusion.clone.1
sampling      | void flashinfer::sampling::TopPRenormProbKernel<1024u, float>(float*)    # norm
embedding     | void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long const*)
sort          | void at::native::radixSortKVInPlace<-2, -1, 32, 4, long, long, unsigned int>(int)
scan          | void at::native::tensor_kernel_scan_innermost_dim<long, std::plus<long> >(int)
index         | void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int)            # gemm
loss          | void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)  # reduce
copy          | void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1>(int)
copy          | void cpy_scalar<&cpy_1_scalar<float, float>>(char const*)
copy          | void convert_unary<float, __half>(void const*)
index         | void k_get_rows_float<float, float>(float const*)
elementwise   | void k_bin_bcast<&op_add, float, float, float>(float const*)
batch_prep    | _compute_slot_mappings_kernel
batch_prep    | alloc_extend_kernel
memcpy        | Memcpy PtoP (Device -> Device)
memset        | Memset (Device)
other         | my_company_secret_kernel
"""  # noqa: E501


def test_careless_words_do_not_decide_the_category():
    choices = [line.split(" | ", 1) for line in CHOICES.strip().splitlines()]
    expected = {name.split("  # ")[0].split("   ")[0].strip(): category.strip() for category, name in choices}
    assert len(expected) == len(choices)
    found = {name: category for name, (category, _) in winners(set(expected)).items()}
    assert found == expected


# ----------------------------------------------------------------------------------------------- name rules


def display_names(names: set[str]) -> dict[str, str]:
    result = {name: name for name in names}
    for pattern, replacement in rows("SELECT pattern, coalesce(replacement, '') FROM name_rules ORDER BY priority"):
        keys = list(result)
        ((changed,),) = rows(
            "SELECT list_transform(?::VARCHAR[], lambda n: regexp_replace(n, ?, ?, 'g'))",
            [result[key] for key in keys],
            pattern,
            replacement,
        )
        result = dict(zip(keys, changed, strict=True))
    return result


def test_there_are_few_name_rules_and_each_has_a_reason():
    assert rows("SELECT count(*) <= 25 AND bool_and(length(comment) > 10) FROM name_rules") == [(True,)]


# The kernel of an elementwise addition: a template argument that holds three pairs of parentheses.
ADD = (
    "at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, "
    "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}"
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [  # The literal replacements of section 4.2, in its order.
        ("void (anonymous namespace)::store<1>", "store<1>"),
        ("void at::native::reduce<1>", "reduce<1>"),
        ("void flashinfer::sample<1>", "sample<1>"),
        ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<1>", "deep_gemm::sm90_fp8_gemm_1d2d<1>"),
        ("void fast_hadamard_transform_kernel<1>", "fast_hadamard_transform_kernel<1>"),
        ("void per_token_group_quant_8bit_kernel<1>", "per_token_group_quant_8bit_kernel<1>"),
        (
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclAllReduce_bf16_RING_LL",
        ),
        ("norm::RMSNormKernel", "RMSNormKernel"),
        ("void deep_gemm::sm90_fp8_paged_mqa_logits<1>", "deep_gemm::sm90_fp8_paged_mqa_logits<1>"),
        (
            "void deep_gemm::sched::smxx_paged_mqa_logits_metadata<1>",
            "deep_gemm::paged_mqa_logits_metadata<1>",
        ),
        (
            "void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<1>",
            "flash_fwd_splitkv_mla_fp8_sparse<1>",
        ),
        ("void smxx::decode::flash_fwd_mla_combine_kernel<1>", "flash_fwd_mla_combine<1>"),
        ("void smxx::decode::get_mla_metadata_kernel<1>", "get_mla_metadata<1>"),
        ("mhc_pre_gemm_sqrsum_tilelang_kernel", "mhc_pre_gemm_sqrsum"),
        ("mhc_post_tilelang_kernel", "mhc_post_tilelang"),
        ("mhc_pre_big_fuse_tilelang_kernel", "mhc_pre_big_fuse"),
        ("fused_moe_kernel", "fused_moe_kernel"),
        # Names with nested parentheses, seen in real traces.
        (
            f"void at::native::elementwise_kernel<128, 2, {ADD}>(int, {ADD})",
            "elementwise_kernel<128, 2, gpu_kernel_impl<CUDAFunctor_add<float>>::{lambda#1}>",
        ),
        (
            "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "  # noqa: ISC004
            "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, float, int)",
            "vllm::fused_add_rms_norm_kernel<BFloat16, 8>",
        ),
        (
            "void cutlass::Kernel<cutlass_80_simt_sgemm_128x32>(cutlass_80_simt_sgemm_128x32::Params)",
            "cutlass_80_simt_sgemm_128x32",
        ),
        ("at::cuda::(anonymous namespace)::spin_kernel(long)", "at::cuda::spin_kernel"),
        # What must stay as it is.
        ("Memset (Device)", "Memset (Device)"),
        ("Memcpy HtoD (Host -> Device)", "Memcpy HtoD (Host -> Device)"),
        ("jit_step_fun(1432984733)", "jit_step_fun(1432984733)"),
        (
            "Cijk_Alik_Bljk_BBS_BH_MT320x224x64_MI16x16x1_SN",
            "Cijk_Alik_Bljk_BBS_BH_MT320x224x64_MI16x16x1_SN",
        ),
        (
            "ncclDevKernel_AllReduce_Max_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclAllReduce_Max_f32_RING_LL",
        ),
    ],
)
def test_a_display_name_is_short_and_still_tells_the_kernel(name, shown):
    assert display_names({name}) == {name: shown}


@pytest.mark.parametrize("file", [path.name for path in TRACES] or ["any real trace"])
def test_two_kernels_of_a_real_trace_never_share_a_display_name(file):
    names = {name for name, _ in device_events(file, "kernel", "gpu_memcpy", "gpu_memset")}
    shown = Counter(display_names(names).values())
    assert [name for name, count in shown.items() if count > 1] == []


# ------------------------------------------------------------------------------------------------- hardware

PRINTED = {
    "Tesla V100-SXM2-16GB": "v100_sxm2_16gb", "Tesla V100-SXM2-32GB": "v100_sxm2_32gb", "Tesla T4": "t4",
    "NVIDIA A100-PG509-200": "a100_sxm_40gb", "NVIDIA A100-SXM4-40GB": "a100_sxm_40gb",
    "NVIDIA A100-SXM4-80GB": "a100_sxm_80gb", "NVIDIA A100-PCIE-40GB": "a100_pcie_40gb",
    "NVIDIA A100 80GB PCIe": "a100_pcie_80gb", "NVIDIA A800-SXM4-80GB": "a800_sxm_80gb", "NVIDIA A10": "a10",
    "NVIDIA A10G": "a10g", "NVIDIA L4": "l4", "NVIDIA L40S": "l40s", "NVIDIA GeForce RTX 4090": "rtx_4090",
    "NVIDIA H20": "h20", "NVIDIA H100 80GB HBM3": "h100_sxm", "NVIDIA H100 PCIe": "h100_pcie",
    "NVIDIA H100 NVL": "h100_nvl", "NVIDIA H800": "h800", "NVIDIA H200": "h200",
    "NVIDIA GH200 480GB": "gh200",
    "NVIDIA B200": "b200", "NVIDIA GB200": "gb200", "AMD Instinct MI210": "mi210",
    "AMD Instinct MI250": "mi250",
    "AMD Instinct MI250X": "mi250x", "AMD Instinct MI300X": "mi300x", "AMD Instinct MI308X": "mi308x",
    "AMD Instinct MI325X": "mi325x", "AMD Instinct MI350X": "mi350x", "AMD Instinct MI355X": "mi355x",
    "Ascend910B1": "ascend_910b1", "Ascend910B2": "ascend_910b2", "Ascend910B3": "ascend_910b3",
    "Ascend910B4": "ascend_910b4", "Ascend910B4-1": "ascend_910b4_1", "Ascend910_9392": "ascend_910c",
    "ATLAS_800_A3_560T_128G_DIE": "ascend_910c_560t",
    "ATLAS_800_A3_560T_128G_DIE_ROCE": "ascend_910c_560t_roce",
    "ATLAS_800_A3_752T_128G_DIE": "ascend_910c", "ATLAS_800_A2_376T_64G": "ascend_910b2",
    "ATLAS_800_A2_313T_64G": "ascend_910b3", "ATLAS_800_A2_280T_64G": "ascend_910b4_1",
    "ATLAS_800_A2_280T_64G_PCIE": "ascend_910b4_1_pcie", "ATLAS_800_A2_280T_32G_PCIE": "ascend_910b4",
    "ATLAS_350_425T_112G": "atlas_350_112gb", "ATLAS_350_425T_84G": "atlas_350_84gb",
    "TPU v2": "tpu_v2", "TPU v3": "tpu_v3", "TPU v4": "tpu_v4", "TPU v5 lite": "tpu_v5e",
    "TPU v5e": "tpu_v5e", "TPU v5": "tpu_v5p", "TPU v5p": "tpu_v5p", "TPU v6 lite": "tpu_v6e",
    "TPU7x": "tpu_v7",
    # Names that say too little, and parts the table does not hold.
    "AMD Radeon Graphics": None, "NVIDIA H200 NVL": None, "NVIDIA L40": None,
    "NVIDIA A100-SXM-64GB": None, "": None,
}  # fmt: skip


def test_a_printed_device_name_finds_its_hardware_and_never_two():
    assert {name: [key] if key else [] for name, key in PRINTED.items()} == {
        name: [
            key for (key,) in rows("SELECT hardware FROM hardware WHERE regexp_matches(lower(?), device_pattern)", name)
        ]
        for name in PRINTED
    }
    assert {key for (key,) in rows("SELECT hardware FROM hardware")} == {key for key in PRINTED.values() if key}


def test_the_name_of_a_row_matches_no_other_row():
    assert (
        rows(
            "SELECT a.hardware, b.hardware FROM hardware AS a JOIN hardware AS b "
            "ON a.hardware <> b.hardware AND regexp_matches(lower(a.name), b.device_pattern)"
        )
        == []
    )


def test_device_properties_without_a_name_find_at_most_one_row():
    found = rows(
        "SELECT hardware FROM hardware WHERE compute_major = 9 AND compute_minor = 4 AND num_sms = 304 "
        "AND 206141652992 BETWEEN memory_bytes_min AND memory_bytes_max"
    )  # the four numbers of a real decode trace whose device name is empty
    assert found == [("mi300x",)]
    assert (
        rows(
            "SELECT a.hardware, b.hardware FROM hardware AS a JOIN hardware AS b ON a.hardware < b.hardware "
            "AND (a.compute_major, a.compute_minor, a.num_sms) "
            "= (b.compute_major, b.compute_minor, b.num_sms) "
            "AND a.memory_bytes_min <= b.memory_bytes_max AND b.memory_bytes_min <= a.memory_bytes_max "
            # Of NVIDIA's cards the profiler of XLA shows the bandwidth, to 2.5 %.
            "AND NOT (a.vendor = 'nvidia' AND 0.975 * greatest(a.hbm_gbps, b.hbm_gbps)"
            " > 1.025 * least(a.hbm_gbps, b.hbm_gbps))"
        )
        == []
    )


def test_the_properties_of_a_real_trace_agree_with_the_row_its_device_name_finds():
    checked = 0
    for path in TRACES:
        for device in trace(path.name).get("deviceProperties") or []:
            for key, sms in rows(
                "SELECT hardware, num_sms FROM hardware WHERE regexp_matches(lower(?), device_pattern)",
                device["name"],
            ):
                assert sms == device["numSms"], (path.name, key)
                checked += 1
    if not checked:
        pytest.skip("needs real traces; point TRACELAKE_TEST_DATA at the folder that holds kineto/")


def test_every_row_says_where_its_figures_come_from_and_whether_to_trust_them():
    assert rows("SELECT hardware FROM hardware WHERE coalesce(trim(source), '') = '' OR trusted IS NULL") == []
    assert rows("SELECT hardware FROM hardware WHERE vendor NOT IN ('nvidia', 'amd', 'huawei', 'google')") == []
    assert rows("SELECT hardware FROM hardware GROUP BY hardware HAVING count(*) > 1") == []


def test_peaks_are_dense_for_each_narrower_type_doubles_or_equals_the_wider_one():
    """A sparse figure that slipped in would show as a factor of four, or of one half further on."""
    for key, *peaks in rows(
        "SELECT hardware, peak_tf32_tflops, peak_bf16_tflops, peak_fp8_tflops, peak_fp4_tflops FROM hardware"
    ):
        known = [peak for peak in peaks if peak is not None]
        for wider, narrower in pairwise(known):
            assert min(abs(narrower / wider - 1), abs(narrower / wider - 2)) < 0.05, (key, wider, narrower)
    # Dense figures of the specification's table (9.2): bf16 and fp8.
    assert rows("SELECT hardware, peak_bf16_tflops, peak_fp8_tflops FROM hardware "
                "WHERE hardware IN ('h20', 'h100_sxm', 'h200', 'b200') ORDER BY ALL") == [
        ("b200", 2250, 4500), ("h100_sxm", 989, 1979), ("h20", 148, 296), ("h200", 989, 1979),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------- profiles and anchors


def test_a_profile_has_one_label_per_block_and_a_known_role():
    assert (
        rows(
            "SELECT profile, anchor_pattern FROM profiles WHERE role NOT IN ('begin', 'inside', 'end') "
            "OR len(string_split(half_labels, ',')) <> blocks_per_layer"
        )
        == []
    )
    assert rows("SELECT profile FROM profiles GROUP BY profile, anchor_pattern HAVING count(*) > 1") == []


def test_a_profile_keeps_one_default_and_one_config_field_over_its_alternatives():
    assert (
        rows(
            "SELECT profile FROM profiles GROUP BY profile "
            "HAVING count(DISTINCT coalesce(default_layers, 0)) > 1 "
            "OR count(DISTINCT coalesce(config_field, '')) > 1 "
            "OR count(DISTINCT coalesce(model_types, '')) > 1"
        )
        == []
    )
    with_config = "SELECT DISTINCT profile, config_field, default_layers FROM profiles WHERE config_field <> ''"
    assert sorted(rows(with_config)) == [
        ("dsv3_mla", "kv_lora_rank", 61), ("dsv4_csa_hca", "compress_ratios", 43),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "file", "role", "occurrences"),
    [  # Section 1.6 and 8.2 to 8.6, N layers: an opening norm occurs 2N + 1 times, attention N times.
        ("sglang_aiter", "sglang_qwen3-8b_prefill_mi300x.json.gz", "begin", 2 * 36 + 1),
        ("sglang_aiter", "sglang_qwen3-8b_decode_mi300x.json.gz", "begin", 2 * 36 + 1),
        ("vllm_rocm", "vllm_gpt-oss_decode_mi300x.json.gz", "begin", 2 * 24 + 1),
        ("vllm_nvidia", "vllm_gpt-oss_prefill_tp_b200.json.gz", "begin", 2 * 36 + 1),
        ("vllm_nvidia", "vllm_gpt-oss_prefill_tp_b200.json.gz", "end", 2 * 36 + 1),
        ("hf_eager", "hf_qwen1.5-0.5b_h100.json.gz", "inside", 24 + 10),
    ],
)
def test_the_preferred_anchor_of_a_serving_stack_occurs_as_often_as_its_layers_ask(profile, file, role, occurrences):
    (pattern,) = rows(
        "SELECT anchor_pattern FROM profiles WHERE profile = ? AND role = ? ORDER BY priority LIMIT 1",
        profile,
        role,
    )[0]
    ((found,),) = rows(
        "SELECT count(*) FROM unnest(?::VARCHAR[]) AS k (name) WHERE regexp_matches(k.name, ?)",
        [name for name, _ in kernels_of(file)],
        pattern,
    )
    assert found == occurrences


def test_the_deepseek_v4_anchor_closes_both_halves_of_every_layer_and_of_nothing_else():
    ((pattern, role, blocks),) = rows(
        "SELECT anchor_pattern, role, blocks_per_layer FROM profiles WHERE profile = 'dsv4_csa_hca' "
        "ORDER BY priority LIMIT 1"
    )
    names = [name for name, _ in synthetic_deepseek_v4()]
    ((found,),) = rows(
        "SELECT count(*) FROM unnest(?::VARCHAR[]) AS k (name) WHERE regexp_matches(k.name, ?)",
        names,
        pattern,
    )
    assert (found, role, blocks) == (5 * 6 * 2, "end", 2)


def test_anchor_roles_speak_of_categories_that_exist():
    assert rows("SELECT category FROM anchor_roles EXCEPT SELECT category FROM category_rules") == []
    assert rows("SELECT category FROM anchor_roles GROUP BY category HAVING count(*) > 1") == []
    assert dict(rows("SELECT category, role || ' ' || blocks_per_layer FROM anchor_roles")) == {
        "norm": "begin 2", "rmsnorm": "begin 2", "attention": "inside 1", "linear_attention": "inside 1",
        "mla": "inside 1", "mla_combine": "inside 1", "communication": "end 2", "allreduce": "end 2",
        "mhc_post": "end 2",
    }  # fmt: skip


@pytest.mark.parametrize(
    "entry", [one for one in modules.relations() if csv_file(one.name).exists()], ids=lambda entry: entry.name
)
def test_no_two_shipped_rows_have_the_same_key_and_none_lacks_it(entry):
    """A connection loads them without the index that would see it."""
    with csv_file(entry.name).open(encoding="utf-8", newline="") as file:
        keys = [tuple(row[column].strip() for column in entry.key) for row in csv.DictReader(file)]
    assert entry.key
    assert len(set(keys)) == len(keys)
    assert all(all(key) for key in keys)
