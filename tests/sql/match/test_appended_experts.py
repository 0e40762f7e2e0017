"""Shared experts that an engine appends to the routed ones: no product of their own is left in a layer."""

import json

import pytest

from ...kernel_traces import Trace
from ...lakes import Files, in_one_lake
from ..layers.test_layers_of_kinds import ARG_MAX, LOOKUP, NORM

CONFIG = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 512,
    "intermediate_size": 1024, "moe_intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 8, "q_lora_rank": 128, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
    "v_head_dim": 32, "n_routed_experts": 16, "n_shared_experts": 1, "num_experts_per_tok": 4,
    "first_k_dense_replace": 1, "vocab_size": 1000, "torch_dtype": "bfloat16",
}  # fmt: skip
ATTENTION = [
    "Cijk_qkv_a", "Cijk_q_b", "_batched_gemm_a16wfp4", "_fused_qk_rope_cat_and_cache_mla_kernel",
    "aiter::mla_dec_stage1_bf16", "_batched_gemm_a16wfp4", "Cijk_o",
]  # fmt: skip
DENSE = ["Cijk_up", "void aiter::act_and_mul_kernel<16>", "Cijk_down"]
ROUTED = ["Cijk_router", "void aiter::grouped_topk_opt_sort_kernel<float>", "aiter::fmoe_bf16_g1u1_vs_silu_1tg_32x256"]
SHARED = ["Cijk_shared_up", "void aiter::act_and_mul_kernel<16>", "Cijk_shared_down"]


@pytest.mark.parametrize("appended", [True, False])
@in_one_lake
def test_products_beside_experts_have_their_places_whether_shared_ones_run_apart(tmp_path, appended):
    trace, now = Trace(), 0.0
    experts = ROUTED if appended else [ROUTED[0], *SHARED, *ROUTED[1:]]
    layers = [[NORM, *ATTENTION, NORM, *(experts if nth else DENSE)] for nth in range(4)]
    for _ in range(3):
        begun = now
        for name in (LOOKUP, *(name for layer in layers for name in layer), NORM, "Cijk_head", ARG_MAX):
            trace.kernel(name, now - 5, now, 3.0)
            now += 4
        trace.note("execute_context_0(0)_generation_8(8)", begun - 5.5, now - begun)
        now += 80
    config = tmp_path / f"config {appended}.json"
    config.write_text(json.dumps(CONFIG))
    lake = yield Files(trace.write(tmp_path / f"decode {appended}.json"), model=config)
    found = lake.rows(
        "SELECT unit, map_rule, count(*) FROM kernel_roofline WHERE pass_id = 1 AND layer_id > 0"
        " AND category IN ('gemm', 'moe_gemm') GROUP BY ALL ORDER BY 1"
    )
    one = [
        "o_proj",
        "q_absorb",
        "q_b",
        "qkv_a_proj",
        "router",
        *([] if appended else ["shared_down", "shared_gate_up"]),
    ]
    assert found == sorted([("experts", "category", 3), *((unit, "position", 3) for unit in [*one, "v_up"])])
