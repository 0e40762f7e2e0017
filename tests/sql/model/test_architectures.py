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


EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
LATENT = {"kv_lora_rank": 8, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}


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


def test_opt_has_its_own_word_for_the_width_of_its_mlp(known):
    config = {"num_hidden_layers": 2, "hidden_size": 96, "num_attention_heads": 6, "vocab_size": 10, "ffn_dim": 192}
    assert known(config | {"model_type": "opt"}, "intermediate_size", "gated_mlp") == (192, False)


def test_gpt2_says_nothing_of_the_width_of_its_mlp(known):
    config = {"n_layer": 2, "n_embd": 96, "n_head": 6, "n_inner": None, "vocab_size": 10, "model_type": "gpt2"}
    told = known(config, "intermediate_size")
    assert told == (384,)


def test_the_language_part_of_a_multimodal_config_counts(known):
    config = {"model_type": "some_vl", "text_config": SMALL | {"model_type": "qwen3"}, "vision_config": {"depth": 3}}
    assert known(config, "num_layers", "hidden_size", "model_type", "qk_norm") == (4, 64, "qwen3", True)
    other = {"model_type": "qwen3", "text_config": SMALL | {"model_type": "llama"}}
    assert known(other, "model_type", "qk_norm") == ("llama", False)
    # A part without a type of its own is of the file's.
    assert known({"model_type": "qwen3", "text_config": SMALL}, "model_type", "qk_norm") == ("qwen3", True)
    # The sizes at the top are of another part; a null in the language part says nothing.
    tower = {"model_type": "some_vl", "n_layer": 2, "num_hidden_layers": 27, "hidden_size": 1152, "vocab_size": 9}
    both = tower | {"torch_dtype": "float16", "text_config": SMALL | {"torch_dtype": None}}
    assert known(both, "num_layers", "hidden_size", "vocab_size", "weight_dtype") == (4, 64, 1000, "fp16")
    written = SMALL | {"n_layer": 5}
    del written["num_hidden_layers"]
    assert known(tower | {"text_config": written}, "num_layers") == (5,)
    with pytest.raises(UsageError, match='text_config is "qwen3": expected object'):
        known(SMALL | {"text_config": "qwen3"}, "model")


@pytest.mark.parametrize("kind", ["qwen3_vl_text", "qwen3_vl_moe_text", "gemma3", "gemma3_text"])
def test_a_language_part_may_normalise_queries_and_keys_unsaid(known, kind):
    assert known({"model_type": "some_vl", "text_config": SMALL | {"model_type": kind}}, "qk_norm") == (True,)


@pytest.mark.parametrize("kind", ["gemma", "gemma2", "gemma3", "gemma3_text"])
def test_gemma_s_head_is_its_embedding_unless_it_says_otherwise(known, kind):
    """As transformers has it: the class default is there where the key is not."""
    assert known(SMALL | {"model_type": kind}, "tied_embeddings") == (True,)
    assert known(SMALL | {"model_type": kind, "tie_word_embeddings": False}, "tied_embeddings") == (False,)


def kv_heads(known, **more):
    """Return the key-value heads of a model of 8 heads."""
    config = {key: value for key, value in SMALL.items() if key != "num_key_value_heads"}
    return known(config | {"num_attention_heads": 8} | more, "num_kv_heads", "fault")


