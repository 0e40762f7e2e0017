"""What was recorded on a GPU from work that is known: passes, layers, stages and FLOP are those of the programs.

The traces and `truth.json` were made by the programs beside this file, and are no one else's answer: numbers of layers,
passes and tokens are what was run, FLOP are those of `torch.utils.flop_counter`, times are read from the file by hand.
"""

import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard

from tracelake.lake import Lake

HERE = Path(__file__).parent
TRACES = HERE / "traces"
TRUTH = json.loads((HERE / "truth.json").read_text())


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake of all traces; JAX's capture twice, as XSpace and as Chrome trace."""
    with Lake(tmp_path_factory.mktemp("recorded") / "lake", stored=True) as opened:
        for result in opened.ingest(*sorted(TRACES.iterdir())):
            assert result.rejected == 0
        yield opened


def events(name: str) -> list[dict]:
    """The events of a trace, read by a reader of no one's but Python's."""
    with (TRACES / f"{name}.json.zst").open("rb") as file:
        return json.load(io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file)))["traceEvents"]


#: Trace, layers, stage of each of its passes.
PASSES = [
    ("gpt2", 6, ["prefill", *["decode"] * 4]),
    ("llama_eager", 4, ["prefill", *["decode"] * 4]),
    ("mixtral", 4, ["prefill", *["decode"] * 3]),
    ("gemma2", 6, ["prefill", *["decode"] * 3]),
    # Experts in every second layer.
    ("llama4_text", 8, ["prefill", *["decode"] * 3]),
    ("vit", 6, [None] * 4),
    # A prefill without the compiled code that the decodes are.
    ("llama_static", 4, [None] * 6),
    ("llama_compiled", 10, [None] * 3),
    ("llama_autotuned", 3, [None] * 3),
    ("llama_reduced_overhead", 4, [None] * 3),
    ("llama_graph_replay", 10, [None] * 6),
    # Of a step of training the forward pass.
    ("llama_compiled_train", 3, [None] * 2),
    ("bert_train", 4, [None] * 2),
]


@pytest.mark.parametrize(("name", "layers", "stages"), PASSES, ids=[name for name, _, _ in PASSES])
def test_passes_are_those_that_were_run_each_whole(lake, name, layers, stages):
    rows = lake.rows(
        "SELECT p.stage, p.num_layers, p.layer_count, p.complete "
        "FROM passes AS p JOIN traces USING (trace_id) WHERE trace = ? ORDER BY pass_id",
        (name,),
    )
    assert rows == [(stage, layers, layers, True) for stage in stages]


#: Experts in some layers; a head that compilers mix into the last layer, a product for positions into the first.
APART = ("llama4_text", "llama_static", "llama_autotuned")
#: Trace, and its passes: model, layers, stage, tokens, requests.
TURNS = {
    "whisper": [
        ("model 1", 4, None, 4 * 1500, 4),
        ("model 2", 3, "prefill", 4 * 4, 4),
        *[("model 2", 3, "decode", 4, 4)] * 3,
    ]
    * 3,
    "t5_generate": [
        ("model 1", 4, None, 8 * 256, 8),
        ("model 2", 4, "prefill", 8, 8),
        *[("model 2", 4, "decode", 8, 8)] * 4,
    ],
    "clip": [("model 1", 6, None, 16 * 50, 16), ("model 2", 4, None, 16 * 77, 16)] * 4,
}


@pytest.mark.parametrize("name", TURNS)
def test_models_that_take_turns_are_told_apart_without_modules(lake, name):
    rows = lake.rows(
        "SELECT p.series, p.num_layers, p.stage, p.tokens, p.requests, p.layer_count, p.complete "
        "FROM passes AS p JOIN traces USING (trace_id) WHERE trace = ? ORDER BY pass_id",
        (name,),
    )
    assert rows == [(*row, row[1], True) for row in TURNS[name]]


