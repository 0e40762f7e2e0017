"""The dimensions of models: as published, as a config.json says, and whether they can be right."""

import json

import pytest

from tracelake.engine.errors import InputError, UsageError
from tracelake.lake import Lake

#: Parameters that a token meets, without the embedding table: half the FLOP of all products, worked out apart from
#: the published dimensions.
ACTIVE = {
    "qwen3-8b": 7_568_097_280,
    "qwen3-235b-a22b": 21_567_635_456,
    "minimax-m2": 10_415_112_192,
    "deepseek-v3": 36_624_596_992,
    "deepseek-v3.2": 37_476_106_240,
    "kimi-k2": 31_686_066_176,
    "glm-5": 40_831_942_656,
    "deepseek-v4-flash": 13_268_221_952,
}
EMBEDDED = {
    "qwen3-8b": 8_190_427_136,
    "qwen3-235b-a22b": 22_189_965_312,
    "minimax-m2": 11_029_708_800,
    "deepseek-v3": 37_551_276_032,
    "deepseek-v3.2": 38_402_785_280,
    "kimi-k2": 32_860_471_296,
    "glm-5": 41_783_525_376,
    "deepseek-v4-flash": 13_797_752_832,
}
SMALL = {
    "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 128, "vocab_size": 1000,
}  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("models") / "lake") as opened:
        yield opened


@pytest.fixture
def known(lake, tmp_path):
    """Return what writes a config.json and gives the row of its model."""

    def known(config, *columns):
        path = tmp_path / "some-model" / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(config))
        name = lake.know_model(path)
        [row] = lake.rows(f"SELECT {', '.join(columns)} FROM architectures WHERE model = $1", [name])
        return row

    return known


def kinds(lake, model):
    return lake.rows(
        "SELECT layer_kind, count(*), min(layer_id) FROM model_layers WHERE model = $1 GROUP BY ALL ORDER BY ALL",
        [model],
    )


def test_active_parameters_follow_from_the_dimensions(lake):
    rows = lake.rows("SELECT model, active, active_embedded FROM active_parameters")
    found = {model: (active, embedded) for model, active, embedded in rows}
    assert {model: found[model] for model in ACTIVE} == {model: (ACTIVE[model], EMBEDDED[model]) for model in ACTIVE}


def test_every_shipped_model_is_as_large_as_its_publisher_says(lake):
    rows = lake.rows("SELECT model, published_active_b, agrees FROM active_parameters")
    assert len(rows) == lake.rows("SELECT count(*) FROM models")[0][0]
    assert [model for model, published, agrees in rows if published is not None and not agrees] == []
    assert lake.rows("SELECT model FROM models WHERE coalesce(source, '') = ''") == []


def test_layers_of_a_model_are_of_kinds(lake):
    assert kinds(lake, "deepseek-v3") == [("mla+dense", 3, 0), ("mla+moe", 58, 3)]
    assert kinds(lake, "kimi-k2") == [("mla+dense", 1, 0), ("mla+moe", 60, 1)]
    assert kinds(lake, "gpt-oss-120b") == [("gqa+moe", 18, 1), ("window+moe", 18, 0)]
    assert kinds(lake, "deepseek-v4-flash") == [
        ("v4_dense+moe", 20, 3), ("v4_top+moe", 21, 2), ("v4_window+moe", 2, 0),
    ]  # fmt: skip


def test_a_config_may_use_any_of_the_names(known):
    told = known(
        {"n_layer": 2, "n_embd": 96, "n_head": 6, "n_inner": 384, "vocab_size": 10, "model_type": "gpt2"},
        "num_layers", "hidden_size", "num_heads", "num_kv_heads", "head_dim", "intermediate_size", "gated_mlp",
        "tied_embeddings",
    )  # fmt: skip
    assert told == (2, 96, 6, 6, 16, 384, False, True)