def test_openpangu_s_own_names_are_known(known):
    """openPangu-Ultra-MoE-718B: 61 layers of a latent attention, 58 with experts.

    As published 718 billion parameters, 39 of them active, both without the embedding.

    By hand: embeddings and head 2 x 153600 x 7680; an attention 7680 x 1536 + 1536 x 128 x 192 + 7680 x 576 +
    512 x 128 x 256 + 128 x 128 x 7680 = 196.6 million; 3 dense MLPs of 3 x 7680 x 18432; 58 x (257 experts of
    3 x 7680 x 2048 and a router of 7680 x 256), of which a token meets 9.
    """
    config = {
        "model_type": "pangu_ultra_moe", "hidden_size": 7680, "intermediate_size": 18432, "num_hidden_layers": 61,
        "moe_intermediate_size": 2048, "num_attention_heads": 128, "num_key_value_heads": 128, "num_dense_layers": 3,
        "attention_q_lora_dim": 1536, "attention_kv_lora_dim": 512, "attention_qk_dim": 128, "attention_v_dim": 128,
        "attention_qk_rope_dim": 64, "num_routed_experts": 256, "num_experts_per_tok": 8, "num_shared_experts": 1,
        "vocab_size": 153600, "num_mtp_layers": 1,
    }  # fmt: skip
    sums = "(SELECT {} FROM parameters AS p WHERE p.model = architectures.model AND kind <> 'norm')"
    attention, dense, mtp, total, active = known(
        config, "attention", "first_dense_layers", "mtp_layers",
        sums.format("sum(parameters)"), sums.format("sum(active_parameters)"),
    )  # fmt: skip
    expert = 3 * 7680 * 2048
    latent = 7680 * 1536 + 1536 * 128 * 192 + 7680 * 576 + 512 * 128 * 256 + 128 * 128 * 7680
    always = 2 * 153600 * 7680 + 61 * latent + 3 * 3 * 7680 * 18432 + 58 * 7680 * 256
    assert (attention, dense, mtp) == ("mla", 3, 1)
    assert (total, active) == (always + 58 * 257 * expert, always + 58 * 9 * expert)
    assert [round((parameters - 153600 * 7680) / 1e9) for parameters in (total, active)] == [718, 39]


def test_falcon_s_key_value_heads_count_in_a_new_decoder_alone(known):
    """As its modelling code in transformers: num_kv_heads if new_decoder_architecture or not multi_query, else 1."""
    falcon = {"model_type": "falcon", "num_kv_heads": 4}
    assert kv_heads(known, **falcon, multi_query=True, new_decoder_architecture=False) == (1, None)
    assert kv_heads(known, **falcon, multi_query=True, new_decoder_architecture=True) == (4, None)
    assert kv_heads(known, **falcon, multi_query=False) == (4, None)
    # The class default of multi_query is true.
    assert kv_heads(known, model_type="falcon") == (1, None)
    assert kv_heads(known, model_type="RefinedWebModel", multi_query=True) == (1, None)
    assert kv_heads(known, model_type="RefinedWeb", n_head_kv=2) == (2, None)


def test_key_value_heads_have_other_names(known):
    assert kv_heads(known) == (8, None)
    assert kv_heads(known, model_type="gpt_bigcode", multi_query=True) == (1, None)
    assert kv_heads(known, model_type="gpt_bigcode") == (1, None)
    assert kv_heads(known, model_type="gpt_bigcode", multi_query=False) == (8, None)
    chatglm = {"model_type": "chatglm", "multi_query_group_num": 2}
    assert kv_heads(known, **chatglm, multi_query_attention=True) == (2, None)
    assert kv_heads(known, **chatglm, multi_query_attention=False) == (8, None)
    assert kv_heads(known, n_kv_heads=4) == (4, None)
    with pytest.raises(UsageError, match=r"num_key_value_heads_per_layer is \[4,2,4,2\]: expected whole number"):
        kv_heads(known, num_key_value_heads_per_layer=[4, 2, 4, 2])


def test_chatglm_s_own_names_are_known(known):
    """The config.json of ChatGLM3-6B, made smaller."""
    config = {
        "model_type": "chatglm", "num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "kv_channels": 16,
        "ffn_hidden_size": 128, "padded_vocab_size": 1000, "seq_length": 8192, "add_qkv_bias": True,
        "multi_query_attention": True, "multi_query_group_num": 2, "tie_word_embeddings": False,
    }  # fmt: skip
    columns = ("num_layers", "num_kv_heads", "head_dim", "vocab_size", "max_positions", "qkv_bias", "fault")
    assert known(config, *columns) == (4, 2, 16, 1000, 8192, True, None)


