"""Layers of a pipeline's stage are layers of the model behind those of the stages before it."""

import json

import pytest

from ...ascend_captures import Capture, Model
from ...lakes import Files, in_one_lake

#: Six layers, the first two without experts.
CONFIG = {
    "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 6, "hidden_size": 5120,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 128, "intermediate_size": 1600,
    "moe_intermediate_size": 1600, "num_experts": 256, "num_experts_per_tok": 8, "mlp_only_layers": [0, 1],
    "decoder_sparse_step": 1, "vocab_size": 151936, "torch_dtype": "bfloat16",
}  # fmt: skip
FIRST, LAST = "gqa+dense gqa+dense gqa+moe", "gqa+moe gqa+moe gqa+moe"
KINDS = """
    SELECT string_agg(layer_kind, ' ' ORDER BY layer_id) FROM (
        SELECT DISTINCT layer_id, layer_kind FROM template_vs_trace WHERE pass_id = 1 AND layer_id >= 0
    )"""
RUN = """
    SELECT string_agg(DISTINCT layer_kind, ' ' ORDER BY layer_kind) FROM operator_kernels
    WHERE pass_id = 1 AND layer_kind <> 'ends'"""
PASSES = "SELECT num_layers, layer_count, complete FROM passes ORDER BY pass_id"


@pytest.mark.parametrize(
    ("stage", "name", "kinds"),
    [
        (0, "dp0_pp0_tp0_dcp0_ep0_rank0", FIRST),
        (1, "dp0_pp1_tp0_dcp0_ep0_rank1", LAST),
        # The name does not give the stage, but the layers of the last one run experts from the first on.
        (0, "rank0", FIRST),
        (1, "rank1", LAST),
    ],
)
@in_one_lake
def test_the_first_layers_of_a_later_stage_are_not_the_first_of_the_model(tmp_path, stage, name, kinds):
    capture = Capture()
    capture.wait(len(name))  # else both were the same trace
    for _ in range(3):
        if stage:
            capture.collective("hcom_receive_")
        Model(3, mixtures=0 if stage else 2, head=not stage, tail=bool(stage)).run(capture, 16, 16)
        if not stage:
            capture.collective("hcom_send_")
        capture.wait(3000)
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    folder = tmp_path / f"{name}_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    lake = yield Files(capture.write(folder / "kernel_details.csv"), model=config, pp=2)
    assert lake.sql(KINDS).fetchall() == [(kinds,)]
    assert lake.sql(RUN).fetchall() == [(" ".join(sorted(set(kinds.split()))),)]
    # The config counts the layers of all stages.
    assert lake.sql(PASSES).fetchall() == [(3, 3, True)] * 3


def test_a_trace_without_a_model_is_compared_with_none(real_lake):
    lake = real_lake("kineto/hf_vit-nsfw_h100.json.gz")
    assert lake.rows("SELECT min(new_tokens) > 0 FROM pass_workloads") == [(True,)]
    assert lake.rows("FROM template_vs_trace") == []
