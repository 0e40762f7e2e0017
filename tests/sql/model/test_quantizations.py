"""What a quantization_config leaves as it is, and the types that products are then in."""

import json

import pytest

from tracelake.lake import Lake

#: A layer has 12 288 weights of attention, 64 x (64 + 32 + 32 + 64), and 24 576 of the MLP, 3 x 64 x 128.
DENSE = {
    "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 128, "vocab_size": 1000, "torch_dtype": "bfloat16",
}  # fmt: skip
#: The first layer has the MLP, the others 8 experts of 3 x 64 x 8 = 1536 weights, and one shared.
EXPERTS = DENSE | {
    "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "n_shared_experts": 1,
    "first_k_dense_replace": 1,
}  # fmt: skip
ATTENTION, MLP, SHARED, ROUTED = 4 * 12_288, 24_576, 3 * 1536, 3 * 8 * 1536


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("quantized") / "lake") as opened:
        yield opened


@pytest.fixture
def ask(lake, tmp_path):
    """Return what asks for a step of a config.json's model and selects from its linear layers' operators."""

    def ask(config, select, hardware=None, **work):
        path = tmp_path / "quantized" / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(config))
        lake.ask(path, hardware, name="asked", batch=1, **work)
        categories = "category IN ('attention', 'mlp', 'moe')"
        return lake.rows(f"SELECT {select} FROM operators WHERE scenario = 'asked' AND {categories}")

    return ask


def test_the_layers_that_a_file_names_keep_their_type(lake, ask):
    """FP8 but for attention, and the MLP of the first and the last layer: as the FP8 of Llama 3.1 405B."""
    names = ["lm_head"]
    names += [f"model.layers.{layer}.self_attn.{side}_proj" for layer in range(4) for side in "qkvo"]
    names += [f"model.layers.{layer}.mlp.{side}_proj" for layer in (0, 3) for side in ("gate", "up", "down")]
    config = DENSE | {"quantization_config": {"quant_method": "fbgemm_fp8", "modules_to_not_convert": names}}
    [(weights,)] = ask(config, "sum(layers * weight_bytes)", "h100")
    assert weights == 2 * ATTENTION + 2 * 2 * MLP + 2 * MLP
    types = ask(config, "DISTINCT category, dtype, round(peak_tflops, 1)", "h100")
    # Half of the MLPs at 1979 TFLOP/s, half at 989: two over the sum of the reciprocals.
    assert sorted(types) == [("attention", "bf16", 989), ("mlp", "fp8", 1318.9)]
    assert lake.rows("SELECT remark FROM model_remarks") == []
    # As asked for, whatever the file says.
    assert ask(config, "sum(layers * weight_bytes)", weight_dtype="fp8") == [(ATTENTION + 4 * MLP,)]


INT4 = {"num_bits": 4, "type": "int", "group_size": 32}


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"], "weights": INT4}},
         "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", r"re:.*mlp\.(gate|up|down)_proj.*"]},
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"], "weights": INT4}},
         "ignore": ["*self_attn*", "*shared_experts*", "model.layers.0.mlp*"]},
        {"quant_method": "gptq", "bits": 4, "group_size": 40,
         "dynamic": {"-:.*self_attn": {}, "-:.*shared": {}, r"-:model\.layers\.0\.mlp": {}}},
        {"quant_method": "awq", "bits": 4, "group_size": 40,
         "modules_to_not_convert": ["self_attn", "mlp.shared_experts", "model.layers.0.", "mlp.gate."]},
        {"quant_method": "awq", "bits": 4, "group_size": 40,
         "modules_to_not_convert": ["language_model.model.layers.*.self_attn", "shared_experts", "layers.0.mlp"]},
    ],
)  # fmt: skip
def test_only_routed_experts_are_quantised_however_the_file_says_so(lake, ask, quantization):
    """As Kimi-K2-Thinking: half a byte and a sixteenth for a weight of a routed expert, two for any other."""
    everything = EXPERTS | {"quantization_config": quantization}
    [(weights,)] = ask(everything, "sum(layers * weight_bytes) FILTER (category <> 'moe')")
    assert weights == 2 * (ATTENTION + MLP + SHARED)
    [(experts,)] = lake.rows("SELECT expert_bytes FROM memory_per_gpu WHERE scenario = 'asked'")
    assert experts == pytest.approx(0.5625 * ROUTED)
    assert lake.rows("SELECT remark FROM model_remarks") == []


BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}


@pytest.mark.parametrize(
    ("said", "weight", "expert"),
    [
        ({"quantization_config": BLOCKS}, 1 + 4 / 128**2, 1 + 4 / 128**2),
        # As DeepSeek-V4: half a byte, and a byte of scale for 32.
        ({"quantization_config": BLOCKS, "expert_dtype": "fp4"}, 1 + 4 / 128**2, 1 / 2 + 1 / 32),
        ({"quantization_config": BLOCKS, "expert_dtype": "fp8"}, 1 + 4 / 128**2, 1 + 4 / 128**2),
        # Copies in BF16 or INT4 whose file still has the entry.
        ({"expert_dtype": "fp4"}, 2, 2),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 40}, "expert_dtype": "fp8"},
         0.5625, 0.5625),
    ],
)  # fmt: skip
def test_experts_beside_fp8_layers_may_have_a_type_of_their_own(lake, ask, said, weight, expert):
    [(weights,)] = ask(EXPERTS | said, "sum(layers * weight_bytes) FILTER (category <> 'moe')")
    assert weights == pytest.approx(weight * (ATTENTION + MLP + SHARED))
    [(experts,)] = lake.rows("SELECT expert_bytes FROM memory_per_gpu WHERE scenario = 'asked'")
    assert experts == pytest.approx(expert * ROUTED)


