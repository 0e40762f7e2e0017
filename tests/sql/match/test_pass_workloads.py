"""What a forward pass has to compute: tokens, requests and pairs, by annotations of engines and by shapes."""

import json

import pytest

from ...kernel_traces import one_layer_model, tiny_config
from ...lakes import Files, in_one_lake

COLUMNS = "phase, requests, new_tokens, cached_tokens, pairs, pairs_full, logit_rows, source"
NOTES = {
    # 64 new tokens after 36 old ones: 64 x 36 + 64 x 65 / 2 pairs, and 64 x 100 without the mask.
    "cached": (
        "execute_64_context_1(sq64sk100sqsq4096sqsk6400)_generation_0(sq0sk0sqsq0sqsk0)",
        ("prefill", 1, 64, 36, 4384, 6400, 1, "annotation"),
    ),
    # Two requests generate with 10 and 20 keys: 64 x 65 / 2 + 30 pairs.
    "mixed": (
        "execute_66_context_1(sq64sk64sqsq4096sqsk4096)_generation_2(sq2sk30sqsq2sqsk30)",
        ("mixed", 3, 66, 28, 2110, 4126, 1, "annotation"),
    ),
    # Two requests verify three drafts each with 10 and 20 keys before: 4 x 10 + 4 x 20 + 2 x 10 pairs.
    "speculative": (
        "execute_8_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq8sk38sqsq32sqsk152)",
        ("decode", 2, 8, 30, 140, 152, 1, "annotation"),
    ),
    "short": (
        "execute_context_1(64_4096)_generation_0(0)",
        ("prefill", 1, 64, None, 2080, 4096, 1, "annotation without cached tokens"),
    ),
    # One request has the square of its tokens; of two nothing tells it.
    "tokens of one": (
        "execute_context_1(64)_generation_0(0)",
        ("prefill", 1, 64, None, 2080, 4096, 1, "annotation without cached tokens"),
    ),
    "tokens of two": (
        "execute_context_2(64)_generation_0(0)",
        ("prefill", 2, 64, None, None, None, 1, "annotation without cached tokens"),
    ),
    "generation": (
        "execute_context_0(0)_generation_64(64)",
        ("decode", 64, 64, None, None, None, 1, "annotation without cached tokens"),
    ),
    "extend": ("step[EXTEND bs=2 toks=64]", ("prefill", 2, 64, None, None, None, 1, "annotation of tokens")),
    "decode": ("step[DECODE bs=64]", ("decode", 64, 64, None, None, None, 1, "annotation of tokens")),
    # SGLang's sums: of q x k of both phases what a causal mask hides, half of q x q - q: 6400 - 2016 + 30 - 0 pairs.
    "detailed": (
        "step[MIXED bs=3 c=1 g=2 c_sq=64 c_sk=100 c_sqsq=4096 c_sqsk=6400 g_sq=2 g_sk=30 g_sqsq=2 g_sqsk=30]",
        ("mixed", 3, 66, 64, 4414, 6430, 1, "annotation"),
    ),
    "verified": (
        "step[VERIFY bs=2 g_sq=8 g_sqsq=32 g_sqsk=152 g_sk=38]",
        ("decode", 2, 8, 30, 140, 152, 1, "annotation"),
    ),
    "drafted wide": ("step[DECODE bs=2 g_sq=8]", ("decode", 2, 8, None, None, None, 1, "annotation of tokens")),
    # ATOM: sums over both phases, or none.
    "atom": (
        "decode[bs=2 tok=8 d=2 spec=3 sqsq=32 sqsk=152 sk=38]",
        ("decode", 2, 8, 30, 140, 152, 1, "annotation"),
    ),
    "atom prefill": (
        "prefill[bs=1 tok=64 ctx=[100]]",
        ("prefill", 1, 64, None, None, None, 1, "annotation of tokens"),
    ),
    # Neither annotation nor attention with sequences.
    "nothing": ("", (None, None, None, None, None, None, 1, None)),
}


