"""Layers of several kinds, in turns: each begins with its own norm and ends with its own feed-forward, the last too.

Kernels follow one another; those of a layer are written down by kind. A pass begins with the lookup of an embedding and
ends with the final norm, the head and an arg-max, and is run four times.
"""

import json
from itertools import groupby

import pytest

from ...kernel_traces import Trace
from ...lakes import Files, in_one_lake

LOOKUP = (
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"
)
NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>"
TE_NORM = "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<int>"
QK_NORM = "void vllm::rms_norm_kernel<c10::BFloat16>"
ARG_MAX = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float> > >"
ALL_REDUCE = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>"
ATTENTION = "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > >"
CACHED = ["void vllm::reshape_and_cache_flash_kernel<c10::BFloat16>", ATTENTION, "nvjet_o"]
ROTATED = ["nvjet_qkv", QK_NORM, QK_NORM, "void vllm::rotary_embedding_kernel<c10::BFloat16>", *CACHED]
PLAIN = ["nvjet_qkv", *CACHED]
DELTA = [
    "nvjet_in", "_causal_conv1d_update_kernel", "fused_gdn_gating_kernel",
    "fused_recurrent_gated_delta_rule_packed_decode_kernel", "_layer_norm_fwd_1pass_kernel", "nvjet_out",
]  # fmt: skip
#: The parameters of the scan are products of what the convolution yields.
MAMBA = [
    "nvjet_in", "void causal_conv1d_update_kernel<64, 4>", "nvjet_x", QK_NORM, QK_NORM, QK_NORM, "nvjet_dt",
    "_selective_scan_update_kernel", "nvjet_out",
]  # fmt: skip
CONVOLUTION = ["nvjet_in", "_causal_conv1d_update_kernel", "nvjet_out"]
#: Attention to the keys of four ranks, which send them around while they compute.
EXCHANGED = ["ncclDevKernel_SendRecv", ATTENTION]
MERGED = ["fused_sub_sigmoid_mul_sub", "void at::native::vectorized_elementwise_kernel<4, log_sigmoid>"]
RING = [
    "nvjet_qkv", "void vllm::rotary_embedding_kernel<c10::BFloat16>", *EXCHANGED, *EXCHANGED, *MERGED, *EXCHANGED,
    *MERGED, ATTENTION, *MERGED, "nvjet_o",
]  # fmt: skip
DENSE = ["nvjet_up", "void vllm::act_and_mul_kernel<c10::BFloat16>", "nvjet_down"]
EXPERTS = [
    "nvjet_router", "void vllm::moe::topkGating<8>", "moe_align_block_size_kernel", "fused_moe_kernel",
    "void vllm::act_and_mul_kernel<c10::BFloat16>", "fused_moe_kernel", "void vllm::moe::moe_sum_kernel<8>",
]  # fmt: skip
#: Layers, a mixer and a feed-forward each, and whether each is followed by an all-reduce.
MODELS = {
    # Qwen3-Next: attention in every fourth layer, which no pass begins with.
    "attention among linear attention": ([(DELTA, EXPERTS)] * 3 + [(ROTATED, EXPERTS)]) * 3,
    # Llama 4: every other layer has experts, every fourth no rotation.
    "no rotation in every fourth": [(ROTATED, DENSE), (ROTATED, EXPERTS), (ROTATED, DENSE), (PLAIN, EXPERTS)] * 3,
    "experts in every other, last": [(ROTATED, DENSE), (ROTATED, EXPERTS)] * 6,
    "experts in every other, first": [(ROTATED, EXPERTS), (ROTATED, DENSE)] * 6,
    # Jamba: attention in one of eight layers, experts in every other.
    "attention among Mamba-1": [
        (ROTATED if nth % 8 == 4 else MAMBA, EXPERTS if nth % 2 else DENSE) for nth in range(16)
    ],
    # LFM2: convolutions are mixers of their own.
    "convolutions among attention": ([(CONVOLUTION, DENSE)] * 2 + [(ROTATED, DENSE)]) * 4,
    "a ring of ranks": [(RING, DENSE)] * 12,
    "experts in every fourth": ([(ROTATED, DENSE)] * 3 + [(ROTATED, EXPERTS)]) * 3,
}