FULL, WINDOW = "full_attention", "sliding_attention"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"layer_types": ["linear_attention"] * 3 + [FULL]}, "layer_types: linear_attention has no operators here"),
        ({"layer_types": [FULL, "mamba", FULL, "conv"]}, "layer_types: mamba has no operators here"),
        # Llama 4; its own experts are not read, and that is not the first thing to say.
        ({"model_type": "llama4_text", "num_local_experts": 16, "num_experts_per_tok": 1,
          "layer_types": ["chunked_attention"] * 3 + [FULL]}, "layer_types: chunked_attention has no operators"),
        ({"model_type": "llama4_text", "num_local_experts": 16, "num_experts_per_tok": 1,
          "attention_chunk_size": 8192}, "attention_chunk_size is 8192: chunked layers have no operators here"),
        # By the name that the file has for the list.
        ({"layers_block_type": ["mamba", "mamba", "hybrid", "mamba"]}, "layers_block_type: mamba has no operators"),
        ({"block_types": ["recurrent", "recurrent", "attention"]}, "block_types: recurrent has no operators"),
        ({"mixer_types": [FULL, "lightning-attn", FULL, FULL]}, "mixer_types: lightning-attn has no operators"),
        # Ratios are missing that these layers would need.
        ({"layer_types": ["compressed_sparse_attention"] * 4}, "layer_types: compressed_sparse_attention has no"),
        # Without a list, keys of such layers tell.
        ({"full_attention_interval": 4}, "full_attention_interval is 4: periodic layers have no operators here"),
        ({"attn_layer_period": 8, "mamba_d_state": 16}, "attn_layer_period is 8: periodic layers have no operators"),
        ({"attn_type_list": [0, 0, 0, 1]}, r"attn_type_list is \[0,0,0,1\]: listed layers have no operators here"),
        ({"linear_num_key_heads": 16}, "linear_num_key_heads is 16: linear layers have no operators here"),
        ({"linear_conv_kernel_dim": 4}, "linear_conv_kernel_dim is 4: linear layers"),
        ({"linear_attn_config": {"kda_layers": [1]}}, r'linear_attn_config is \{"kda_layers":\[1\]\}: linear layers'),
        ({"hybrid_override_pattern": "M-M*"}, 'hybrid_override_pattern is "M-M\\*": mixed layers have no operators'),
        ({"mamba_d_state": 128}, "mamba_d_state is 128: state space layers have no operators here"),
        ({"ssm_cfg": {}}, r"ssm_cfg is \{\}: state space layers"),
        ({"conv_L_cache": 3}, "conv_L_cache is 3: convolution layers"),
        ({"lru_width": 64}, "lru_width is 64: recurrent layers"),
        # Llama 3.2 Vision: these layers attend to the image's tokens and not to the text's.
        ({"text_config": {"model_type": "mllama_text_model", "cross_attention_layers": [1, 3]}},
         r"cross_attention_layers is \[1,3\]: cross attention layers have no operators here"),
        # Gemma 4, whose list of layers does not tell that those with full attention have other heads.
        ({"text_config": {"layer_types": [WINDOW] * 3 + [FULL], "global_head_dim": 32}},
         "global_head_dim is 32: layer dependent heads have no operators here"),
        ({"num_global_key_value_heads": 1}, "num_global_key_value_heads is 1: layer dependent heads"),
        ({"attention_k_eq_v": True}, "attention_k_eq_v is true: keys used as values have no operators"),
        ({"hidden_size_per_layer_input": 8}, "hidden_size_per_layer_input is 8: per layer embeddings"),
        ({"layer_types": [FULL] * 4, "num_kv_shared_layers": 2}, "num_kv_shared_layers is 2: shared kv layers"),
        ({"use_double_wide_mlp": True}, "use_double_wide_mlp is true: double wide mlps"),
        ({"add_cross_attention": True}, "add_cross_attention is true: cross attention layers"),
        # Without a key, the type does, as its class has such layers by default.
        ({"model_type": "qwen3_next"}, "model_type qwen3_next: linear_attention has no operators here"),
        ({"text_config": {"model_type": "qwen3_5_text"}}, "model_type qwen3_5_text: linear_attention has no operators"),
        ({"text_config": {"layer_types": ["linear_attention"] * 4}}, "layer_types: linear_attention has no operators"),
    ],
)  # fmt: skip
def test_layers_without_operators_are_refused_and_never_costed_as_attention(known, change, fault):
    with pytest.raises(UsageError, match=fault):
        known(SMALL | change, "model")


