"""Case S1 of the specification: five passes of a made-up six-layer model with halves, layer types and a warm-up.

All figures follow from the recipe with pencil and paper; times are whole microseconds.
"""

import gzip
import json

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.gpu import gpu_config, gpu_trace, write_gpu

from ...lakes import in_one_lake
from ..captures import Capture, captured, open_lake, rows

CONFIG = json.dumps(gpu_config())

PASSES = [
    # start, end, span, sum of kernels, note, chosen
    (1210, 35560, 34350, 33000, "cold", False),
    (39300, 97650, 58350, 57000, "growing", False),
    (101390, 171740, 70350, 69000, "growing", False),
    (175480, 245830, 70350, 69000, "steady", True),
    (249570, 319920, 70350, 69000, "steady", False),
]
PASS_3 = [
    # ratio, start, wall, sum, kernels
    (0, 175480, 11400, 11200, 21),
    (0, 186890, 11400, 11200, 21),
    (4, 198300, 12240, 12000, 25),
    (128, 210550, 11510, 11300, 22),
    (4, 222070, 12240, 12000, 25),
    (128, 234320, 11510, 11300, 22),
]
#: Kernels by a part of their name and what they cost per layer of pass 3, by compression ratio.
COSTS = [
    ("hadamard", {0: 0, 4: 200, 128: 0}),
    ("indexer", {0: 0, 4: 100, 128: 0}),
    ("paged_mqa", {0: 0, 4: 300, 128: 0}),
    ("topk", {0: 0, 4: 200, 128: 0}),
    ("c128", {0: 0, 4: 0, 128: 100}),
    ("flash_fwd_splitkv_mla", {0: 4000, 4: 4000, 128: 4000}),
    ("fused_moe_kernel", {0: 4000, 4: 4000, 128: 4000}),
    ("AllReduce", {0: 800, 4: 800, 128: 800}),
    ("mhc_", {0: 800, 4: 800, 128: 800}),
]


def s1(trace_id="s1", rank=None, **settings):
    return Capture(trace_id, gpu_trace()["traceEvents"], {"config": CONFIG, **settings}, rank)


@pytest.fixture(scope="module")
def lake():
    return open_lake([s1()])


def test_the_generator_passes_the_recipes_own_check():
    kernels = [event for event in gpu_trace()["traceEvents"] if event["cat"] == "kernel"]
    assert len(kernels) == 695
    assert sum(event["dur"] for event in kernels) == 310500
    assert sum("mhc_post" in event["name"] for event in kernels) == 60
    assert kernels[-1]["ts"] + kernels[-1]["dur"] == 322440


def test_the_writer_gzips_by_suffix_and_can_stop_in_the_middle_of_an_event(tmp_path):
    plain, packed, cut = tmp_path / "s1.json", tmp_path / "s1.json.gz", tmp_path / "cut.json.gz"
    write_gpu(plain)
    write_gpu(packed)
    write_gpu(cut, truncated=True)
    assert json.loads(plain.read_text()) == json.loads(gzip.decompress(packed.read_bytes())) == gpu_trace()
    head = gzip.decompress(cut.read_bytes()).decode()
    assert plain.read_text().startswith(head)
    with pytest.raises(json.JSONDecodeError):
        json.loads(head)


def test_sixty_anchors_from_the_profile_that_the_config_points_to(lake):
    found = rows(lake, "SELECT count(*), any_value(role), any_value(pattern_source) FROM anchors")
    assert found == [(60, "end", "profile")]


def test_all_five_passes_are_found_and_the_first_steady_one_is_chosen(lake):
    found = rows(
        lake,
        "SELECT start_ns // 1000, end_ns // 1000, span_us, busy_us, note, chosen FROM passes ORDER BY pass_id",
    )
    assert found == PASSES
    assert rows(lake, "SELECT DISTINCT complete, num_layers, layer_count, remainder FROM passes") == [(True, 6, 6, 0)]


def test_what_a_look_at_layer_0_alone_would_say_of_a_pass(lake):
    # 9400 / 5400 = 1.74; 11400 / 9400 = 1.21 is neither growing by half nor the same.
    found = rows(lake, "SELECT reference_note FROM passes ORDER BY pass_id")
    assert [note for (note,) in found] == ["cold-start", "growing 1.7x", None, "steady-state", "steady-state"]