def test_what_cannot_be_counted_is_said(lake, ask):
    groups = {"group_0": {"targets": ["re:.*mlp.*"], "weights": INT4},
              "group_1": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float"}}}  # fmt: skip
    names = ["lm_head", "model.embed_tokens", "re:.*(?!ahead)", "model.layers.1.mixer.in_proj", "visual.blocks.0.mlp"]
    config = DENSE | {
        "quantization_config": {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": names}
    }
    ask(config, "*")
    remarks = [remark for (remark,) in lake.rows("SELECT remark FROM model_remarks ORDER BY ALL DESC")]
    assert remarks == [
        "quantization_config: of 2 config_groups of different weights the first counts for all",
        "quantization_config: no layer has model.layers.1.mixer.in_proj and 1 more: taken as quantised",
    ]


def tensors(weights, inputs):
    kinds = {"weights": dict(zip(("type", "num_bits"), weights, strict=True))}
    if inputs:
        kinds["input_activations"] = dict(zip(("type", "num_bits"), inputs, strict=True))
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"], **kinds}}}


@pytest.mark.parametrize(
    ("quantization", "dtype", "tflops"),
    [
        # Dense peaks of the B200, TFLOP/s.
        (tensors(("float", 4), ("float", 4)), "fp4", 9000),
        (tensors(("int", 8), ("int", 8)), "int8", 4500),
        (tensors(("float", 8), ("float", 8)), "fp8", 4500),
        (tensors(("int", 4), ("float", 8)), "fp8", 4500),
        (tensors(("float", 4), None), "bf16", 2250),
        (tensors(("int", 4), None), "bf16", 2250),
        (tensors(("int", 8), ("int", 4)), "bf16", 2250),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4", 9000),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", 4500),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"}, "bf16", 2250),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, "fp8", 4500),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_MXFP4_FP8"}, "fp8", 4500),
        ({"quant_method": "modelopt", "quant_algo": "W8A8_SQ_PER_CHANNEL"}, "int8", 4500),
    ],
)
def test_products_are_in_the_type_of_activations_where_the_file_quantises_these(lake, ask, quantization, dtype, tflops):
    found = ask(DENSE | {"quantization_config": quantization}, "DISTINCT dtype, peak_tflops", "b200", seq_len=64)
    assert found == [(dtype, tflops)]


@pytest.mark.parametrize("algorithm", ["W4A16_AWQ", "W4A8_AWQ"])
def test_awq_by_modelopt_has_weights_of_four_bits_and_a_scale_of_two_bytes_for_each_group(ask, algorithm):
    quantization = {"quant_method": "modelopt", "quant_algo": algorithm, "group_size": 64}
    [(weights,)] = ask(DENSE | {"quantization_config": quantization}, "sum(layers * weight_bytes)")
    assert weights == (ATTENTION + 4 * MLP) * (1 / 2 + 2 / 64)


def test_layers_quantised_by_several_algorithms_are_remarked_on(lake, ask):
    layers = {"model.layers.0.mlp.down_proj": {"quant_algo": "NVFP4"}}
    mixed = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    ask(DENSE | {"quantization_config": mixed}, "*")
    [(remark,)] = lake.rows("SELECT remark FROM model_remarks")
    assert remark == (
        "quantization_config: quant_algo is MIXED_PRECISION: all layers are taken as quantised to fp8, whatever"
        " quantized_layers gives"
    )


@pytest.mark.parametrize(
    ("scheme", "size", "remarks"),
    [
        ({"num_bits": 8, "type": "float", "dynamic": False}, 1, 0),
        ({"num_bits": 4, "type": "float"}, 2, 1),
        ({"num_bits": 8, "type": "int"}, 2, 1),
        (None, 2, 0),
    ],
)
def test_a_file_may_quantise_the_cache(lake, ask, scheme, size, remarks):
    """4 layers, keys and values of 2 heads of 16, 100 tokens."""
    quantization = {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_scheme": scheme}
    ask(DENSE | {"quantization_config": quantization}, "*", kv_len=99)
    cache = "SELECT kv_bytes FROM memory_per_gpu WHERE scenario = 'asked'"
    assert lake.rows(cache) == [(4 * 2 * 2 * 16 * 100 * size,)]
    found = lake.rows("SELECT remark FROM model_remarks WHERE contains(remark, 'kv_cache_scheme')")
    assert len(found) == remarks
    # As asked for, whatever the file says.
    ask(DENSE | {"quantization_config": quantization}, "*", kv_len=99, kv_dtype="bf16")
    assert lake.rows(cache) == [(4 * 2 * 2 * 16 * 100 * 2,)]


def test_a_chip_without_the_type_computes_in_that_of_activations(ask):
    quantised = DENSE | {"quantization_config": tensors(("float", 4), ("float", 4))}
    assert ask(quantised, "DISTINCT dtype", "h100") == [("bf16",)]
    assert ask(quantised, "DISTINCT dtype", "b200", weight_dtype="fp8") == [("fp8",)]