def test_a_layer_of_a_decoder_that_attends_to_an_encoder_has_both_attentions(lake):
    rows = lake.rows(
        "SELECT DISTINCT trace, p.series, count(DISTINCT l.half) AS halves FROM layer_kernels AS l "
        "JOIN passes AS p USING (trace_id, device, pass_id) JOIN traces USING (trace_id) "
        "WHERE l.half IN ('self', 'cross') GROUP BY trace, p.series, l.pass_id, l.layer_id ORDER BY ALL"
    )
    assert rows == [("t5_generate", "model 2", 2), ("whisper", "model 2", 2)]


def test_tokens_and_requests_are_those_that_the_model_was_given(lake):
    for name in ("gpt2", "llama_eager", "mixtral", "llama4_text"):
        batch, length, steps = (TRUTH[name][key] for key in ("batch", "length", "decode_steps"))
        rows = lake.rows(
            "SELECT tokens, requests FROM passes JOIN traces USING (trace_id) WHERE trace = ? ORDER BY pass_id", (name,)
        )
        assert rows == [(batch * length, batch), *[(batch, batch)] * steps]


@pytest.mark.parametrize("name", [name for name, _, _ in PASSES if name not in APART])
def test_the_layers_of_a_pass_hold_the_same_products_and_none_holds_the_head(lake, name):
    products = defaultdict(Counter)
    for pass_id, layer, us in lake.rows(
        "SELECT pass_id, layer_id, dur_us FROM layer_kernels JOIN traces USING (trace_id) "
        "WHERE trace = ? AND category IN ('gemm', 'moe_gemm') AND NOT contains(name, 'splitKreduce') "
        "AND NOT contains(name, 'simt_sgemm_128x32') AND NOT contains(name, 'prepare_grouped')",
        (name,),
    ):
        products[pass_id][layer] += 1
        # The head is longer than the products of any layer together.
        assert us < 120, (name, pass_id, layer)
    for of_layers in products.values():
        assert len(set(of_layers.values())) == 1, of_layers


def test_the_layers_of_an_eager_prefill_are_whole_beside_compiled_decodes(lake):
    """Products: queries, keys, values, output, and three of the MLP."""
    rows = lake.rows(
        "SELECT layer_id, count(*) FROM layer_kernels JOIN traces USING (trace_id) WHERE trace = 'llama_static' "
        "AND pass_id = 0 AND category = 'gemm' AND NOT contains(name, 'splitKreduce') GROUP BY 1 ORDER BY 1"
    )
    assert rows == [(layer, 7) for layer in range(4)]


def test_where_layers_take_turns_each_begins_with_its_norm(lake):
    """Gemma 2 runs sliding and full attention in turns, with other kernels for the cache; its norm is five kernels."""
    rows = lake.rows(
        "SELECT DISTINCT op_name FROM layer_kernels AS l JOIN kernels USING (trace_id, kernel_id) "
        "JOIN traces USING (trace_id) WHERE trace = 'gemma2' AND position IN (0, 1, 2) GROUP BY ALL ORDER BY 1"
    )
    assert rows == [("aten::copy_",), ("aten::mean",), ("aten::pow",)]


def causal(truth: dict, length: int) -> float:
    """FLOP of a pass of PyTorch's count, which has whole squares of attention, under a causal mask."""
    return truth["total"] - truth["aten.bmm"] * (1 - (length + 1) / (2 * length))


def measured(lake: Lake, name: str) -> list[float]:
    """FLOP of the passes of a trace."""
    return [
        flop
        for (flop,) in lake.rows(
            "SELECT flop FROM pass_mfu JOIN traces USING (trace_id) "
            "WHERE trace = ? AND time_basis = 'busy' ORDER BY pass_id",
            (name,),
        )
    ]


def test_flop_of_eager_attention_are_those_that_pytorch_counts(lake):
    truth = TRUTH["llama_eager"]
    prefill, *decodes = measured(lake, "llama_eager")
    assert prefill == truth["flop_prefill"]["total"]
    assert prefill + sum(decodes) == truth["flop_all"]["total"]
    # Each step sees one key more than the last: two products of so many numbers of the queries, in each layer.
    hidden, layers = truth["config"]["hidden_size"], truth["config"]["num_hidden_layers"]
    assert {after - before for before, after in pairwise(decodes)} == {4 * truth["batch"] * hidden * layers}