def noted(folder, name):
    """Write the trace of a pass with one of these annotations."""
    return one_layer_model(folder, note=NOTES[name][0])


@pytest.mark.parametrize("name", NOTES)
@in_one_lake
def test_annotations_tell_what_they_tell_and_no_more(tmp_path, name):
    lake = yield noted(tmp_path, name)
    assert lake.rows(f"SELECT {COLUMNS} FROM pass_workloads") == [NOTES[name][1]]


@in_one_lake
def test_pairs_of_the_pass_are_the_flop_of_packed_attention(tmp_path):
    lake = yield noted(tmp_path, "cached")
    # Four heads of 64: 2 x pairs x 4 x (64 + 64); keys and values of 100 tokens have 2 heads.
    [row] = lake.rows("SELECT DISTINCT flop, flop_full, bytes FROM trace_ops WHERE family = 'attention'")
    assert row == (2 * 4384 * 4 * 128, 2 * 6400 * 4 * 128, 2 * (2 * 64 * 4 * 64 + 2 * 100 * 2 * 64))


@in_one_lake
def test_a_mixed_pass_tells_no_flop_of_attention_only_where_forms_differ(tmp_path):
    lake = yield noted(tmp_path, "mixed")
    [(flop,)] = lake.rows("SELECT DISTINCT flop FROM trace_ops WHERE family = 'attention'")
    assert flop == 2 * 2110 * 4 * 128


@pytest.mark.parametrize("exchange", ["all_to_allv", "_allgather_base"])
@pytest.mark.parametrize("queries", [64, 100, 256])
@in_one_lake
def test_shapes_tell_no_tokens_where_ranks_share_the_sequence_that_each_attends_to_with_some_heads(
    tmp_path, queries, exchange
):
    # As DeepSpeed Ulysses does: products of 64 tokens, and one of four heads attends to 256. Where the layers gather
    # in the place of an exchange, products of 64 tokens are chunks, as with asynchronous tensor parallelism.
    values = ["", "", "", "0.", "0.125", "True", "-1", "-1"]
    inputs = ("flash_fwd_kernel", "flash_attn::_flash_attn_forward", [[1, queries, 1, 64]] * 3, None, values)
    path = one_layer_model(tmp_path, "rank", note="", attention=inputs)
    trace = json.loads(path.read_text())
    kernels = [event for event in trace["traceEvents"] if event["name"] == "flash_fwd_kernel"]
    for kernel in kernels:
        call = {"correlation": kernel["args"]["correlation"] + 9000}
        args = call | {"device": 0, "stream": 9, "Collective name": exchange}
        [launch] = [
            event
            for event in trace["traceEvents"]
            if event["cat"] == "cuda_runtime" and event["args"]["correlation"] == kernel["args"]["correlation"]
        ]
        trace["traceEvents"] += [
            launch | {"args": call},
            kernel | {"name": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "tid": 9, "args": args},
        ]
    path.write_text(json.dumps(trace))
    is_shared = queries == 256 and exchange == "all_to_allv"
    lake = yield Files(path, model=tiny_config(tmp_path))
    pairs = queries * (queries + 1) // 2
    told = (None, 1, queries, 0, pairs, queries**2, 1, "shapes")
    shared = (None, None, None, None, None, None, 1, None)
    assert lake.rows(f"SELECT {COLUMNS} FROM pass_workloads") == [shared if is_shared else told]
    # Two layers of a head of 64: what the rank computes is known, the model's share of the chips is not.
    assert lake.rows("SELECT DISTINCT flop FROM trace_ops WHERE family = 'attention'") == [(2 * pairs * 128,)]
    assert lake.rows("SELECT DISTINCT model_flop IS NULL FROM pass_mfu") == [(is_shared,)]