@pytest.mark.parametrize(
    "change",
    [
        {"layer_types": [FULL] * 4},
        {"layer_types": [WINDOW, FULL] * 2, "sliding_window": 16},
        # Granite 4 without Mamba: its class writes the keys all the same.
        {"model_type": "granitemoehybrid", "layer_types": ["attention"] * 4, "mamba_d_state": 256, "mamba_d_conv": 4},
        {"model_type": "qwen3_next", "layer_types": [FULL] * 4, "linear_num_key_heads": 16},
        {"model_type": "qwen3_next", "full_attention_interval": 1},
        # MiniMax-M2 says so of each layer.
        {"model_type": "minimax_m2", "attn_type_list": [1, 1, 1, 1]},
        {"attention_chunk_size": None, "linear_attn_config": None, "mamba_d_state": 0, "ssm_cfg": False,
         "cross_attention_layers": [], "add_cross_attention": False},
        {"layer_types": [WINDOW, FULL] * 2, "sliding_window": 16, "num_global_key_value_heads": None,
         "attention_k_eq_v": False, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0},
        # DeepSeek-V4: the ratios say what the layers are.
        {"compress_ratios": [0, 0, 4, 128], "num_key_value_heads": 1, "sliding_window": 16, "qk_rope_head_dim": 8,
         "layer_types": [WINDOW, WINDOW, "compressed_sparse_attention", "heavily_compressed_attention"]},
        {"kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "index_topk": 8,
         "index_n_heads": 2, "index_head_dim": 16, "layer_types": ["deepseek_sparse_attention"] * 4},
    ],
)  # fmt: skip
def test_layers_of_attention_stay_without_a_fault(known, change):
    assert known(SMALL | change, "fault") == (None,)


@pytest.mark.parametrize("kind", ["bert", "esm", "mpnet", "ernie", "xlm-roberta-xl", "megatron-bert"])
def test_encoders_have_plain_mlps_and_see_both_ways(lake, known, kind):
    found = known(SMALL | {"model_type": kind}, "gated_mlp", "is_encoder", "tied_embeddings", "model")
    assert found[:3] == (False, True, True)
    assert lake.rows("SELECT remark FROM model_remarks WHERE model = $1", [found[3]]) == []


@pytest.mark.parametrize(
    ("kind", "architecture", "has_head"),
    [
        ("bert", "BertModel", False), ("bert", "BertForMaskedLM", True), ("bert", None, False),
        ("xlm-roberta", "XLMRobertaForSequenceClassification", False), ("electra", "ElectraForPreTraining", False),
        ("llama", "LlamaForCausalLM", True), ("llama", None, True), ("qwen2", "Qwen2ForRewardModel", False),
        ("qwen3", "Qwen3ForSequenceClassification", False), ("chatglm", "ChatGLMModel", True),
    ],
)  # fmt: skip
def test_a_model_has_a_head_where_it_predicts_tokens(lake, known, kind, architecture, has_head):
    """A layer has 12 288 weights of attention and two or three times 64 x 128 of the MLP, a head 64 x 1000."""
    config = SMALL | {"model_type": kind, "architectures": architecture and [architecture], "tie_word_embeddings": True}
    said, mlps, model = known(config, "has_head", "3 - CAST(NOT gated_mlp AS BIGINT)", "model")
    assert said is has_head
    body, table = 4 * (12_288 + mlps * 64 * 128), 64 * 1000
    # The table is the head. Without a head it is still looked up, and multiplied with nothing.
    assert lake.rows("SELECT active, active_embedded FROM active_parameters WHERE model = $1", [model]) == [
        (body + table, body + table) if has_head else (body, body + table)
    ]
    heads = "SELECT count(*) FROM parameters WHERE model = $1 AND part = 'head'"
    assert lake.rows(heads, [model]) == [(int(has_head),)]