def test_gpt2_says_nothing_of_the_width_of_its_mlp(known):
    config = {"n_layer": 2, "n_embd": 96, "n_head": 6, "n_inner": None, "vocab_size": 10, "model_type": "gpt2"}
    told = known(config, "intermediate_size")
    assert told == (384,)


def test_the_language_part_of_a_multimodal_config_counts(known):
    config = {"model_type": "some_vl", "text_config": SMALL | {"model_type": "qwen3"}, "vision_config": {"depth": 3}}
    assert known(config, "num_layers", "hidden_size", "qk_norm") == (4, 64, False)
    config["model_type"] = "qwen3"
    assert known(config, "qk_norm") == (True,)


def test_the_width_of_an_expert_may_stand_in_intermediate_size(known):
    config = SMALL | {"num_local_experts": 8, "num_experts_per_tok": 2, "model_type": "mixtral"}
    assert known(config, "num_experts", "top_k", "moe_intermediate_size", "fault") == (8, 2, 128, None)
    assert known(
        SMALL | {"num_experts": 8, "moe_topk": 2, "moe_intermediate_size": 32, "n_shared_experts": 2},
        "shared_intermediate_size", "first_dense_layers",
    ) == (64, 0)  # fmt: skip


def test_sparse_steps_lists_and_leading_layers_tell_dense_ones(lake, known):
    moe = SMALL | {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}

    def dense(**more):
        known(moe | more, "model")
        rows = lake.rows(
            "SELECT layer_id FROM model_layers WHERE model = 'some-model' AND mlp_kind = 'dense' ORDER BY 1"
        )
        return [layer for (layer,) in rows]

    assert dense() == []
    assert dense(first_k_dense_replace=1) == [0]
    assert dense(decoder_sparse_step=2) == [0, 2]
    assert dense(mlp_only_layers=[3]) == [3]
    assert dense(first_k_dense_replace=1, moe_layer_freq=2) == [0, 2]
    assert dense(moe_layer_freq=[0, 1, 1, 0]) == [0, 3]
    assert dense(mlp_layer_types=["dense", "sparse", "sparse", "sparse"]) == [0]


def test_windows_are_told_in_four_ways(lake, known):
    def windows(**more):
        known(SMALL | more, "model")
        rows = lake.rows("SELECT sliding_window FROM model_layers WHERE model = 'some-model' ORDER BY layer_id")
        return [window for (window,) in rows]

    assert windows() == [None] * 4
    assert windows(sliding_window=16) == [16] * 4
    assert windows(sliding_window=16, use_sliding_window=False) == [None] * 4
    assert windows(sliding_window=16, max_window_layers=3) == [None, None, None, 16]
    assert windows(sliding_window=16, sliding_window_pattern=2) == [16, None, 16, None]
    types = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    assert windows(sliding_window=16, layer_types=types) == [None, 16, 16, None]


