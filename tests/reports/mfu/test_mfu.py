"""Measured times against a model's work: nothing is spread, nothing is lost, and shares agree with other tools'.

Figures called golden are those of the specification of the compute simulation: sections 8.5 (one layer of
DeepSeek-V4-Flash), 8.6 (a real trace of Qwen3-8B on MI300X, as another tool reports it) and 8.7 (rooflines).
"""

import functools
import json
import math

import pytest

import tracelake
from tracelake.engine.errors import InputError, UsageError
from tracelake.reports.mfu import facts as reports

KERNELS = [
    ("mla", 4922), ("gemm_fp8", 1000), ("moe", 1000), ("moe", 644), ("mhc_post", 700), ("mhc_pre_gemm", 688),
    ("allreduce", 769), ("gemm_fp8", 692), ("hadamard", 348), ("quant", 311), ("rmsnorm", 227), ("rope", 209),
    ("gemm_bf16", 125), ("topk", 122), ("activation", 71), ("mla_combine", 60), ("other", 437),
]  # fmt: skip
V4 = {"model": "deepseek-v4-flash", "seq_len": 8192, "tp": 8, "ep": 8, "hardware": "h20", "dtype": "bf16"}


def flow(kernels, **metadata):
    return {
        "metadata": metadata,
        "kernels": [{"name": category, "category": category, "dur_us": us} for category, us in kernels],
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with_models = tracelake.open(tmp_path_factory.mktemp("mfu") / "lake")
    yield with_models
    with_models.close()


@pytest.fixture(scope="module")
def ask(lake):
    """Ask for the document of a model and times."""

    def answer(**question):
        return json.loads(lake.mfu(question.pop("model"), format="json", **question))

    return answer


@pytest.fixture(scope="module")
def layer(ask):
    """The golden layer of section 8.5, by the rules that hold without --formulas."""
    return ask(**V4, kernel_flow=flow(KERNELS, layer_id=3, compress_ratio=128, total_dur_us=12325))


def group_of(found, op):
    [group] = [group for group in found["groups"] if op in group["operators"]]
    return group


# --- Kernels and operators -------------------------------------------------------------------------------------------


def test_assigned_overhead_and_unmapped_time_sum_to_that_of_all_kernels(layer):
    sums = layer["measured_layer"]
    assert sums["total_us"] == 12_325.0
    assert sums["assigned_us"] + sums["overhead_us"] + sums["unmapped_us"] == 12_325.0
    # allreduce and quant; the three matrix products without shapes, hadamard and other.
    assert (sums["overhead_us"], sums["unmapped_us"]) == (769 + 311, 1000 + 692 + 125 + 348 + 437)
    assert sums["coverage_pct"] == pytest.approx(100 * (12_325 - 2_602) / 12_325)


def test_sums_are_exact_where_those_of_floating_point_numbers_are_not(ask):
    times = [0.1, 0.2, 0.3, 1e9, 1e-9, 0.7]
    found = ask(**V4, kernel_flow=flow([("mla", us) for us in times]))
    assert found["measured_layer"]["assigned_us"] == found["measured_layer"]["total_us"]
    found = ask(**V4, kernel_flow=flow(list(zip(("mla", "allreduce", "other") * 2, times, strict=True))))
    [sums] = [found["measured_layer"]]
    assert sums["total_us"] == pytest.approx(math.fsum(times), rel=1e-15)
    assert sums["assigned_us"] == pytest.approx(1e9 + 0.1, abs=1e-6)


def test_every_kernel_keeps_its_row_and_its_place(layer):
    rows = layer["kernels"]
    assert [(row["category"], row["dur_us"]) for row in rows] == KERNELS
    assert sum(row["layer_pct"] for row in rows) == pytest.approx(100)
    assert {row["category"]: (row["fate"], row["reason"]) for row in rows if row["fate"] != "assigned"} == {
        "gemm_fp8": ("unmapped", "product without shapes"),
        "gemm_bf16": ("unmapped", "product without shapes"),
        "allreduce": ("overhead", "communication"),
        "quant": ("overhead", "quantisation"),
        "hadamard": ("unmapped", "no such operator in this layer"),
        "other": ("unmapped", "not recognised"),
    }


def test_a_kernel_that_the_reference_loses_has_its_operator(layer):
    # mla_combine merges what the attention kernels left; mhc_pre_gemm is the mixing product before both halves.
    attention, mixing = group_of(layer, "attn_qk"), group_of(layer, "mhc_pre_attn")
    assert (attention["operators"], attention["kernels"]) == (["attn_qk", "softmax", "attn_pv"], 2)
    assert attention["measured_us"] == 4_922 + 60
    assert (mixing["operators"], mixing["measured_us"]) == (["mhc_pre_attn", "mhc_pre_ffn"], 688)


def test_flop_of_several_kernels_of_an_operator_count_once(layer):
    experts = group_of(layer, "routed_gate_up")
    # 6 products of 8192 tokens x 6 experts x 4096 x 2048, shared by 8 ranks.
    flop = 6 * 8192 * 6 * 4096 * 2048 / 8
    assert (experts["flop_rank"], experts["measured_us"], experts["kernels"]) == (flop, 1_644, 2)
    assert experts["mfu_pct"] == pytest.approx(100 * flop / 148e12 / 1_644e-6)
    rows = [row for row in layer["kernels"] if row["category"] == "moe"]
    assert [row["mfu_pct"] for row in rows] == [None, None]
    assert [row["group_share"] for row in rows] == pytest.approx([1000 / 1644, 644 / 1644])


def test_more_than_the_peak_is_flagged_and_shown_as_it_is(layer):
    experts = group_of(layer, "routed_gate_up")
    assert experts["mfu_pct"] == pytest.approx(127.09510641152102)
    assert [group["operators"] for group in layer["groups"] if group["flag_over_100"]] == [experts["operators"]]
    assert any("More than 100 %" in caveat and "type" in caveat for caveat in layer["caveats"])


def test_what_multiplies_nothing_has_no_mfu(layer):
    for op in ("input_norm", "topk", "mhc_post_attn"):
        group = group_of(layer, op)
        assert (group["flop_rank"], group["mfu_pct"]) == (0, None)
        assert group["mbu_pct"] > 0


def test_the_layer_said_beside_the_kernels_tells_its_kind(ask):
    # Of the 43 layers the first two have a window alone, then ratios 4 and 128 take turns.
    for metadata, kind, told in (
        ({"layer_id": 3, "compress_ratio": 128}, "v4_dense+moe", "layer_id"),
        ({"layer_id": 4}, "v4_top+moe", "layer_id"),
        ({"compress_ratio": 0}, "v4_window+moe", "compress_ratio"),
        ({"compress_ratio": -1}, "v4_window+moe", "compress_ratio"),
        ({}, "v4_top+moe", "the commonest kind"),
    ):
        layer = ask(**V4, kernel_flow=flow(KERNELS, **metadata))["measured_layer"]
        assert (layer["layer_kind"], layer["told_by"]) == (kind, told)


def test_a_kernel_has_the_operator_that_its_kind_of_layer_has(ask):
    # Layers of ratio 4 have an indexer with its Hadamard transform; those of ratio 128 have none.
    found = ask(**V4, kernel_flow=flow([("hadamard", 348), ("paged_mqa", 10)], compress_ratio=4))
    assert [(row["fate"], row["operators"]) for row in found["kernels"]] == [
        ("assigned", ["idx_hadamard"]), ("assigned", ["idx_score"]),
    ]  # fmt: skip


def test_categories_whose_operators_overlap_are_one_group(ask):
    found = ask(**V4, kernel_flow=flow([("mhc", 5), ("mhc_post", 3), ("mhc_pre_gemm", 2)], compress_ratio=0))
    [group] = found["groups"]
    assert (len(group["operators"]), group["kernels"], group["measured_us"]) == (4, 3, 10)


def test_a_category_may_be_the_name_of_an_operator(ask):
    question = {"model": "qwen3-8b", "seq_len": 1024, "hardware": "h100"}
    found = ask(**question, kernel_ms={"o_proj": 0.1, "qkv_proj": 0.2, "nonsense": 0.3})
    assert [(row["category"], row["map_rule"], row["operators"]) for row in found["kernels"]] == [
        ("o_proj", "operator", ["o_proj"]), ("qkv_proj", "operator", ["q_proj", "k_proj", "v_proj"]),
        ("nonsense", None, None),
    ]  # fmt: skip
    assert found["kernels"][2]["reason"] == "unknown category"
    [o_proj] = [group for group in found["groups"] if group["operators"] == ["o_proj"]]
    assert o_proj["mfu_pct"] == pytest.approx(100 * 2 * 1024 * 4096 * 4096 / 989e12 / 100e-6)


def test_a_kernel_without_a_category_has_that_of_its_name(ask):
    kernels = [
        {"name": "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)", "dur_us": 3},
        {"name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "dur_us": 2},
        {"name": "my_kernel", "category": "other", "dur_us": 1},
    ]
    found = ask(model="qwen3-8b", seq_len=1024, hardware="h100", kernel_flow={"kernels": kernels})
    assert [(row["category"], row["fate"]) for row in found["kernels"]] == [
        ("attention", "assigned"), ("communication", "overhead"), ("other", "unmapped"),
    ]  # fmt: skip


# --- Shapes and types ------------------------------------------------------------------------------------------------

ROWS = 15 * 1024
#: Golden: µs in all 36 layers, and TFLOP/s, of the kernels of a prefill of 15 x 1024 tokens.
MI300X = {
    "qkv": ("gemm", [[ROWS, 4096], [4096, 6144]], 51_295.48, 542.6, ["q_proj", "k_proj", "v_proj"]),
    "o": ("gemm", [[ROWS, 4096], [4096, 4096]], 29_491.87, 629.1, ["o_proj"]),
    "gate_up": ("gemm", [[ROWS, 4096], [24576, 4096], []], 243_643.02, 456.9, ["gate_up_proj"]),
    "down": ("gemm", [[ROWS, 12288], [4096, 12288]], 95_439.04, 583.2, ["down_proj"]),
    "mha": ("attention", None, 20_075.16, 231.3, ["attn_qk", "softmax", "attn_pv"]),
}


def test_shapes_tell_products_apart_and_their_speed_is_that_of_another_tool(ask):
    kernels = [
        {"name": name, "category": category, "input_dims": dims, "dur_us": us / 36}
        for name, (category, dims, us, _, _) in MI300X.items()
    ]
    found = ask(
        model="Qwen/Qwen3-8B", batch=15, seq_len=1024, hardware="AMD Instinct MI300X", measured_ms=492.7736,
        kernel_detail={"kernels": kernels},
    )  # fmt: skip
    for name, (category, _, _, tflops, operators) in MI300X.items():
        group = group_of(found, operators[0])
        assert group["operators"] == operators, name
        assert round(group["tflops"], 1) == tflops, name
        assert group["mfu_pct"] == pytest.approx(100 * group["tflops"] / 1307.4)
        [row] = [row for row in found["kernels"] if row["name"] == name]
        assert row["map_rule"] == ("category" if category == "attention" else "shape_match")
    # (213.3926 + 36 x 0.128975) TFLOP in 0.4927736 s.
    [of_pass] = [row for row in found["mfu"] if row["scope"] == "pass"]
    assert of_pass["flop_rank"] == 213_392_645_160_960 + 36 * 128_974_848_000
    assert round(of_pass["tflops"], 1) == 442.5
    assert of_pass["mfu_pct"] == of_pass["cluster_mfu_pct"] == pytest.approx(100 * of_pass["tflops"] / 1307.4)


def test_a_shape_that_two_products_have_tells_neither(ask):
    # q_proj and o_proj are both 4096 x 4096; only with a fused qkv_proj beside it is o_proj the one left.
    square = {"name": "a", "category": "gemm", "input_dims": [[8, 4096], [4096, 4096]], "dur_us": 1}
    other = {**square, "input_dims": [[8, 4096], [4096, 999]]}
    found = ask(model="qwen3-8b", seq_len=8, hardware="h100", kernel_flow={"kernels": [square, other]})
    assert [row["reason"] for row in found["kernels"]] == [
        "several products of this shape", "no product of this shape",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "dtype", "source", "peak"),
    [
        ({"name": "attn", "input_types": ["c10::Float8_e4m3fn", "float"]}, "fp8", "input types", 296),
        ({"name": "attn_e4m3_kernel"}, "fp8", "name", 296),
        ({"name": "attn_e4m3_kernel", "input_types": "['c10::BFloat16']"}, "bf16", "input types", 148),
        ({"name": "attn"}, None, None, 148),
    ],
)
def test_the_peak_is_that_of_the_type_that_the_kernel_shows(ask, kernel, dtype, source, peak):
    kernels = [{"category": "attention", "dur_us": 50, **kernel}]
    question = {"model": "qwen3-8b", "seq_len": 1024, "hardware": "h20", "kernel_flow": {"kernels": kernels}}
    found = ask(**question)
    [row] = found["kernels"]
    assert (row["dtype"], row["dtype_source"], row["peak_tflops"]) == (dtype, source, pytest.approx(peak))
    # 4 FLOP for each of 1024 x 1025 / 2 pairs, 32 heads and 128 elements.
    assert row["mfu_pct"] == pytest.approx(100 * 4 * 1024 * 1025 / 2 * 32 * 128 / (peak * 1e12) / 50e-6)


@pytest.mark.parametrize(("dtype", "mark"), [("fp8", "⁸"), ("fp4", "⁴"), ("bf16", "")])
def test_low_precision_is_marked(lake, dtype, mark):
    times = {"moe": 5.0}
    text = lake.mfu("qwen3-235b-a22b", seq_len=512, hardware="b200", dtype=dtype, tp=8, ep=8, kernel_ms=times)
    [line] = [line for line in text.splitlines() if line.startswith(" routed_gate_up+routed_down")]
    # 6 x 512 tokens x 8 experts x 4096 x 1536 / 8 ranks.
    mfu = 100 * 6 * 512 * 8 * 4096 * 1536 / 8 / {"fp8": 4500e12, "fp4": 9000e12, "bf16": 2250e12}[dtype] / 5e-3
    assert f" {mfu:.1f} %{mark} " in line


# --- Passes and layers -----------------------------------------------------------------------------------------------


def test_a_decode_step_reaches_the_published_share_of_peak_and_roofline(ask):
    # Golden: 7,153,778,688 FLOP of a rank in 15 ms, 0.322 %; weights, KV and head alone take 9.62 % of the time.
    found = ask(model="qwen3-235b-a22b", kv_len=4095, tp=8, ep=8, hardware="h20", dtype="bf16", measured_ms=15.0)
    [row] = found["mfu"]
    assert (row["scope"], row["basis"], row["flop_rank"]) == ("pass", "wall", 7_153_778_688)
    assert row["mfu_pct"] == pytest.approx(100 * 7_153_778_688 / 148e12 / 15e-3, rel=1e-12)
    assert row["roofline_pct"] == pytest.approx(9.62, abs=0.05)
    # Of all GPUs: FLOP of the model, replicated work counted once.
    assert row["flop"] == 54_507_077_632 + 1_244_659_712
    assert row["cluster_mfu_pct"] == pytest.approx(100 * row["flop"] / (8 * 148e12) / 15e-3, rel=1e-12)


def test_of_mixed_types_the_peak_is_weighted_by_flop(ask):
    found = ask(model="deepseek-v3", kv_len=4095, batch=128, tp=8, ep=8, hardware="h200", measured_ms=30.0)
    [row] = found["mfu"]
    # Golden: FLOP of a rank. Products are computed in FP8, attention and head in BF16.
    assert row["flop_rank"] == 2_516_154_580_992
    parts = {part["dtype"]: part["flop_rank"] for part in found["types"]}
    assert set(parts) == {"fp8", "bf16"}
    seconds = parts["fp8"] / 1979e12 + parts["bf16"] / 989e12
    assert row["mfu_pct"] == pytest.approx(100 * seconds / 30e-3, rel=1e-9)
    assert row["peak_tflops"] == pytest.approx(2_516_154_580_992 / seconds / 1e12, rel=1e-9)


def test_a_time_per_layer_is_held_against_the_mean_of_layers_of_several_kinds(ask):
    # DeepSeek-V3 has 3 layers without experts and 58 with; golden FLOP of each, prefill of 8192 tokens.
    found = ask(model="deepseek-v3", seq_len=8192, hardware="h200", dtype="bf16", per_layer_ms=30.0)
    [row] = found["mfu"]
    assert (row["scope"], row["layer_kind"], row["basis"]) == ("layer", "mean of all layers", "layer time")
    assert row["flop"] == pytest.approx((3 * 12_308_638_072_832 + 58 * 12_338_702_843_904) / 61, rel=1e-12)
    found = ask(model="qwen3-235b-a22b", seq_len=8192, hardware="h200", per_layer_ms=30.0)
    assert [(row["layer_kind"], row["flop"]) for row in found["mfu"]] == [("gqa+moe", 4_750_368_047_104)]


def test_the_share_of_a_layer_needs_a_time_of_a_layer(ask):
    question = {"model": "qwen3-8b", "seq_len": 1024, "hardware": "h100"}
    assert [row["scope"] for row in ask(**question, measured_ms=20.0)["mfu"]] == ["pass"]
    # The attention alone is no layer, unless the time of all kernels is stated beside it.
    found = ask(**question, kernel_ms={"attention": 0.1})
    assert found["mfu"] == []
    assert any("not the layer's time" in caveat for caveat in found["caveats"])
    found = ask(**question, kernel_flow=flow([("attention", 100)], total_dur_us=700, wall_us=800))
    assert [(row["scope"], row["basis"], row["time_us"]) for row in found["mfu"]] == [
        ("layer", "wall", 800), ("layer", "stated sum", 700),
    ]  # fmt: skip


def test_replicas_count_in_the_share_of_all_gpus(ask):
    question = {"model": "qwen3-8b", "seq_len": 1024, "hardware": "h100", "measured_ms": 20.0}
    one, two = ask(**question)["mfu"][0], ask(**question, dp=2)["mfu"][0]
    assert (two["flop"], two["flop_rank"]) == (2 * one["flop"], one["flop_rank"])
    assert one["cluster_mfu_pct"] == two["cluster_mfu_pct"] == pytest.approx(one["mfu_pct"])


def test_a_stage_of_a_pipeline_has_its_part_of_the_layers_everywhere(lake, ask):
    """Llama 3 70B on 2 x 2 x 4 GPUs: by hand a layer, whose FLOP of a replica its operators add up to.

    16 rows of 8192 x (2 x 8192 + 2 x 1024) + 3 x 8192 x 28672, and 64 heads of 128 against 2001 keys: 28.43 GFLOP.
    """
    question = {"model": "llama-3-70b", "batch": 16, "kv_len": 2000, "tp": 2, "dp": 2, "pp": 4, "hardware": "h100"}
    layer = 2 * 16 * (8192 * (2 * 8192 + 2 * 1024) + 3 * 8192 * 28672) + 4 * 16 * 2001 * 64 * 128
    found = ask(**question)
    replica = 80 * layer + 2 * 16 * 8192 * 128_256
    [computed] = found["types"]
    assert computed["flop_rank"] == pytest.approx(found["forward_pass"]["flop_rank"]) == pytest.approx(replica / 2 / 4)
    assert sum(row["flop"] for row in found["layer_kinds"][0]["operators"]) == layer
    assert found["summary"].endswith("tp 2 ep 1 dp 2 pp 4")
    text = lake.mfu(question.pop("model"), format="markdown", **question)
    assert "28.430 GFLOP of a replica each: attention" in text
    assert "288.498 GFLOP of a rank, peak 989 TFLOP/s" in text


def test_replicas_are_as_many_as_the_experts_need_where_none_are_said(ask):
    """EP over TP, as of `ask`: eight ranks share the experts, and two of them, or none, a token."""
    question = {"model": "deepseek-v3", "kv_len": 1024, "ep": 8, "hardware": "h200", "measured_ms": 50.0}
    alone, shared, said = ask(**question), ask(**question, tp=2), ask(**question, dp=1)
    keys = ("tp", "ep", "dp", "gpus")
    assert [[found["serving"][key] for key in keys] for found in (alone, shared, said)] == [
        [1, 8, 8, 8], [2, 8, 4, 8], [1, 8, 1, 8],
    ]  # fmt: skip
    # Every rank has work of its own: the share of all is that of one, which one replica of eight ranks has not.
    [whole], [one] = alone["mfu"], said["mfu"]
    assert whole["cluster_mfu_pct"] == pytest.approx(whole["mfu_pct"])
    assert whole["flop"] == pytest.approx(8 * one["flop"])


def test_what_cannot_run_is_a_caveat(ask):
    question = {"model": "qwen3-8b", "batch": 8, "kv_len": 1024, "hardware": "h200", "measured_ms": 5.0}
    found = ask(**question, tp=3)
    assert found["faults"] == ["tp does not divide the heads"]
    assert found["caveats"][0] == "This scenario cannot run: tp does not divide the heads."
    found = ask(**question)
    assert (found["faults"], [line for line in found["caveats"] if "cannot run" in line]) == ([], [])


def test_an_embedding_is_a_lookup(ask):
    found = ask(model="qwen3-8b", batch=15, seq_len=1024)["outside_the_layers"]
    shapes = {row["op"]: (row["input_shape"], row["output_shape"]) for row in found}
    assert shapes["embedding"] == ("[15360]", "[15360, 4096]")
    assert shapes["lm_head"] == ("[15, 4096]", "[15, 151936]")


def test_each_kind_of_layer_is_listed_with_how_many_there_are(layer):
    # Golden: FLOP of a layer of ratio 0, 4 and 128, prefill of 8192 tokens.
    assert {(kind["layer_kind"], kind["layers"], kind["flop"]) for kind in layer["layer_kinds"]} == {
        ("v4_window+moe", 2, 4_805_003_051_008), ("v4_top+moe", 21, 5_736_910_290_944),
        ("v4_dense+moe", 20, 4_907_553_783_808),
    }  # fmt: skip
    for kind in layer["layer_kinds"]:
        assert sum(row["flop"] for row in kind["operators"]) == kind["flop"]
        assert sum(row["layer_pct"] for row in kind["operators"]) == pytest.approx(100)


# --- Documents -------------------------------------------------------------------------------------------------------


def test_the_caveats_name_the_source_and_whether_the_active_parameters_agree(layer):
    # Golden: 13,268,221,952 active parameters, published 13 B.
    assert layer["model"]["active_parameters"] == 13_268_221_952
    assert layer["caveats"][0].startswith(f"Dimensions: {layer['model']['source']}")
    assert "13.27 B" in layer["caveats"][0]
    assert layer["caveats"][0].endswith("check passed.")


def test_a_wrong_dimension_fails_the_check_and_says_so(lake, tmp_path):
    config = {"model_type": "qwen3", "num_hidden_layers": 10, "hidden_size": 1024, "num_attention_heads": 8,
              "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 4096, "vocab_size": 1000}  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    found = json.loads(lake.mfu(path, seq_len=128, hardware="h100", measured_ms=1.0, format="json"))
    assert "none are published" in found["caveats"][0]
    # 4 x 1024 x 1024 and 3 x 1024 x 4096 of each layer, and the head.
    assert found["model"]["active_parameters"] == 10 * (4 * 1024 * 1024 + 3 * 1024 * 4096) + 1000 * 1024


def test_one_line_sums_up(layer, ask):
    assert layer["summary"].startswith("MFU of a layer 44.02 % by kernel sum")
    for word in ("MoE-dominant (55 % of FLOP)", "most time: mla (40 % of the layer)", "h20", "tp 8 ep 8 dp 1"):
        assert word in layer["summary"]
    assert ask(model="qwen3-8b")["summary"].startswith("no MFU: no time of a pass or a layer is given | MLP-dominant")


@pytest.mark.parametrize("question", [
    {"model": "qwen3-8b"}, {**V4, "kernel_flow": flow(KERNELS)}, {**V4, "kernel_ms": {"a | b\n": 1}},
    {"model": "deepseek-v3", "hardware": "mi308x", "measured_ms": 1.0},
])  # fmt: skip
def test_each_format_is_one_document(lake, monkeypatch, question):
    # The facts of a question are the same in all formats: they are computed once.
    monkeypatch.setattr(reports, "facts", functools.cache(reports.facts))
    asked = dict(question)
    model = asked.pop("model")
    document = json.loads(lake.mfu(model, format="json", **asked))
    assert set(document) == {
        "formulas", "model", "serving", "types", "layer_kinds", "outside_the_layers", "forward_pass", "measured_layer",
        "kernels", "groups", "mfu", "summary", "caveats", "faults", "remarks",
    }  # fmt: skip
    text, markdown = lake.mfu(model, **asked), lake.mfu(model, format="markdown", **asked)
    assert text.startswith(document["summary"])
    assert "## Caveats\n" in markdown
    tables = [line for line in markdown.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)
    for rows in markdown.split("\n\n"):
        if rows.startswith("|"):
            assert len({line.replace("\\|", "").count("|") for line in rows.splitlines()}) == 1


def test_names_of_numbers_end_with_their_unit(layer):
    units = ("_us", "_pct", "_tflops", "tflops", "bytes", "_gbps", "flop", "_rank")
    for row in (*layer["kernels"], *layer["groups"], *layer["mfu"], layer["forward_pass"]):
        for key, value in row.items():
            if isinstance(value, float):
                assert key.endswith(units) or key in ("intensity", "group_share"), key


def test_a_chip_whose_peak_is_unknown_has_no_mfu_and_says_why(ask):
    found = ask(model="qwen3-8b", seq_len=128, hardware="mi308x", measured_ms=5.0)
    assert [row["mfu_pct"] for row in found["mfu"]] == [None]
    assert found["summary"].startswith("no MFU: a peak is unknown")
    assert any("No peak of mi308x is known for bf16" in caveat for caveat in found["caveats"])


# --- What is refused -------------------------------------------------------------------------------------------------

ONE = {"model": "qwen3-8b", "hardware": "h100"}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"model": "qwen4-8b", "hardware": "h100"}, "qwen3-8b"),
        ({"model": "qwen3-8b", "hardware": "h1000", "measured_ms": 1.0}, "h100"),
        ({"model": "qwen3-8b", "measured_ms": 1.0}, "--hardware"),
        ({**ONE, "measured_ms": float("nan")}, "--measured-ms nan"),
        ({**ONE, "measured_ms": -1.0}, "--measured-ms -1.0"),
        ({**ONE, "per_layer_ms": float("inf")}, "--per-layer-ms inf"),
        ({**ONE, "dtype": "fp5"}, "--dtype fp5: unknown. Known: bf16"),
        ({**ONE, "kernel_ms": "{"}, "--kernel-ms: not JSON"),
        ({**ONE, "kernel_ms": "[1]"}, "expected an object, found [1]"),
        ({**ONE, "kernel_ms": "{}"}, "no category"),
        ({**ONE, "kernel_ms": '{"mla": NaN}'}, "NaN is not a time"),
        ({**ONE, "kernel_ms": '{"mla": -1}'}, "expected a time of 0 or more, found -1"),
        ({**ONE, "kernel_ms": '{"mla": "1"}'}, 'expected a number, found "1"'),
        ({**ONE, "kernel_ms": '{"mla": true}'}, "expected a number, found true"),
        ({**ONE, "kernel_ms": '{"mla": null}'}, "expected a number, found null"),
        ({**ONE, "kernel_ms": '{"mla": 1e999}'}, "a time of 0 or more"),
        ({**ONE, "kernel_ms": f'{{"mla": 1{"0" * 400}}}'}, "a smaller number"),
        ({**ONE, "kernel_ms": '{"mla": 1, "mla": 2}'}, "'mla' is given twice"),
        ({**ONE, "kernel_ms": "[" * 100_000}, "--kernel-ms: JSON nested too deep"),
        ({**ONE, "kernel_flow": "{}"}, "neither kernels nor a category_summary"),
        ({**ONE, "kernel_flow": '{"kernels": {}, "metadata": [1]}'}, "metadata: expected an object"),
        ({**ONE, "kernel_flow": '{"kernels": {"a": 1}}'}, "kernels: expected a list"),
        ({**ONE, "kernel_flow": '{"kernels": [{"name": "a"}]}'}, "dur_us of kernel 0: expected a number"),
        ({**ONE, "kernel_flow": '{"kernels": [{"name": 1, "dur_us": 1}]}'}, "name of kernel 0: expected text"),
        ({**ONE, "kernel_flow": '{"kernels": [3]}'}, "kernel 0: expected an object"),
        ({**ONE, "kernel_flow": '{"kernels": [{"dur_us": 1}], "metadata": {"layer_id": 1.5}}'}, "a whole number"),
        ({**ONE, "kernel_detail": '{"category_summary": {"mla": 1}}'}, "category mla: expected an object"),
        ({**ONE, "kernel_detail": '{"category_summary": {"mla": {}}}'}, "dur_us of category mla: expected a number"),
        ({**ONE, "kernel_ms": '{"mla": 1}', "kernel_flow": '{"kernels": []}'}, "one of --kernel-ms"),
        ({**ONE, "format": "xml"}, "format=xml"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused_in_a_line(lake, question, said):
    asked = dict(question)
    with pytest.raises(UsageError) as refused:
        lake.mfu(asked.pop("model"), **asked)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 400


def test_times_in_a_file(lake, tmp_path):
    path = tmp_path / "times.json"
    path.write_text(json.dumps(flow(KERNELS, compress_ratio=128)))
    asked = {key: value for key, value in V4.items() if key != "model"}
    found = json.loads(lake.mfu(V4["model"], kernel_flow=f"@{path}", format="json", **asked))
    assert found["measured_layer"]["total_us"] == 12_325
    with pytest.raises(InputError, match=r"absent\.json: cannot be read"):
        lake.mfu(V4["model"], kernel_flow=f"@{tmp_path / 'absent.json'}", **asked)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        lake.mfu(V4["model"], kernel_flow=f"@{path}", **asked)


def test_a_table_refuses_times_that_are_none(lake):
    connection = lake.prepare("SELECT 1 FROM category_timings")
    for time in ("-1", "'nan'", "'inf'"):
        with pytest.raises(Exception, match="CHECK"):
            connection.execute(f"INSERT INTO category_timings VALUES ('x', 0, 'mla', {time}, NULL)")