def write(path, passes, first=(LOOKUP,), last=(NORM, "nvjet_head", ARG_MAX), now=0.0):
    """Write passes, each a list of layers, of which each is a list of kernels; return the path."""
    trace = Trace()
    for layers in passes:
        for name in (*first, *(name for layer in layers for name in layer), *last):
            trace.kernel(name, now - 5, now, 3.0)
            now += 4
        now += 80
    return trace.write(path)


def layers_of(lake):
    """Return the passes, each a list of layers, of which each is a list of kernels."""
    found = lake.rows("""
        SELECT pass_id, list(kernels.name ORDER BY kernels.start_ns)
        FROM layer_kernels JOIN kernels USING (trace_id, kernel_id)
        GROUP BY pass_id, layer_id ORDER BY pass_id, layer_id
    """)
    return [[names for _, names in layers] for _, layers in groupby(found, key=lambda row: row[0])]


@pytest.mark.parametrize("reduced", [False, True], ids=["alone", "tensor parallel"])
@pytest.mark.parametrize("model", MODELS)
@in_one_lake
def test_each_layer_has_its_own_kernels(tmp_path, model, reduced):
    end = [ALL_REDUCE] if reduced else []
    layers = [[NORM, *mixer, *end, NORM, *feed_forward, *end] for mixer, feed_forward in MODELS[model]]
    lake = yield write(tmp_path / f"trace.{reduced}.json", [layers] * 4)
    assert lake.rows("SELECT pass_id, complete FROM passes ORDER BY pass_id") == [(nth, True) for nth in range(4)]
    assert layers_of(lake) == [layers] * 4


@pytest.mark.parametrize(
    ("model", "config", "types"),
    [
        # Llama 4: of the layers with experts every second one rotates nothing.
        (
            "no rotation in every fourth",
            {"interleave_moe_layer_step": 2, "num_local_experts": 16},
            [("DENSE", None, 6), ("MOE", "B", 3), ("MOE", "C", 3)],
        ),
        (
            "experts in every other, last",
            {"interleave_moe_layer_step": 2, "num_local_experts": 16},
            [("DENSE", None, 6), ("MOE", None, 6)],
        ),
        # Where the config gives the attention, it says all.
        (
            "attention among linear attention",
            {"full_attention_interval": 4, "first_k_dense_replace": 0, "num_experts": 8},
            [("LINEAR_ATTN", None, 9), ("FULL_ATTN", None, 3)],
        ),
        (
            "attention among linear attention",
            {"first_k_dense_replace": 0, "num_experts": 8},
            [("MOE", "A", 9), ("MOE", "B", 3)],
        ),
    ],
)
@in_one_lake
def test_a_config_that_tells_only_where_experts_are_hides_no_kind_of_attention(tmp_path, model, config, types):
    layers = [[NORM, *mixer, NORM, *feed_forward] for mixer, feed_forward in MODELS[model]]
    path = write(tmp_path / f"{model} {len(config)}.json", [layers] * 4, now=10.0 * len(config))
    lake = yield Files(path, config=json.dumps({"num_hidden_layers": len(layers), **config}))
    query = "SELECT layer_type, layer_kind, layers FROM layer_types WHERE pass_id = 1 ORDER BY layer_ids"
    assert lake.rows(query) == types


ARGUMENTS = "(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int)"
FIRST_NORM = f"void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>{ARGUMENTS}"
ADD_NORM = f"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>{ARGUMENTS}"


