"""A draft whose attention has other kernels for prompts than for tokens that are decoded."""

from ...kernel_traces import GEMM, Trace
from ...lakes import in_one_lake

NORM = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(int)"
ADD_NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)"
PROMPTS = [GEMM, "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>(int)"]
DECODES = [GEMM, "flash_fwd_splitkv_mla_kernel<bfloat16_t, 576>", "flash_fwd_mla_combine_kernel<bfloat16_t>", GEMM]
HEAD = ["vectorized_gather_kernel<16, long>", "nvjet_head", "reduce_kernel<512, 1, ReduceOp<ArgMaxOps<float>>>"]
KINDS = {"decode": DECODES, "prefill": PROMPTS, "mixed": PROMPTS + DECODES}


def layer(opening, kind):
    """A layer of latent attention; prompts come before tokens that are decoded."""
    return [opening, GEMM, NORM, NORM, GEMM, *KINDS[kind], GEMM, ADD_NORM, GEMM, "act_and_mul_kernel", GEMM]


@in_one_lake
def test_the_draft_of_a_batch_of_prompts_alone_is_a_pass_among_those_of_mixed_batches(tmp_path):
    kinds = ["decode", "decode", "mixed", "decode", "decode", "prefill", "decode", "decode"]
    trace, now = Trace(), 1000.0
    for kind in kinds:
        names = ["vectorized_gather_kernel<16, int>"]
        for number in range(4):
            names += layer(ADD_NORM if number else NORM, kind)
        names += [ADD_NORM, *HEAD, "vectorized_gather_kernel<16, int>", NORM, "CatArrayBatchedCopy", "nvjet_joins"]
        names += [*layer(NORM, kind), ADD_NORM, *HEAD]
        for name in names:
            trace.kernel(name, now - 5, now, 10)
            now += 11
        now += 30
    lake = yield trace.write(tmp_path / "drafts.json")
    found = lake.sql("SELECT series, num_layers, complete FROM passes ORDER BY pass_id").fetchall()
    assert found == [("model 1", 4, True), ("model 2", 1, True)] * len(kinds)
    # From its first norm to its last product: 10 kernels beside those of the attention.
    times = lake.sql("SELECT kernel_count FROM layers WHERE series = 'model 2' ORDER BY pass_id").fetchall()
    assert [count for (count,) in times] == [10 + len(KINDS[kind]) for kind in kinds]
