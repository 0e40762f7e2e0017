"""Mixers in several parts or without a feed-forward, and towers of images within the steps of a server."""

import pytest

from ...kernel_traces import Trace
from ...lakes import in_one_lake
from .test_layers_of_kinds import (
    ARG_MAX,
    DENSE,
    EXPERTS,
    LOOKUP,
    NORM,
    PLAIN,
    QK_NORM,
    ROTATED,
    SINGLE,
    layers_of,
    write,
)

#: Kimi's delta attention as vLLM runs it: gates of the decay and of the output before three convolutions.
GATES = [
    "nvjet_q", "nvjet_k", "nvjet_v", "nvjet_b", "triton_poi_fused_sigmoid_1", "nvjet_fa", "nvjet_fb",
    "kda_gate_fwd_kernel", "nvjet_ga", "nvjet_gb",
]  # fmt: skip
DECODE = ["_causal_conv1d_update_kernel"] * 3 + ["fused_recurrent_gated_delta_rule_fwd_kernel"]
PREFILL = [
    *["_causal_conv1d_fwd_kernel"] * 3, "l2norm_fwd_kernel2", "l2norm_fwd_kernel2", "chunk_local_cumsum_vector_kernel",
    "chunk_kda_scaled_dot_kkt_fwd_kernel_intra_sub_inter", "recompute_w_u_fwd_kernel", "chunk_gla_fwd_kernel_o",
]  # fmt: skip


@pytest.mark.parametrize("delta", [DECODE, PREFILL], ids=["decode", "prefill"])
@in_one_lake
def test_gates_and_convolutions_of_delta_attention_are_one_mixer(tmp_path, delta):
    mixer = [*GATES, *delta, "layer_norm_gated_fwd_kernel", "nvjet_o"]
    layers = [[NORM, *(ROTATED if n % 4 == 3 else mixer), NORM, *(EXPERTS if n else DENSE)] for n in range(8)]
    lake = yield write(tmp_path / f"kda {len(delta)}.json", [layers] * 4)
    assert layers_of(lake) == [layers] * 4


@pytest.mark.parametrize("kinds", ["M-M-M*-M-M-M*-M", "MM-M*-MM-M*-MM-M"])
@in_one_lake
def test_layers_with_one_norm_each_are_found_by_mixers_without_a_feed_forward(tmp_path, kinds):
    layers = [[NORM if nth else QK_NORM, *SINGLE[kind]] for nth, kind in enumerate(kinds)]
    lake = yield write(tmp_path / f"{len(kinds)} layers.json", [layers] * 5)
    assert layers_of(lake) == [layers] * 5


@in_one_lake
def test_a_feed_forward_behind_all_attentions_and_no_mamba_is_of_their_layers(tmp_path):
    """As in Zamba2: nothing shows that it is a layer of its own."""
    attention = [NORM, *PLAIN, NORM, *DENSE]
    layers = [attention if nth % 4 == 3 else [NORM, *SINGLE["M"]] for nth in range(12)]
    lake = yield write(tmp_path / "shared.json", [layers] * 5)
    assert lake.rows("SELECT DISTINCT num_layers FROM passes") == [(12,)]


@pytest.mark.parametrize("noted", [False, True], ids=["kernels alone", "steps"])
@in_one_lake
def test_a_step_of_the_server_joins_no_tower_with_the_model_behind_it(tmp_path, noted):
    """Between both are a norm, products and gathers, less than between steps: no tokens are drawn."""
    tower = ["sm80_xmma_fprop_implicit_gemm_bf16", "index_elementwise_kernel<128, 4>"]
    tower += [QK_NORM, "nvjet_v", *PLAIN, QK_NORM, *DENSE] * 6
    tower += [QK_NORM, "nvjet_m", "GeluCUDAKernelImpl", "nvjet_m", "vectorized_gather_kernel<16, long>"]
    model = [
        "_compute_slot_mapping_kernel",
        *[NORM, *PLAIN, NORM, *DENSE] * 4,
        NORM,
        "index_head",
        "nvjet_head",
        ARG_MAX,
    ]
    trace, now = Trace(), 0.0
    for kind in "ttittit":
        begun = now
        for name in (*(tower if kind == "i" else [LOOKUP, "_block_tables_kernel"]), *model):
            trace.kernel(name, now - 5, now, 3.0)
            now += 4
        if noted:
            number = f"execute_context_{int(kind == 'i')}(64)_generation_8(8)"
            trace.note(number, begun - 5.5, now - begun)
        now += 80
    lake = yield trace.write(tmp_path / f"images {noted}.json")
    assert lake.rows("SELECT num_layers FROM passes ORDER BY start_ns") == [(n,) for n in (4, 4, 6, 4, 4, 4, 6, 4, 4)]


@in_one_lake
def test_mixers_without_a_feed_forward_are_layers_where_no_kernel_is_named_after_their_norms(tmp_path):
    """As in Zamba, whose norms are elementwise operators in eager mode, and some feed-forwards have activations."""
    norm = [
        "pow_tensor_scalar_kernel_impl",
        "reduce_kernel<512, 1, ReduceOp<float, MeanOps<float>>>",
        "rsqrt_kernel_cuda",
    ]
    mixer = ["nvjet_in", "causal_conv1d_fwd_kernel", "nvjet_x", "nvjet_dt", "selective_scan_fwd_kernel", "nvjet_out"]
    kinds = {"M": mixer, "*": [*PLAIN, *norm, *DENSE]}
    lake = yield write(tmp_path / "eager.json", [[[*norm, *kinds[kind]] for kind in "MMM*MMM*MM"]] * 4)
    assert lake.rows("SELECT num_layers, complete FROM passes") == [(10, True)] * 4