@pytest.mark.parametrize("inner_norms", [0, 2])
@in_one_lake
def test_norms_of_flashinfer_open_both_halves_of_a_layer(tmp_path, inner_norms):
    # Norms of queries and keys are the kernel that opens layer 0, and no half.
    attention = ["nvjet_qkv", *[FIRST_NORM] * inner_norms, "rope_kernel", *CACHED]
    layers = [[FIRST_NORM if nth == 0 else ADD_NORM, *attention, ADD_NORM, *DENSE] for nth in range(8)]
    lake = yield write(tmp_path / "trace.json", [layers] * 4, last=(ADD_NORM, "nvjet_head", ARG_MAX))
    assert lake.rows("SELECT DISTINCT half, kernel_count FROM layer_halves ORDER BY half") == [
        ("attn", 6 + inner_norms), ("ffn", 4),
    ]  # fmt: skip
    assert lake.rows("SELECT count(*) FROM layer_halves") == [(4 * 8 * 2,)]


AR_NORM = (
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport"
    "<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, true, true>"
)
#: DeepSeek's prefill: the norms of both latents, and products behind them.
LATENTS = ["nvjet_qkv_a", QK_NORM, QK_NORM, "nvjet_q_b", "nvjet_kv_b", *CACHED]


@pytest.mark.parametrize(
    ("first", "mixer"),
    [([AR_NORM], ROTATED), ([ALL_REDUCE, QK_NORM], ROTATED), ([AR_NORM], LATENTS)],
    ids=["2 N norms", "2 N + 1 norms", "of latents"],
)
@in_one_lake
def test_norms_within_the_attention_open_no_half_where_an_all_reduce_computes_the_others(tmp_path, first, mixer):
    # The all-reduce that computes the next layer's norm ends the layer that it reduces.
    layers = [[*mixer, AR_NORM, *DENSE, AR_NORM] for _ in range(6)]
    lake = yield write(tmp_path / "trace.json", [layers] * 4, (LOOKUP, *first), ("nvjet_head", ARG_MAX))
    assert lake.rows("SELECT pass_id, num_layers, complete FROM passes ORDER BY pass_id") == [
        (nth, 6, True) for nth in range(4)
    ]
    assert [names[1:] for names in layers_of(lake)] == [layers[1:]] * 4
    halves = "SELECT half, count(*) FROM layer_halves GROUP BY half ORDER BY half"
    assert lake.rows(halves) == [("attn", 4 * 6), ("ffn", 4 * 6)]


#: Latent attention: of a prompt's tokens, of a prompt's chunk to keys before it, and of decode.
PROMPT = ["nvjet_kv_b", ATTENTION]
CHUNK = [*PROMPT, "cp_gather_cache", *PROMPT, "void vllm::merge_attn_states_kernel<__nv_bfloat16, 128u>"]
DECODE = [
    "nvjet_absorbed", "void sm90::flash_fwd_splitkv_mla_kernel<cutlass::bfloat16_t>",
    "void flash_fwd_mla_combine_kernel<cutlass::bfloat16_t>", "nvjet_up",
]  # fmt: skip


@pytest.mark.parametrize(
    ("batches", "config"),
    [
        ([PROMPT, PROMPT, DECODE, [*PROMPT, *DECODE], DECODE, [*CHUNK, *DECODE]], None),
        # The profile of DeepSeek's configs knows the kernels of decode.
        ([PROMPT, PROMPT, PROMPT, DECODE], {"kv_lora_rank": 512, "num_hidden_layers": 6}),
    ],
    ids=["mixed", "few decodes"],
)
@in_one_lake
def test_latent_attention_of_prompts_and_of_decode_is_of_the_same_layers(tmp_path, batches, config):
    layers = [
        [[NORM, "nvjet_qkv_a", QK_NORM, QK_NORM, "nvjet_q_b", *attention, "nvjet_o", NORM, *EXPERTS]] * 6
        for attention in batches
    ]
    path = write(tmp_path / f"trace.{len(batches)}.json", layers)
    lake = yield Files(path, config=json.dumps(config)) if config else path
    assert layers_of(lake) == layers