def test_flop_of_fused_attention_are_those_that_pytorch_counts_under_the_mask(lake):
    prefill, *decodes = measured(lake, "gpt2")
    truth, length = TRUTH["gpt2"], TRUTH["gpt2"]["length"]
    assert prefill == pytest.approx(causal(truth["flop_prefill"], length), rel=1e-12)
    assert sum(decodes) == truth["flop_all"]["total"] - truth["flop_prefill"]["total"]


def test_flop_of_experts_are_added_to_what_pytorch_counts(lake):
    """PyTorch's counter knows no grouped product: each token goes through three products of its experts."""
    truth = TRUTH["mixtral"]
    config, tokens = truth["config"], truth["batch"] * truth["length"]
    experts = config["num_experts_per_tok"] * 3 * 2 * config["hidden_size"] * config["intermediate_size"]
    [prefill, *_] = measured(lake, "mixtral")
    assert prefill == pytest.approx(
        causal(truth["flop_prefill"], truth["length"]) + tokens * experts * config["num_hidden_layers"], rel=1e-4
    )


@pytest.mark.parametrize(("name", "passes"), [("llama_compiled", 3), ("llama_graph_replay", 6)])
def test_flop_of_compiled_and_of_replayed_passes_are_those_that_pytorch_counts(lake, name, passes):
    assert measured(lake, name) == [TRUTH[name]["flop_pass"]["total"]] * passes


def test_flop_of_a_step_of_training_are_those_that_pytorch_counts(lake):
    """Backward included, wherever the device waits; fused, it computes the scores again: 7 products where 6 count."""
    truth = TRUTH["bert_train"]["flop_step"]
    assert measured(lake, "bert_train") == [truth["total"] + truth["aten.bmm"] / 6] * 2


def test_flop_of_a_compiler_s_templates_are_those_of_products(lake):
    """But for the product of 64 frequencies and 512 positions, whose operands have no common form."""
    assert measured(lake, "llama_autotuned") == [TRUTH["llama_autotuned"]["flop_pass"]["total"] - 2 * 64 * 512] * 3


