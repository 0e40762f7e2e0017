"""Drafts and their verification: what has the template of the model, and how many tokens reach its head."""

import pytest

from ...kernel_traces import GEMM, Trace, one_layer_model, tiny_config
from ...lakes import Files, apart, in_one_lake

NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)"
FLASH = "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>(int)"
LAYER = [NORM, GEMM, FLASH, GEMM, NORM, GEMM, "void vllm::act_and_mul_kernel<c10::BFloat16>(int)", GEMM]
JOIN = ["vectorized_gather_kernel<16, int>", NORM, "CatArrayBatchedCopy", GEMM]
HEAD = [NORM, "vectorized_gather_kernel<16, long>", GEMM, "reduce_kernel<512, 1, ReduceOp<ArgMaxOps<float>>>"]
#: As vLLM writes them: 8 requests verify 3 drafts each, beside a prompt of 64 tokens in one step, and a prompt alone.
VERIFIED = "execute_context_0(0)_generation_8(32)"
MIXED = "execute_context_1(64)_generation_8(32)"
PROMPT = "execute_context_1(64)_generation_0(0)"


def steps(folder, *notes, layers=4):
    """Write steps of a model and of a draft with one layer; the product that joins the draft's inputs has shapes."""
    trace, now = Trace(), 1000.0
    for note in notes:
        begin = now - 10
        for place, name in enumerate([*JOIN[:1], *LAYER * layers, *HEAD, *JOIN, *LAYER, *HEAD]):
            joins = place == layers * len(LAYER) + len(HEAD) + len(JOIN)
            op = trace.op("aten::mm", now - 6, 3, [[32, 512], [512, 256]]) if joins else None
            trace.kernel(name, now - 5, now, 10, op)
            now += 11
        trace.note(note, begin, now - begin)
        now += 30
    return trace.write(folder / "drafts.json")


@pytest.mark.parametrize(("layers", "said"), [
    (8, {"num_hidden_layers": 8}),
    # With the layer of multi-token prediction that the model has.
    (8, {"num_hidden_layers": 7, "num_nextn_predict_layers": 1}),
    # Passes of 4 of 8 layers may be of pipeline stages, and so may one of 1.
    (4, {"num_hidden_layers": 8}),
])  # fmt: skip
@in_one_lake
def test_a_draft_has_the_template_of_the_model_only_where_no_pass_runs_all_its_layers(tmp_path, layers, said):
    path = apart(steps(tmp_path, *[VERIFIED] * 4, layers=layers), said)
    lake = yield Files(path, model=tiny_config(tmp_path, **said))
    found = lake.rows(
        "SELECT DISTINCT series, num_layers, template_flop > 0, flop > coalesce(template_flop, 0) FROM pass_mfu "
        "JOIN passes USING (trace_id, device, pass_id) ORDER BY ALL"
    )
    # The draft keeps what its shapes tell.
    assert found == [("model 1", layers, True, False), ("model 2", 1, None if layers == 8 else True, True)]


@in_one_lake
def test_all_tokens_of_requests_that_generate_reach_the_head_of_what_verifies_them(tmp_path):
    lake = yield steps(tmp_path, VERIFIED, VERIFIED, MIXED, VERIFIED, PROMPT, VERIFIED, VERIFIED)
    found = lake.rows(
        "SELECT DISTINCT series, phase, w.requests, new_tokens, logit_rows FROM pass_workloads AS w "
        "JOIN passes USING (trace_id, device, pass_id) ORDER BY ALL"
    )
    # Of a prompt the last token alone does, and so it is of each request of a draft.
    assert found == [
        ("model 1", "decode", 8, 32, 32), ("model 1", "mixed", 9, 96, 33), ("model 1", "prefill", 1, 64, 1),
        ("model 2", "decode", 8, 32, 8), ("model 2", "mixed", 9, 96, 9), ("model 2", "prefill", 1, 64, 1),
    ]  # fmt: skip


@in_one_lake
def test_sglang_computes_the_logits_of_all_tokens_that_it_verifies(tmp_path):
    verified = "step[TARGET_VERIFY bs=2 g_sq=8 g_sqsq=32 g_sqsk=152 g_sk=38]"
    lake = yield one_layer_model(tmp_path, "verified", with_shapes=False, note=verified)
    assert lake.rows("SELECT phase, requests, new_tokens, logit_rows FROM pass_workloads") == [("decode", 2, 8, 8)]