LATENT = ["nvjet_q", "nvjet_kv", QK_NORM, "nvjet_up", *CACHED]
ALTERNATING = ["nvjet_qkv", "_causal_conv1d_update_kernel", "fused_recurrent_gated_delta_rule_fwd_kernel", "nvjet_o"]


@pytest.mark.parametrize(
    ("mixers", "passes"),
    [
        # Of 8 layers two have an inner norm: 19 norms per pass. Eight passes have 8 * 17 + 16: nearly nine of 17.
        ([DELTA, DELTA, DELTA, LATENT] * 2, 7),
        ([DELTA, DELTA, DELTA, LATENT] * 2, 8),
        # Linear attention in every other layer, which is shorter than what is between.
        ([ALTERNATING, ROTATED] * 4, 6),
    ],
    ids=["seven passes", "eight passes", "in turns"],
)
@in_one_lake
def test_norms_within_some_layers_move_no_pass(tmp_path, mixers, passes):
    # The first norm has no residual input: it is the kernel of the norms within layers.
    layers = [[NORM if nth else QK_NORM, *mixer, NORM, *EXPERTS] for nth, mixer in enumerate(mixers)]
    lake = yield write(tmp_path / "trace.json", [layers] * passes)
    assert lake.rows("SELECT pass_id, num_layers, complete FROM passes ORDER BY pass_id") == [
        (nth, 8, True) for nth in range(passes)
    ]
    assert layers_of(lake) == [layers] * passes


#: Nemotron-H: Mamba, feed-forward or attention is a layer of its own, with one norm.
SINGLE = {
    "M": ["nvjet_in", "_causal_conv1d_update_kernel", "_selective_scan_update_kernel", "nvjet_out"],
    "-": ["nvjet_up", "relu_squared_kernel", "nvjet_down"],
    "*": PLAIN,
}


@in_one_lake
def test_layers_with_one_norm_each_are_found_where_their_number_is_given(tmp_path):
    # 14 layers, 8 of which have a mixer: 15 norms per pass, and 8 begins of attention.
    layers = [[NORM if nth else QK_NORM, *SINGLE[kind]] for nth, kind in enumerate("M-M-M*-M-M-M*-")]
    lake = yield Files(write(tmp_path / "trace.json", [layers] * 5), num_layers=14)
    assert layers_of(lake) == [layers] * 5
    # Fewer attentions than layers between two marks are no contradiction.
    assert lake.rows("SELECT severity FROM layer_checks WHERE \"check\" = 'layers_between_marks'") == [("ok",)]


@in_one_lake
def test_halves_of_a_pipeline_stage_s_layers_are_no_layers_of_the_model(tmp_path):
    # 6 passes of 8 layers, 2 norms and an attention each: 96 norms, 48 attentions. Passes of 32 norms would be 3, with
    # 8 attentions each for what runs between two lookups: 24.
    trace, now = Trace(), 0.0
    for _ in range(6):
        for name in (LOOKUP, *[NORM, *PLAIN, NORM, *DENSE] * 8, "ncclDevKernel_SendRecv"):
            trace.kernel(name, now - 5, now, 3.0, stream=20 if name.startswith("nccl") else 7)
            now += 4
        now += 80
    lake = yield Files(trace.write(tmp_path / "stage of 32.json"), num_layers=32)
    assert lake.rows(f"""
        SELECT pass_id, layer_id, count(*) FILTER (name = '{NORM}') AS norms
        FROM layer_kernels GROUP BY pass_id, layer_id HAVING norms <> 2
    """) == []  # fmt: skip