#: Of 64 tokens: the rows of each product of the head, whether a backward function follows, and the head's rows.
HEADS = {
    "chunks": ((16, 16, 16, 16), False, 64),
    # The last token predicts nothing.
    "chunks of training": ((16, 16, 16, 15), True, 63),
    "computed again": ((64, 64), True, 64),
    # One row each: of the model and of its draft.
    "two models": ((1, 1), False, 1),
}


@in_one_lake
def test_rows_of_a_head_in_chunks_are_those_of_all(tmp_path):
    for name, (rows, trained, _) in HEADS.items():
        path = one_layer_model(tmp_path, name, head_rows=rows)
        trace = json.loads(path.read_text())
        if trained:
            [call] = [event for event in trace["traceEvents"] if event["name"] == "aten::mm"][-1:]
            function = "autograd::engine::evaluate_function: MmBackward0"
            trace["traceEvents"].append(call | {"name": function, "ts": call["ts"] + 500, "args": {}})
        path.write_text(json.dumps(trace))
    lake = yield Files(*[tmp_path / f"{name}.json" for name in HEADS], model=tiny_config(tmp_path))
    found = "SELECT trace, r.phase, logit_rows FROM pass_workloads AS r JOIN traces USING (trace_id) ORDER BY 1"
    assert lake.rows(found) == sorted(
        (name, "training" if trained else "prefill", rows) for name, (_, trained, rows) in HEADS.items()
    )
    # All chunks run the operator, what another model runs does not.
    kernels = (
        "SELECT trace, count(*) FROM operator_kernels JOIN traces USING (trace_id) WHERE op = 'lm_head' GROUP BY 1"
    )
    assert dict(lake.rows(kernels)) == {"chunks": 4, "chunks of training": 4, "computed again": 1, "two models": 1}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # 15 requests of 1024: pairs 15 x 1024 x 1025 / 2; the head sees a row of each.
        ("sglang_qwen3-8b_prefill_mi300x", [("prefill", 15, 15360, 0, 7_872_000, 15_728_640, 15, "annotation")]),
        ("sglang_qwen3-8b_decode_mi300x", [("decode", 32, 32, 32_753, 32_785, 32_785, 32, "annotation")]),
        ("vllm_gpt-oss_prefill_tp_b200",
         [("prefill", 1, 888, None, 888 * 889 // 2, 888**2, 1, "annotation without cached tokens")]),
        # The shapes of attention: 16 sequences of 559; the capture begins inside of the first pass.
        ("hf_qwen1.5-0.5b_h100", [
            (None, None, None, None, None, None, None, None),
            # Nothing in the trace decodes: whole sequences may as well be an encoder's.
            (None, 16, 8944, 0, 16 * 559 * 560 // 2, 16 * 559**2, 16, "shapes"),
        ]),
        # An encoder of images: 4 of 14 x 14 patches and a token for the class; each sees all.
        ("hf_vit-nsfw_h100", [(None, 4, 788, 0, 4 * 197**2, 4 * 197**2, 4, "shapes")]),
        # The forward pass of a step whose backward pass is a pass of its own.
        ("deepseek-v3_train_h800", [("training", None, None, None, None, None, None, None)]),
    ],
)  # fmt: skip
def test_real_passes(real_lake, name, expected):
    with_lake = real_lake(f"kineto/{name}.json.gz")
    assert with_lake.rows(f"SELECT {COLUMNS} FROM pass_workloads ORDER BY pass_id") == expected


def test_a_table_of_an_npu_tells_tokens_and_requests(real_lake):
    with_lake = real_lake("ascend/synthetic/forward_passes.csv")
    found = with_lake.rows(f"SELECT {COLUMNS} FROM pass_workloads ORDER BY pass_id")
    assert found[0] == ("prefill", 1, 128, None, None, None, 1, "shapes of tokens")
    assert set(found[1:]) == {("decode", 16, 16, None, None, None, 16, "shapes of tokens")}