@pytest.mark.parametrize(
    ("layers", "ratios", "mtp", "kept", "fault", "remark"),
    [
        (4, [0, 0, 4, 128], 1, 4, None, None),
        (4, [0, 0, 4, 128, 0], 1, 4, None, None),
        (4, [0, 0, 4, 128, 0, 0, 0], 1, 4, None, "compress_ratios: 3 surplus zeros left out"),
        (4, [0, 0, 4], 1, None, "compress_ratios: 3 entries for 4 layers", None),
        (4, [0, 0, 4, 128, 4, 4], 1, None, "compress_ratios: 6 entries for 4 layers", None),
    ],
)
def test_ratios_are_one_for_each_layer(lake, known, layers, ratios, mtp, kept, fault, remark):
    config = SMALL | {
        "num_hidden_layers": layers, "compress_ratios": ratios, "num_nextn_predict_layers": mtp,
        "num_key_value_heads": 1, "sliding_window": 16,
    }  # fmt: skip
    if fault:
        with pytest.raises(UsageError, match=fault):
            known(config, "model")
        return
    assert known(config, "attention", "len(compress_ratios)", "fault", "remark") == ("v4", kept, None, remark)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"num_hidden_layers": None}, "number of layers is missing"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"num_key_value_heads": 3}, "4 heads cannot share 3"),
        ({"num_experts": 4, "num_experts_per_tok": 8, "moe_intermediate_size": 8}, "top-k of 4 experts"),
        ({"num_experts": 4, "num_experts_per_tok": 2}, "width of an expert is missing"),
        ({"kv_lora_rank": 8}, "latent attention without"),
    ],
)
def test_dimensions_that_cannot_be_right_are_named(known, change, fault):
    with pytest.raises(UsageError, match=fault):
        known({key: value for key, value in (SMALL | change).items() if value is not None}, "model")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"hidden_size": "abc"}, 'hidden_size is "abc": expected whole number, 1 to 1000000'),
        ({"hidden_size": -5}, "hidden_size is -5: expected"),
        ({"hidden_size": 1e30}, r"hidden_size is 1e\+?30: expected"),
        ({"hidden_size": 10**30}, "hidden_size is 10{30}: expected"),
        ({"hidden_size": 2048.5}, r"hidden_size is 2048\.5: expected whole number"),
        ({"hidden_size": True}, "hidden_size is true: expected whole number"),
        ({"hidden_size": [64]}, r"hidden_size is \[64\]: expected whole number"),
        ({"hidden_size": 10**12}, "hidden_size is 1000000000000: expected"),
        ({"vocab_size": 10**15}, "vocab_size is 1000000000000000: expected whole number, 1 to 100000000"),
        # By the name that the file has for it.
        ({"hidden_size": None, "n_embd": {"a": 1}}, r'n_embd is \{"a":1\}: expected whole number'),
        ({"num_experts": "many"}, 'num_experts is "many": expected whole number'),
        ({"num_key_value_heads": [1, 2]}, r"num_key_value_heads is \[1,2\]: expected whole number"),
        ({"num_attention_heads": 8192, "head_dim": None, "hidden_size": 4096}, "head_dim is 0: expected"),
        ({"partial_rotary_factor": 1.5}, r"partial_rotary_factor is 1\.5: expected number, 0 to 1"),
        ({"tie_word_embeddings": "perhaps"}, 'tie_word_embeddings is "perhaps": expected true or false'),
        ({"layer_types": "full_attention"}, 'layer_types is "full_attention": expected list of words'),
        ({"mlp_only_layers": [1, 2.5]}, r"mlp_only_layers is \[1,2\.5\]: expected list of whole numbers"),
        ({"sliding_window_pattern": "LLRG"}, 'sliding_window_pattern is "LLRG": expected whole number or pattern'),
        ({"torch_dtype": "float77"}, 'torch_dtype is "float77": no such type'),
        ({"torch_dtype": 16}, "torch_dtype is 16: expected word"),
        ({"quantization_config": "fp8"}, 'quantization_config is "fp8": expected object'),
        ({"quantization_config": {"quant_method": "fp77"}}, 'quant_method "fp77" is not in'),
        # Each dimension is possible, all of them together are not: 3 x 10^4 layers x 10^6 x 10^7.
        ({"num_hidden_layers": 10**4, "hidden_size": 10**6, "head_dim": 1, "intermediate_size": 10**7},
         "parameters in all layers"),
    ],
)  # fmt: skip
def test_what_is_there_and_cannot_be_read_is_named_with_its_value(known, change, fault):
    with pytest.raises(UsageError, match=fault):
        known({key: value for key, value in (SMALL | change).items() if value is not None}, "model")


def test_numbers_may_be_written_in_other_ways(known):
    config = SMALL | {"hidden_size": 64.0, "vocab_size": "1000", "sliding_window": None}
    assert known(config, "hidden_size", "vocab_size") == (64, 1000)
    for word in ("torch.float16", "half", "fp16", "FLOAT16"):
        assert known(SMALL | {"torch_dtype": word}, "weight_dtype") == ("fp16",)
    assert known(SMALL | {"sliding_window_pattern": "LLLG"}, "full_every") == (4,)
    assert known(SMALL | {"moe_layer_freq": [0, 1, 1, 1]}, "dense_layers") == ([0],)