def micro_batches(schedule, path, times=4):
    """Write passes of 4 layers with experts, or of 8 `in one pass`; return the path."""
    trace, now = Trace(), 0.0
    attention = [NORM, *ROTATED, NORM, "nvjet_router", "moe_fused_gate_kernel<float>"]
    exchange = "void deep_ep::intranode::{}<8>(int4*)"
    halves = [[*attention, exchange.format("dispatch")], ["fused_moe_kernel", DENSE[1], exchange.format("combine")]]
    layers = [name for half in halves for name in half] * 4
    passes = {
        # While one micro-batch exchanges tokens with experts, the other one computes.
        "in turns": [[name for half in halves for name in half * 2] * 4],
        "in sequence": [layers] * 2,
        # A token is drawn after every second pass; all end with a norm.
        "in pairs": [[*layers, NORM, *layers]],
        "in one pass": [layers * 2],
    }[schedule]
    for _ in range(times):
        for names in passes:
            for name in (LOOKUP, *names, NORM, "nvjet_head", ARG_MAX):
                trace.kernel(name, now - 5, now, 3.0, stream=20 if "deep_ep" in name else 7)
                now += 4
            now += 80
    return trace.write(path)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("in turns", (8, "warning")),
        ("in one pass", (8, "warning")),
        ("in sequence", (0, "ok")),
        ("in pairs", (0, "ok")),
    ],
)
@in_one_lake
def test_more_attentions_between_two_marks_than_the_layers_given_are_reported(tmp_path, schedule, expected):
    lake = yield Files(micro_batches(schedule, tmp_path / f"given {schedule}.json"), num_layers=4)
    assert lake.rows("SELECT value, severity FROM layer_checks WHERE \"check\" = 'layers_between_marks'") == [expected]


@pytest.mark.parametrize(("schedule", "expected"), [("in turns", (9, "warning")), ("in sequence", (0, "ok"))])
@in_one_lake
def test_layers_that_choose_experts_and_run_none_are_of_micro_batches_that_take_turns(tmp_path, schedule, expected):
    # 3 passes in which 8 attentions alternate: every second is followed by the experts of both micro-batches, except
    # for the last layer of a pass, which is cut where others without experts end.
    lake = yield Files(micro_batches(schedule, tmp_path / f"{schedule}.json", times=3))
    assert lake.rows("SELECT value, severity FROM layer_checks WHERE \"check\" = 'interleaved_layers'") == [expected]


BACKWARD = [
    "nvjet_dgrad", "nvjet_wgrad", "void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<int>",
    "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x128x128", "nvjet_dgrad", "nvjet_wgrad",
]  # fmt: skip


@in_one_lake
def test_microbatches_of_a_pipeline_s_first_stage_are_passes(tmp_path):
    # One forward, one backward: three microbatches run before the first comes back; of what parts passes there is no
    # more than the lookup between them.
    trace, now = Trace(), 0.0
    attention = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_128x128x128"
    layer = [NORM, "nvjet_qkv", "fused_rope_forward_kernel", attention, "nvjet_o", NORM, *DENSE]
    for _ in range(3):
        for kind in "FFFBFBBB":
            names = ["embedding_kernel", *layer * 4, "ncclDevKernel_SendRecv"] if kind == "F" else BACKWARD * 4
            for name in names:
                trace.kernel(name, now - 5, now, 3.0)
                now += 4
        trace.kernel("void multi_tensor_apply_kernel<AdamFunctorMaster<float> >", now, now + 5, 100.0)
        now += 150
    lake = yield trace.write(tmp_path / "stage.json")
    assert lake.rows("SELECT num_layers, complete, count(*) FROM passes GROUP BY ALL") == [(4, True, 12)]