def test_average_and_first_layer_of_a_pass(lake):
    found = rows(lake, "SELECT avg_layer_us, first_layer_us FROM passes ORDER BY pass_id")
    assert found == [(span / 6, wall) for (_, _, span, *_), wall in zip(PASSES, FIRST_WALLS, strict=True)]


FIRST_WALLS = (5400, 9400, 11400, 11400, 11400)


def test_each_pass_has_136_layer_kernels(lake):
    found = rows(lake, "SELECT sum(kernel_count), sum(sum_us) FROM layers GROUP BY pass_id ORDER BY pass_id")
    assert found == [(136, total) for _, _, _, total, _, _ in PASSES]


def test_pass_3_layer_by_layer(lake):
    found = rows(
        lake,
        "SELECT compress_ratio, start_ns // 1000, wall_us, sum_us, kernel_count FROM layers "
        "WHERE pass_id = 3 ORDER BY layer_id",
    )
    assert found == PASS_3


def test_layer_walls_of_the_cold_pass(lake):
    found = rows(lake, "SELECT wall_us FROM layers WHERE pass_id = 0 ORDER BY layer_id")
    assert [wall for (wall,) in found] == [5400, 5400, 6240, 5510, 6240, 5510]


def test_a_pause_between_kernels_is_gap_between_layers_and_part_of_none(lake):
    found = rows(
        lake,
        "SELECT gap_after_us, pitch_us - wall_us, busy_us = sum_us, comm_count, count(*) FROM layers GROUP BY ALL "
        "ORDER BY gap_after_us",
    )
    assert found == [(10.0, 10.0, True, 2, 25), (None, None, True, 2, 5)]


def test_types_come_from_the_ratios_and_flags_stand_beside_them(lake):
    found = rows(
        lake,
        "SELECT layer_type, is_first, is_final, is_hash FROM layers WHERE pass_id = 4 ORDER BY layer_id",
    )
    assert found == [
        ("FULL_ATTN", True, False, True),
        ("FULL_ATTN", False, False, True),
        ("C4", False, False, False),
        ("C128", False, False, False),
        ("C4", False, False, False),
        ("C128", False, True, False),
    ]


@pytest.mark.parametrize(("part", "costs"), COSTS)
def test_every_layer_holds_the_kernels_of_its_own_type(lake, part, costs):
    found = rows(
        lake,
        f"SELECT layer_id, coalesce(sum(dur_us) FILTER (contains(name, '{part}')), 0) "
        "FROM layer_kernels WHERE pass_id = 3 GROUP BY layer_id ORDER BY layer_id",
    )
    assert found == [(layer, costs[ratio]) for layer, (ratio, *_) in enumerate(PASS_3)]


@pytest.mark.parametrize(
    ("pass_id", "attention", "feed_forward"),
    [
        (0, {0: (9, 2800, 2880), 4: (13, 3600, 3720), 128: (10, 2900, 2990)}, (12, 2400, 2510)),
        (3, {0: (9, 5800, 5880), 4: (13, 6600, 6720), 128: (10, 5900, 5990)}, (12, 5400, 5510)),
    ],
)
def test_halves(lake, pass_id, attention, feed_forward):
    found = rows(
        lake,
        "SELECT layer_id, half, kernel_count, sum_us, wall_us FROM layer_halves "
        f"WHERE pass_id = {pass_id} ORDER BY start_ns",
    )
    expected = []
    for layer, (ratio, *_) in enumerate(PASS_3):
        expected += [(layer, "attn", *attention[ratio]), (layer, "ffn", *feed_forward)]
    assert found == expected


def test_averages_by_ratio_in_the_chosen_pass(lake):
    found = rows(
        lake,
        "SELECT compress_ratio, count(*), avg(wall_us), avg(sum_us) FROM layers "
        "SEMI JOIN passes ON passes.pass_id = layers.pass_id AND chosen GROUP BY 1 ORDER BY 1",
    )
    assert found == [(0, 2, 11400, 11200), (4, 2, 12240, 12000), (128, 2, 11510, 11300)]