def test_every_property_of_a_config_has_its_kind(lake):
    assert lake.rows("SELECT DISTINCT field FROM config_names EXCEPT SELECT field FROM config_fields") == []
    assert lake.rows("SELECT field FROM config_fields EXCEPT SELECT field FROM config_names") == []


def test_a_lake_s_own_model_beyond_all_limits_is_faulty(tmp_path):
    own = tmp_path / "lake" / "reference"
    with Lake(tmp_path / "lake") as lake:
        own.mkdir()
        (own / "models.csv").write_text(
            "model,num_layers,hidden_size,num_heads,intermediate_size,vocab_size\nmine,2,1000000000000,4,128,1000\n"
        )
        with pytest.raises(UsageError, match="hidden_size is 1000000000000: expected"):
            lake.resolve_model("mine")
        assert lake.resolve_model("qwen3-8b") == "qwen3-8b"


def test_quantised_weights_are_told(known):
    def types(**more):
        return known(SMALL | more, "weight_dtype", "expert_dtype")

    assert types(torch_dtype="bfloat16") == ("bf16", None)
    assert types(dtype="float16") == ("fp16", None)
    assert types(torch_dtype="bfloat16", quantization_config={"quant_method": "fp8"}) == ("fp8", None)
    assert types(torch_dtype="bfloat16", quantization_config={"quant_method": "mxfp4"}) == ("bf16", "fp4")


def test_names_are_found_however_they_are_written(lake):
    for text in ("deepseek-v3", "DeepSeek V3", "deepseek_v3", "deepseek-ai/DeepSeek-V3.1", "  deepseek-r1 "):
        assert lake.resolve_model(text) == "deepseek-v3"
    assert lake.resolve_model("Qwen/Qwen3-235B-A22B") == "qwen3-235b-a22b"
    for text in ("h100", "H100 SXM5", "NVIDIA H100 80GB HBM3", "nvidia-h100", "h100_sxm"):
        assert lake.resolve_hardware(text) == "h100_sxm"
    assert lake.resolve_hardware("AMD Instinct MI300X") == "mi300x"
    assert lake.resolve_hardware("h20") == lake.resolve_hardware("NVIDIA H20") == "h20"
    assert lake.resolve_hardware("NVIDIA B200") == "b200"


def test_what_is_unknown_is_said_with_what_is_near(lake, tmp_path):
    with pytest.raises(UsageError, match=r"qwen3-9b: unknown model. Near: .*qwen3-8b"):
        lake.resolve_model("qwen3-9b")
    with pytest.raises(UsageError, match=r"h101: unknown hardware. Near: h100"):
        lake.resolve_hardware("h101")
    for content in ("", "[]", "{", '"text"', "\x00\xff"):
        path = tmp_path / "config.json"
        path.write_text(content)
        with pytest.raises(InputError, match=r"not a model's config\.json"):
            lake.resolve_model(path)
    with pytest.raises(InputError, match=r"not a model's config\.json"):
        lake.resolve_model(tmp_path / "nothing.json")


def test_a_lake_has_models_of_its_own(tmp_path):
    lake = Lake(tmp_path / "lake")
    own = tmp_path / "lake" / "reference"
    own.mkdir()
    (own / "models.csv").write_text(
        "model,num_layers,hidden_size,num_heads,intermediate_size,vocab_size\nmine,2,64,4,128,1000\n"
    )
    # By hand: 2 layers x (4 x 64 x 64 of attention + 3 x 64 x 128 of MLP) + 64 x 1000 of the head.
    assert lake.rows("SELECT active FROM active_parameters WHERE model = 'mine'") == [(145_920,)]
    lake.close()