def test_a_type_that_is_not_known_is_remarked_on(lake, known):
    [model] = known(SMALL | {"model_type": "someformer"}, "model")
    [(remark,)] = lake.rows("SELECT remark FROM model_remarks WHERE model = $1", [model])
    assert remark.startswith("model_type someformer is not known: taken for a decoder like Llama, whose MLPs have a")
    for config in (SMALL, SMALL | {"model_type": "llama"}):
        [model] = known(config, "model")
        assert lake.rows("SELECT remark FROM model_remarks WHERE model = $1", [model]) == []


def test_no_published_model_has_a_fault(lake):
    assert lake.rows("SELECT model, fault FROM architectures WHERE source <> 'config.json' AND fault IS NOT NULL") == []


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
    # DeepSeek's code asks for a layer from the first on whose number the frequency divides.
    assert dense(first_k_dense_replace=1, moe_layer_freq=2) == [0, 1, 3]
    assert dense(moe_layer_freq=[0, 1, 1, 0]) == [0, 3]
    assert dense(mlp_layer_types=["dense", "sparse", "sparse", "sparse"]) == [0]
    # ERNIE 4.5: layers whose number from 1 the interval divides, from the first index to the last, -1: of all.
    assert dense(moe_layer_start_index=1, moe_layer_end_index=3, moe_layer_interval=2) == [0, 2]
    assert dense(moe_layer_start_index=1, moe_layer_end_index=2, moe_layer_interval=1) == [0, 3]
    assert dense(moe_layer_start_index=1, moe_layer_end_index=-1, moe_layer_interval=1) == [0]


def test_windows_are_told_in_four_ways(lake, known):
    def windows(**more):
        known(SMALL | more, "model")
        rows = lake.rows("SELECT sliding_window FROM model_layers WHERE model = 'some-model' ORDER BY layer_id")
        return [window for (window,) in rows]

    assert windows() == [None] * 4
    assert windows(sliding_window=16) == [16] * 4
    assert windows(sliding_window=16, use_sliding_window=False) == [None] * 4
    assert windows(sliding_window=16, max_window_layers=3) == [None, None, None, 16]
    # Qwen2Config: use_sliding_window is false unless the file has it.
    assert windows(sliding_window=16, max_window_layers=3, model_type="qwen2") == [None] * 4
    assert windows(sliding_window=16, max_window_layers=3, model_type="qwen3_moe") == [None] * 4
    used = {"model_type": "qwen2", "use_sliding_window": True}
    assert windows(sliding_window=16, max_window_layers=3, **used) == [None, None, None, 16]
    assert windows(sliding_window=16, sliding_window_pattern=2) == [16, None, 16, None]
    types = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    assert windows(sliding_window=16, layer_types=types) == [None, 16, 16, None]


@pytest.mark.parametrize(
    ("layers", "ratios", "mtp", "kept", "fault", "remark"),
    [
        (4, [0, 0, 4, 128], 1, 4, None, None),
        (4, [0, 0, 4, 128, 0], 1, 4, None, None),
        (4, [0, 0, 4, 128, 0, 0, 0], 1, 4, None, "compress_ratios: 7 entries for 4 layers: 3 surplus zeros left out"),
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
        (EXPERTS | {"num_experts_per_tok": 16}, "top-k 16 of 8 experts"),
        (EXPERTS | {"num_experts_per_tok": 0}, "top-k 0 of 8 experts"),
        (EXPERTS | {"num_experts_per_tok": None}, "top-k of 8 experts is missing"),
        (EXPERTS | {"n_group": 3}, "8 experts cannot be cut into 3 groups"),
        (EXPERTS | {"n_group": 4, "topk_group": 5}, "experts from 5 of 4 groups"),
        (EXPERTS | {"n_group": 4, "topk_group": 0}, "experts from 0 of 4 groups"),
        # A group has 8 / 4 experts.
        (
            EXPERTS | {"n_group": 4, "topk_group": 1, "num_experts_per_tok": 3},
            "top-k 3 of the experts in 1 groups of 2",
        ),
        (LATENT | {"qk_rope_head_dim": 7}, "qk_rope_head_dim is 7: the rotated part of a head is even"),
        (LATENT | {"qk_rope_head_dim": 0}, "qk_rope_head_dim is 0: the rotated part"),
        ({"scoring_func": "tanh"}, 'scoring_func is "tanh": expected sigmoid or softmax or sqrtsoftplus'),
        ({"num_attention_heads": 0}, "num_attention_heads is 0: expected"),
        ({"num_attention_heads": 0, "partial_rotary_factor": 0.5}, "num_attention_heads is 0: expected"),
        ({"num_key_value_heads": 0}, "num_key_value_heads is 0: expected"),
        ({"sliding_window": 8, "sliding_window_pattern": 0}, "sliding_window_pattern is 0: expected"),
        ({"first_k_dense_replace": -1}, "first_k_dense_replace is -1: expected"),
        ({"num_experts": 4, "num_experts_per_tok": 2}, "width of an expert is missing"),
        (
            EXPERTS | {"num_experts": None, "total_experts": 8},
            "num_experts_per_tok and moe_intermediate_size are given, and the number of experts under no name",
        ),
        ({"kv_lora_rank": 8}, "latent attention without"),
    ],
)
def test_dimensions_that_cannot_be_right_are_named(known, change, fault):
    with pytest.raises(UsageError, match=fault):
        known({key: value for key, value in (SMALL | change).items() if value is not None}, "model")