def test_hot_order_of_layer_2_in_pass_3(lake):
    found = rows(
        lake,
        "SELECT hot_rank, half, dur_us, rel_ms FROM layer_kernels WHERE pass_id = 3 AND layer_id = 2 "
        "ORDER BY hot_rank LIMIT 9",
    )
    assert found == [
        (0, "attn", 4000, 200.080),
        (1, "ffn", 2400, 205.900),
        (2, "ffn", 1600, 208.420),
        (3, "attn", 500, 198.730),
        (4, "attn", 400, 204.510),
        (5, "ffn", 400, 210.030),
        (6, "attn", 300, 199.560),
        (7, "attn", 300, 204.200),
        (8, "attn", 200, 198.300),
    ]


def test_only_layer_2_of_layers_2_and_3_has_the_indexers_kernels(lake):
    query = (
        "SELECT DISTINCT name FROM layer_kernels WHERE pass_id = 3 AND layer_id = {} "
        "EXCEPT SELECT name FROM layer_kernels WHERE pass_id = 3 AND layer_id = {} ORDER BY name"
    )
    assert rows(lake, query.format(2, 3)) == [
        ("fast_hadamard_transform_kernel",),
        ("fused_store_indexer_cache",),
        ("topk_transform_512",),
        ("void deep_gemm::sm90_fp8_paged_mqa_logits<1>",),
    ]
    assert rows(lake, query.format(3, 2)) == [("c128_prefill",)]


def test_prologue_epilogue_and_gap_of_every_pass(lake):
    # The gap is the pause of 1000 and the spacing of 10 that every kernel leaves behind.
    found = rows(
        lake,
        "SELECT pass_id, part, start_ns // 1000, wall_us, sum_us, kernel_count FROM pass_parts ORDER BY start_ns",
    )
    expected = []
    for pass_id, (start, end, *_) in enumerate(PASSES):
        expected += [
            (pass_id, "prologue", start - 210, 200, 200, 1),
            (pass_id, "epilogue", end + 10, 2510, 2500, 2),
            (pass_id, "gap", end + 2520, 1010, 0, 0),
        ]
    assert found == expected[:-1]


@pytest.mark.parametrize(
    "settings",
    [
        # The category of what combines is another: where in the layer it runs is the user's to say.
        {"anchor": "flash_fwd_mla_combine", "anchor_role": "inside"},
        {"anchor": "flash_fwd_splitkv_mla"},
    ],
)
@in_one_lake
def test_an_attention_kernel_in_the_middle_of_the_layer_gives_the_same_layers(tmp_path, lake, settings):
    other = yield captured(tmp_path, s1(**settings))
    query = "SELECT * EXCLUDE (series) FROM layers ORDER BY pass_id, layer_id"
    assert rows(other, query) == rows(lake, query)
    query = "SELECT * EXCLUDE (anchor_count, series) FROM passes ORDER BY pass_id"
    assert rows(other, query) == rows(lake, query)


@pytest.mark.parametrize(
    "config",
    [
        {"text_config": gpu_config()},
        gpu_config() | {"compress_ratios": [0, 0, 4, 128, 4, 128]},  # without the draft layer's entry
    ],
)
@in_one_lake
def test_the_config_may_nest_its_fields_or_leave_out_the_draft_layer(tmp_path, lake, config):
    other = yield captured(tmp_path, s1(config=json.dumps(config)))
    query = "FROM layers ORDER BY pass_id, layer_id"
    assert rows(other, query) == rows(lake, query)