@pytest.mark.parametrize("is_last", [False, True], ids=["between", "last"])
@in_one_lake
def test_microbatches_of_a_pipeline_s_later_stages_are_passes(tmp_path, is_last):
    # Each half ends with a collective on a stream of its own, and there the stage receives and sends, too. The last one
    # has head and loss, and no pass runs before the first comes back; in those between nothing tells passes but that.
    trace, now = Trace(), 0.0
    half = [TE_NORM, "ncclDevKernel_AllGather", "nvjet_mm", "{}", "nvjet_mm", "ncclDevKernel_ReduceScatter"]
    layer = [name.format(inner) for inner in (ATTENTION, "silu_mul_kernel") for name in half]
    head = [TE_NORM, "nvjet_head", "cunn_SoftMaxForward", "nll_loss_forward_reduce_kernel"]
    exchange = ["ncclDevKernel_SendRecv"]
    # The backward ends as a layer does before its second norm: with products of the forward's name and a norm.
    backward = ["ncclDevKernel_AllGather", *BACKWARD[:4], "nvjet_mm", "nvjet_mm", BACKWARD[2]]
    passes = {
        "F": [*exchange, *layer * 4, *(head if is_last else exchange)],
        "B": [*([] if is_last else exchange), *backward * 4, *exchange],
    }
    for _ in range(3):
        for kind in "FBFBFBFB" if is_last else "FFFBFBBB":
            for name in passes[kind]:
                stream = 20 if name.startswith("nccl") else 7
                trace.kernel(name, now - 5, now, 3.0, stream=stream)
                now += 4
        trace.kernel("void multi_tensor_apply_kernel<AdamFunctorMaster<float> >", now, now + 5, 100.0)
        now += 150
    lake = yield trace.write(tmp_path / f"{is_last}.json")
    assert lake.rows("SELECT num_layers, complete, count(*) FROM passes GROUP BY ALL") == [(4, True, 12)]
    # From the first norm to the second reduce-scatter: 12 kernels, 4 apart, the last of which takes 3.
    assert lake.rows("SELECT kernel_count, comm_count, wall_us, count(*) FROM layers GROUP BY ALL") == [(12, 4, 47, 48)]


@in_one_lake
def test_passes_of_training_between_those_of_a_rollout_are_its_own(tmp_path):
    # A rollout of 5 passes, by an engine whose norms are other kernels than those of the training pass that follows.
    # A pass is a lookup, 4 layers, and what ends it: 3 kernels of the rollout, 4 of training with 24 of the backward
    # and the optimizer. Of the rollout's norms alone 15 passes were to be seen.
    trace, now = Trace(), 0.0
    flash = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false> >"
    rollout = [LOOKUP, *[NORM, "nvjet_qkv", flash, "nvjet_o", NORM, *DENSE] * 4, NORM, "nvjet_head", ARG_MAX]
    layer = [
        TE_NORM, "nvjet_qkv", "fused_rope_forward_kernel", flash, "nvjet_o", TE_NORM, "nvjet_up", "silu_kernel",
        "nvjet_down",
    ]  # fmt: skip
    training = [
        LOOKUP, *layer * 4, TE_NORM, "nvjet_head", "cunn_SoftMaxForward", "nll_loss_forward_reduce_kernel",
        *BACKWARD * 4, "void multi_tensor_apply_kernel<AdamFunctorMaster<float> >",
    ]  # fmt: skip
    for name in (rollout * 5 + training) * 3:
        trace.kernel(name, now - 5, now, 3.0)
        now += 4
    lake = yield trace.write(tmp_path / "rollouts.json")
    assert lake.rows("SELECT num_layers, complete, count(*) FROM passes GROUP BY ALL") == [(4, True, 18)]
    counted = "SELECT kernel_count, count(*) FROM layers WHERE pass_id % 6 {} 5 GROUP BY ALL"
    assert lake.rows(counted.format("<>")) == [(8, 60)]
    assert lake.rows(counted.format("=")) == [(9, 12)]
    assert lake.rows(
        "SELECT pass_id % 6 = 5 AS trains, part, kernel_count, count(*) FROM pass_parts "
        "WHERE part IN ('prologue', 'epilogue') GROUP BY ALL ORDER BY ALL"
    ) == [(False, "epilogue", 3, 15), (False, "prologue", 1, 15), (True, "epilogue", 29, 3), (True, "prologue", 1, 3)]