def test_groups_of_experts_may_be_as_published(known):
    """DeepSeek-V3 has 8 groups of 32, of which 4; Kimi K2, GLM and DeepSeek-V2-Lite have one group of all."""
    groups = EXPERTS | {"n_group": 4, "topk_group": 2, "num_experts_per_tok": 4, "scoring_func": "sigmoid"}
    assert known(SMALL | groups, "expert_groups", "top_groups", "fault") == (4, 2, None)
    assert known(SMALL | EXPERTS | {"n_group": 1, "topk_group": 1}, "fault") == (None,)
    assert known(SMALL | EXPERTS | {"n_group": 0, "topk_group": 0}, "fault") == (None,)
    # Without experts nothing is grouped.
    assert known(SMALL | {"n_group": 3, "topk_group": 5}, "fault") == (None,)


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
        ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, 'quant_method "gptq" of 3 bits is not in'),
        ({"is_encoder_decoder": True}, "is_encoder_decoder is true: encoder layers have no operators here"),
        ({"model_type": "longcat_flash"}, "model_type longcat_flash: shortcut_connection has no operators here"),
        (EXPERTS | {"moe_layer_freq": [0, 1, 0, 1, 1]}, "moe_layer_freq: 5 entries for 4 layers"),
        (EXPERTS | {"moe_layer_freq": [0, 1, 1]}, "moe_layer_freq: 3 entries for 4 layers"),
        # ALBERT: twelve layers, and the weights of one.
        ({"model_type": "albert", "embedding_size": 16}, "model_type albert: shared_weights has no operators here"),
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


@pytest.mark.parametrize(
    ("hidden_size", "layer_types", "fault"),
    [
        (1_000_000_000_000, "", "hidden_size is 1000000000000: expected"),
        (64, '"[linear_attention, full_attention]"', "layer_types: linear_attention has no operators here"),
    ],
)
def test_a_lake_s_own_model_is_judged_like_a_config(tmp_path, hidden_size, layer_types, fault):
    own = tmp_path / "lake" / "lookup"
    with Lake(tmp_path / "lake") as lake:
        own.mkdir()
        (own / "models.csv").write_text(
            "model,num_layers,hidden_size,num_heads,intermediate_size,vocab_size,layer_types\n"
            f"mine,2,{hidden_size},4,128,1000,{layer_types}\n"
        )
        with pytest.raises(UsageError, match=fault):
            lake.resolve_model("mine")
        assert lake.resolve_model("qwen3-8b") == "qwen3-8b"


def test_quantised_weights_are_told(known):
    def types(**more):
        return known(SMALL | more, "weight_dtype", "expert_dtype")

    assert types(torch_dtype="bfloat16") == ("bf16", None)
    assert types(dtype="float16") == ("fp16", None)
    assert types(torch_dtype="bfloat16", quantization_config={"quant_method": "fp8"}) == ("fp8", None)
    assert types(torch_dtype="bfloat16", quantization_config={"quant_method": "mxfp4"}) == ("bf16", "fp4")