@pytest.mark.parametrize(
    ("config", "types"),
    [
        ({"compress_ratios": [0, 4]}, [None] * 6),  # neither six entries nor six and the draft layer's
        ({"layer_types": ["sliding_attention", "full_attention"] * 3}, ["SLIDING_ATTN", "FULL_ATTN"] * 3),
        ({"sliding_window_pattern": 3}, ["SLIDING_ATTN", "SLIDING_ATTN", "FULL_ATTN"] * 2),
        ({"first_k_dense_replace": 2, "n_routed_experts": 8}, ["DENSE"] * 2 + ["MOE"] * 4),
        ({"text_config": {"first_k_dense_replace": 1, "num_experts": 8}}, ["DENSE"] + ["MOE"] * 5),
        (
            {"first_k_dense_replace": 1, "moe_layer_freq": 2, "n_routed_experts": 8},
            ["DENSE", "DENSE", "MOE", "DENSE", "MOE", "DENSE"],
        ),
        ({"first_k_dense_replace": 1, "moe_layer_freq": [0, 1], "n_routed_experts": 8}, [None] * 6),
        ({"first_k_dense_replace": 2, "n_routed_experts": None}, [None] * 6),
        (
            {"moe_layer_freq": [0, 0, 1, 0, 1, 1], "n_routed_experts": 8},
            ["DENSE", "DENSE", "MOE", "DENSE", "MOE", "MOE"],
        ),
        # EXAONE 4: the pattern ends with the layer that sees all keys.
        ({"sliding_window_pattern": "LLG"}, ["SLIDING_ATTN", "SLIDING_ATTN", "FULL_ATTN"] * 2),
        # Without a window the pattern has no meaning, as in EXAONE 4.0 1.2B.
        ({"sliding_window": None, "sliding_window_pattern": "LLLG"}, [None] * 6),
        ({"text_config": {"sliding_window": None, "sliding_window_pattern": 3}}, [None] * 6),
        ({"sliding_window": 512, "use_sliding_window": False, "sliding_window_pattern": 3}, [None] * 6),
        # Qwen2 and Qwen3 use no window unless the file has it.
        ({"sliding_window": 512, "max_window_layers": 4, "model_type": "qwen2"}, [None] * 6),
        (
            {
                "text_config": {"sliding_window": 512, "max_window_layers": 4, "model_type": "qwen3"},
                "use_sliding_window": True,
            },
            ["FULL_ATTN"] * 4 + ["SLIDING_ATTN"] * 2,
        ),
        # Qwen3-MoE: every second layer has experts, but for those listed.
        (
            {"decoder_sparse_step": 2, "mlp_only_layers": [1], "num_experts": 8},
            ["DENSE", "DENSE", "DENSE", "MOE", "DENSE", "MOE"],
        ),
        # ERNIE 4.5: every n-th layer from the first to the last one with experts, -1: of all.
        (
            {"moe_layer_start_index": 2, "moe_layer_end_index": -1, "moe_layer_interval": 2, "moe_num_experts": 8},
            ["DENSE", "DENSE", "DENSE", "MOE", "DENSE", "MOE"],
        ),
        (
            {"moe_layer_start_index": 1, "moe_layer_end_index": 3, "moe_layer_interval": 1, "moe_num_experts": 8},
            ["DENSE", "MOE", "MOE", "MOE", "DENSE", "DENSE"],
        ),
        # Llama 4, and Qwen3-Next without its list of types.
        ({"interleave_moe_layer_step": 3, "num_local_experts": 16}, ["DENSE", "DENSE", "MOE"] * 2),
        ({"full_attention_interval": 3}, ["LINEAR_ATTN", "LINEAR_ATTN", "FULL_ATTN"] * 2),
        # Kimi Linear counts its layers from 1; with experts too, the attention tells the layers apart.
        (
            {
                "linear_attn_config": {"kda_layers": [1, 2, 4, 5], "full_attn_layers": [3, 6]},
                "first_k_dense_replace": 1,
                "num_experts": 8,
            },
            ["LINEAR_ATTN", "LINEAR_ATTN", "FULL_ATTN"] * 2,
        ),
        # Ling: full attention ends each group of four, and is in what remains of one.
        (
            {"layer_group_size": 4, "first_k_dense_replace": 1, "num_experts": 8},
            ["LINEAR_ATTN"] * 3 + ["FULL_ATTN"] * 3,
        ),
        ({"layer_group_size": 1, "first_k_dense_replace": 1, "num_experts": 8}, ["DENSE"] + ["MOE"] * 5),
        # More entries than one for each layer and one for the draft layer, all 0, as in published files.
        (
            {"compress_ratios": [0, 0, 4, 128, 4, 128, 0, 0, 0], "num_nextn_predict_layers": 1},
            ["FULL_ATTN", "FULL_ATTN", "C4", "C128", "C4", "C128"],
        ),
        ({"compress_ratios": [0, 0, 4, 128, 4, 128, 0, 4], "num_nextn_predict_layers": 1}, [None] * 6),
        (
            {"first_k_dense_replace": 1, "n_routed_experts": 8, "layer_types": ["full_attention"] * 6},
            ["FULL_ATTN"] * 6,
        ),
        ({}, [None] * 6),
    ],
)
@in_one_lake
def test_layer_types_from_other_configs(tmp_path, config, types):
    lake = yield captured(tmp_path, s1(profile="dsv4_csa_hca", config=json.dumps({"num_hidden_layers": 6, **config})))
    found = rows(lake, "SELECT layer_type FROM layers WHERE pass_id = 0 ORDER BY layer_id")
    assert [layer_type for (layer_type,) in found] == types