def test_flop_of_operators_are_those_of_their_shapes(lake):
    found = dict(
        lake.rows(
            "SELECT a.name[6:], sum(r.flop) / 3 FROM kernel_roofline AS r "
            "JOIN kernels AS k USING (trace_id, device, kernel_id) JOIN traces USING (trace_id) "
            "JOIN user_annotations AS a ON a.trace_id = k.trace_id AND a.device IS NULL "
            "AND k.launch_ns BETWEEN a.start_ns AND a.end_ns AND starts_with(a.name, 'case_') "
            "WHERE trace = 'operators' GROUP BY a.name"
        )
    )
    truth = TRUTH["operators"]["operators"]
    # The fused ones of a causal mask compute 1024 rows of 1 to 1024 keys.
    fused = [name for name in truth if name.startswith("sdpa_") and name not in ("sdpa_mask", "sdpa_math")]
    assert found == truth | {name: truth[name] * 1025 // 2048 for name in fused}


def test_types_of_operators_are_those_of_their_inputs(lake):
    found = dict(
        lake.rows(
            "SELECT a.name[6:], max(r.dtype) FROM kernel_roofline AS r "
            "JOIN kernels AS k USING (trace_id, device, kernel_id) JOIN traces USING (trace_id) "
            "JOIN user_annotations AS a ON a.trace_id = k.trace_id AND a.device IS NULL "
            "AND k.launch_ns BETWEEN a.start_ns AND a.end_ns AND starts_with(a.name, 'case_') "
            "WHERE trace = 'operators' AND r.flop IS NOT NULL GROUP BY a.name"
        )
    )
    others = {"mm_torch.float16": "fp16", "addmm_torch.float16": "fp16", "mm_torch.float32": "fp32"}
    others |= {"addmm_torch.float32": "fp32", "mm_torch.float64": "fp64", "addmm_torch.float64": "fp64"}
    others |= {"mm_tf32": "tf32", "scaled_mm": "fp8", "int_mm": "int8", "sdpa_math": "fp32"}
    assert found == dict.fromkeys(TRUTH["operators"]["operators"], "bf16") | others


def test_a_transposed_convolution_is_no_training(lake):
    assert lake.rows("FROM training_phases JOIN traces USING (trace_id) WHERE trace = 'operators'") == []


def test_each_kernel_of_a_cuda_graph_is_the_launch_of_its_capture(lake):
    [(launches, kernels, captured)] = lake.rows(
        "SELECT count(*), min(kernel_count), max(captured_kernels) FROM graph_captures JOIN traces USING (trace_id) "
        "WHERE trace = 'llama_graph_replay'"
    )
    assert (launches, kernels, captured) == (6, 516, 516)
    wrong = lake.rows(
        "SELECT DISTINCT c.op_name, k.category FROM captured_kernels AS c JOIN kernels AS k "
        "USING (trace_id, kernel_id) JOIN traces USING (trace_id) WHERE trace = 'llama_graph_replay' AND ("
        "starts_with(k.category, 'gemm') <> (c.op_name IN ('aten::mm', 'aten::bmm')) "
        "OR (k.category = 'attention') <> contains(c.op_name, 'attention'))"
    )
    assert wrong == []


def test_waits_and_copies_are_those_that_were_made(lake):
    """15 kernels that spin and 10 copies one after the other, and 14 pauses of the host between them."""
    told = TRUTH["waits"]
    operations = [e for e in events("waits") if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    spans = sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"]) for e in operations)
    idle, until = 0, spans[0][0]
    for start, end, _ in spans:
        idle, until = idle + max(start - until, 0), max(until, end)
    parts = lake.rows(
        "SELECT window_us, idle_us - wait_us, wait_us FROM time_breakdown JOIN traces USING (trace_id) "
        "WHERE trace = 'waits'"
    )
    spinning = [(start, end) for start, end, name in spans if "spin_kernel" in name]
    waited, until = 0, 0
    for start, end in spinning:
        waited, until = waited + max(end - max(start, until), 0), max(until, end)
    window = max(end for _, end, _ in spans) - spans[0][0]
    assert parts == [pytest.approx((window / 1e3, idle / 1e3, waited / 1e3), abs=0.02)]
    [(gaps, host_us)] = lake.rows(
        "SELECT count(*), min(host_bound_us) FROM gaps JOIN traces USING (trace_id) "
        f"WHERE trace = 'waits' AND gap_us >= {told['sleep_seconds'] * 1e6}"
    )
    assert gaps == 3 * told["rounds"] - 1
    assert host_us >= told["sleep_seconds"] * 1e6


def test_jax_on_a_gpu_has_the_passes_and_layers_of_its_program(lake):
    rows = lake.rows(
        "SELECT trace, count(*), min(p.num_layers), bool_and(p.complete) FROM passes AS p JOIN traces USING (trace_id) "
        "WHERE format = 'jax' GROUP BY trace_id, trace ORDER BY ALL"
    )
    assert rows == [
        (name, TRUTH[name]["steps"], TRUTH[name]["layers"], True)
        for name in ("jax_forward", "jax_forward", "jax_generate", "jax_scan")
    ]


def test_both_files_of_a_capture_of_jax_give_the_same_layers(lake):
    answers = {
        tuple(
            lake.rows(
                "SELECT pass_id, layer_id, kernel_count, start_ns, sum_us, wall_us FROM layers WHERE trace_id = ? "
                "ORDER BY ALL",
                (trace_id,),
            )
        )
        for (trace_id,) in lake.rows("SELECT trace_id FROM traces WHERE trace = 'jax_forward'")
    }
    assert len(answers) == 1