@pytest.mark.parametrize(
    ("quantization", "dtype"),
    [
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "fp8", "bits": 8}, "fp8"),
        ({"quant_method": "compressed-tensors", "type": "int", "num_bits": 4}, "int4"),
        ({"quant_method": "compressed-tensors", "type": "int", "num_bits": 8}, "int8"),
        ({"quant_method": "compressed-tensors", "type": "float", "num_bits": 8}, "fp8"),
        ({"quant_method": "compressed-tensors", "type": "float", "num_bits": 4}, "fp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4"),
    ],
)
def test_one_method_makes_weights_of_several_widths(known, quantization, dtype):
    """Bits stand in the file: W8A8 and FP8 of compressed-tensors are not W4A16."""
    weights = {key: quantization[key] for key in quantization.keys() & {"type", "num_bits"}}
    said = {key: value for key, value in quantization.items() if key not in weights}
    if weights:
        said["config_groups"] = {"group_0": {"targets": ["Linear"], "weights": weights}}
    assert known(SMALL | {"quantization_config": said}, "weight_dtype") == (dtype,)


def test_an_mlp_beside_the_experts_is_one_that_every_token_visits(lake, tmp_path):
    """Grok-2: 64 layers of attention (2 x 8192 x 8192, 2 x 8192 x 1024), a router, the MLP, 2 of 8 experts; a head."""
    config = {
        "model_type": "git", "hidden_size": 8192, "intermediate_size": 32768, "moe_intermediate_size": 16384,
        "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
        "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 131072,
    }  # fmt: skip
    attention, router = 2 * 8192 * 8192 + 2 * 8192 * 1024, 8192 * 8
    for residual, widths in ((True, 32768 + 2 * 16384), (False, 2 * 16384)):
        path = tmp_path / f"grok-2-{residual}" / "config.json"
        path.parent.mkdir()
        path.write_text(json.dumps(config | {"residual_moe": residual}))
        active = 64 * (attention + router + 3 * 8192 * widths) + 8192 * 131072
        query = "SELECT active FROM active_parameters WHERE model = $1"
        assert lake.rows(query, [lake.know_model(path)]) == [(active,)]


def test_names_are_found_however_they_are_written(lake):
    for text in ("deepseek-v3", "DeepSeek V3", "deepseek_v3", "deepseek-ai/DeepSeek-V3.1", "  deepseek-r1 "):
        assert lake.resolve_model(text) == "deepseek-v3"
    assert lake.resolve_model("Qwen/Qwen3-235B-A22B") == "qwen3-235b-a22b"
    # Successors with a longer context, or other types, are models of their own.
    longer = {
        "Qwen/Qwen3-235B-A22B-Instruct-2507": "bf16", "Qwen/Qwen3-30B-A3B-Thinking-2507": "bf16",
        "moonshotai/Kimi-K2-Instruct-0905": "fp8", "moonshotai/Kimi-K2-Thinking": "bf16",
        # As Kimi-K2-Thinking: its config.json has the routed experts alone in INT4.
        "moonshotai/Kimi-K2.5": "bf16",
    }  # fmt: skip
    for text, dtype in longer.items():
        query = "SELECT max_positions, weight_dtype FROM architectures WHERE model = $1"
        assert lake.rows(query, [lake.resolve_model(text)]) == [(262_144, dtype)]
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
    own = tmp_path / "lake" / "lookup"
    own.mkdir()
    (own / "models.csv").write_text(
        "model,num_layers,hidden_size,num_heads,intermediate_size,vocab_size\nmine,2,64,4,128,1000\n"
    )
    # By hand: 2 layers x (4 x 64 x 64 of attention + 3 x 64 x 128 of MLP) + 64 x 1000 of the head.
    assert lake.rows("SELECT active FROM active_parameters WHERE model = 'mine'") == [(145_920,)]
    lake.close()