@pytest.mark.parametrize(
    ("config", "model", "types"),
    [
        ({"moe_layer_freq": [0, 0, 1, 0, 1, 1]}, "gqa+dense gqa+moe", "DENSE MOE"),
        ({"decoder_sparse_step": 2, "mlp_only_layers": [1]}, "gqa+dense gqa+moe", "DENSE MOE"),
        ({"first_k_dense_replace": 1, "moe_layer_freq": 2}, "gqa+dense gqa+moe", "DENSE MOE"),
        ({"sliding_window_pattern": "LLG", "sliding_window": 16}, "gqa+moe window+moe", "FULL_ATTN SLIDING_ATTN"),
        ({"max_window_layers": 4, "sliding_window": 16}, "gqa+moe window+moe", "FULL_ATTN SLIDING_ATTN"),
    ],
)
@in_one_lake
def test_types_of_layers_are_the_kinds_that_the_model_s_operators_are_of(tmp_path, config, model, types):
    config = {
        "num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 4, "head_dim": 16, "intermediate_size": 128,
        "vocab_size": 1000, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, **config,
    }  # fmt: skip
    lake = yield captured(tmp_path, s1(profile="dsv4_csa_hca", model="small", config=json.dumps(config)))
    typed = rows(lake, "SELECT layer_type FROM layers WHERE pass_id = 0 ORDER BY layer_id")
    (tmp_path / "config.json").write_text(json.dumps(config))
    with Lake(tmp_path / "models") as models:
        name = models.know_model(tmp_path / "config.json", "small")
        kinds = models.rows("SELECT layer_kind FROM model_layers WHERE model = $1 ORDER BY layer_id", [name])
    as_type = dict(zip(model.split(), types.split(), strict=True))
    assert {kind for (kind,) in kinds} == set(as_type)
    assert [layer_type for (layer_type,) in typed] == [as_type[kind] for (kind,) in kinds]


@pytest.mark.parametrize("config", [None, "", "{not json", "[]", "null", '{"num_hidden_layers": null}'])
@in_one_lake
def test_a_config_that_says_nothing_is_no_error(tmp_path, config):
    lake = yield captured(tmp_path, s1(profile="dsv4_csa_hca", num_layers=6, config=config))
    assert rows(lake, "SELECT count(*) FROM layers") == [(30,)]


@in_one_lake
def test_a_capture_cut_in_the_last_pass_keeps_four_passes_and_marks_the_fifth_incomplete(tmp_path, lake):
    events = [event for event in gpu_trace()["traceEvents"] if event["ts"] < 300000]
    other = yield captured(tmp_path, Capture("s1", events, {"config": CONFIG}))
    query = "SELECT pass_id, complete, start_ns, span_us, chosen FROM passes WHERE pass_id < 4 ORDER BY pass_id"
    assert rows(other, query) == rows(lake, query)
    found = rows(other, "SELECT complete, note, chosen, anchor_count, remainder FROM passes WHERE pass_id = 4")
    assert found == [(False, "partial", False, 56, 8)]
    query = "SELECT * EXCLUDE (series) FROM layers WHERE pass_id < 4 OR layer_id < 3 ORDER BY pass_id, layer_id"
    assert rows(other, query) == rows(lake, query)
