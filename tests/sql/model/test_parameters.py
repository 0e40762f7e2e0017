"""Parameters by module: totals of the roofline specification (10.3, 7.1) and what publishers print."""

import json

import pytest

from ..studies import named_rows, with_studies

GPT2 = {
    "model_type": "gpt2", "vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
    "tie_word_embeddings": False,
}  # fmt: skip
TINY = {
    "model_type": "deepseek_v3", "vocab_size": 65, "hidden_size": 384, "num_hidden_layers": 8,
    "num_attention_heads": 8, "num_key_value_heads": 8, "q_lora_rank": 192, "kv_lora_rank": 96,
    "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "intermediate_size": 1536,
    "moe_intermediate_size": 1024, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
    "first_k_dense_replace": 1, "tie_word_embeddings": False, "torch_dtype": "float8_e4m3fn",
}  # fmt: skip


def config(model_type, layers, hidden, heads, kv_heads, width, vocabulary, **more):
    return json.dumps(
        {
            "model_type": model_type, "num_hidden_layers": layers, "hidden_size": hidden,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, "intermediate_size": width,
            "vocab_size": vocabulary, "head_dim": 128, **more,
        }
    )  # fmt: skip


#: What the files leave unsaid: no gate (nemotron to codegen, esm), twice the width (qwen), the head (minicpm), experts,
#: the gate of an attention (afmoe).
UNSAID = {
    "minitron-4b": (4.19, config("nemotron", 32, 3072, 24, 8, 9216, 256_000)),
    "apertus-8b": (8.05, config("apertus", 32, 4096, 32, 8, 21_504, 131_072)),
    "afm-4.5b": (4.62, config("arcee", 36, 2560, 20, 4, 18_432, 128_004)),
    "codegen-6b": (
        7.06, json.dumps({"model_type": "codegen", "n_embd": 4096, "n_head": 16, "n_layer": 33, "vocab_size": 51_200})
    ),
    "qwen-7b": (7.72, config("qwen", 32, 4096, 32, 32, 22_016, 151_936)),
    "minicpm-2b": (2.72, config("minicpm", 40, 2304, 36, 36, 5760, 122_753, head_dim=64)),
    "olmoe-7b": (6.92, config("olmoe", 16, 2048, 16, 16, 1024, 50_304, num_experts=64, num_experts_per_tok=8)),
    "phi-3.5-moe": (
        41.87, config("phimoe", 32, 4096, 32, 8, 6400, 32_064, num_local_experts=16, num_experts_per_tok=2)
    ),
    "esm2-650m": (0.65, config("esm", 33, 1280, 20, 20, 5120, 33, head_dim=64)),
    "trinity-mini": (
        26.12,
        config(
            "afmoe", 32, 2048, 32, 4, 6144, 200_192, num_experts=128, num_experts_per_tok=8, num_shared_experts=1,
            moe_intermediate_size=1024, num_dense_layers=2,
        ),
    ),
    "ernie-4.5-21b": (
        21.83,
        config(
            "ernie4_5_moe", 28, 2560, 20, 4, 12_288, 103_424, moe_num_experts=64, moe_k=6, moe_num_shared_experts=2,
            moe_intermediate_size=1536, moe_layer_start_index=1,
        ),
    ),
}  # fmt: skip
CONFIGS = {
    "gpt2-untied": json.dumps(GPT2), "gpt2-tied": json.dumps(GPT2 | {"tie_word_embeddings": True}),
    "deepseek-tiny": json.dumps(TINY), **{model: text for model, (_, text) in UNSAID.items()},
}  # fmt: skip


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The rows of parameters, by model."""
    lake = with_studies(tmp_path_factory.mktemp("parameters"), configs=CONFIGS)
    found = {}
    for row in named_rows(lake, "SELECT * FROM parameters"):
        found.setdefault(row["model"], []).append(row)
    yield found
    lake.close()


def total(rows, column="parameters", **said):
    """Return the sum of a column over the rows that say so."""
    return sum(row[column] for row in rows if all(row[key] == value for key, value in said.items()))


def test_deepseek_v3_part_by_part(modules):
    rows = modules["deepseek-v3"]
    assert total(rows) == 671_026_404_352
    assert len(rows) == 22
    assert total(rows, part="attention") == 61 * 187_107_328
    assert total(rows, part="dense") == 3 * 396_361_728
    assert total(rows, part="routed") == 653_908_770_816 == 58 * 256 * 44_040_192
    assert total(rows, part="routed") + total(rows, part="shared") + total(rows, part="router") == 58 * 11_320_164_352
    assert total(rows) - total(rows, part="routed") == 17_117_633_536
    assert {row["instances"] for row in rows if row["part"] == "routed"} == {14_848}
    assert total(rows, "active_parameters") == 37_552_282_624
    assert total(rows, "active_parameters") - total(rows, part="embedding") == 36_625_603_584
    assert sum(row["parameters_pct"] for row in rows) == pytest.approx(100, rel=1e-12)


def test_deepseek_v3_by_the_reports_categories(modules):
    categories = {
        "experts": 656_463_101_952, "embedding": 926_679_040, "attn-qkv": 4_249_550_848, "attn-out": 7_163_871_232,
        "ffn": 1_295_952_896, "attention": 562_176, "norm": 7_168, "other": 926_679_040,
    }  # fmt: skip
    rows = modules["deepseek-v3"]
    assert {name: total(rows, category=name) for name in categories} == categories
    assert f"{100 * total(rows, category='experts') / total(rows):.4f}" == "97.8297"


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("deepseek-tiny", 45_830_016), ("llama-3-8b", 8_030_261_248), ("mixtral-8x7b", 46_702_792_704)],
)
def test_totals_are_those_of_the_specification(modules, model, parameters):
    assert total(modules[model]) == parameters


def test_gpt2_small_has_its_published_parameters(modules):
    # 124,439,808 as the transformers library counts them, with the head that is the embedding. The specification
    # prints 163,036,416 for the untied head: 768 fewer, the bias of the last norm, which GPT-2 has.
    assert total(modules["gpt2-tied"]) == 124_439_808
    assert total(modules["gpt2-untied"]) == 124_439_808 + 50257 * 768 == 163_036_416 + 768
    assert total(modules["gpt2-tied"], part="head") == 0


# Products that one token is multiplied with, the output head among them: 1.2 of the compute simulation specification,
# by its operators' FLOP halved.
@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("qwen3-8b", 7_568_097_280), ("qwen3-235b-a22b", 21_567_635_456), ("minimax-m2", 10_415_112_192),
        ("deepseek-v3", 36_624_596_992), ("deepseek-v3.2", 37_476_106_240), ("kimi-k2", 31_686_066_176),
        ("glm-5", 40_831_942_656), ("deepseek-v4-flash", 13_268_221_952),
    ],
)  # fmt: skip
def test_active_products_of_every_kind_of_attention(modules, model, parameters):
    assert total(modules[model], "active_parameters", kind="linear") == parameters


# Billions, by the publishers' model cards; within one unit of the last digit.
@pytest.mark.parametrize(
    ("model", "billions", "step"),
    [
        ("qwen3-8b", 8.2, 0.1), ("qwen3-32b", 32.8, 0.1), ("qwen3-30b-a3b", 30.5, 0.1), ("qwen3-235b-a22b", 235, 1),
        ("qwen1.5-0.5b", 0.464, 0.001), ("llama-3-70b", 70.6, 0.1), ("gpt-oss-120b", 116.8, 0.1),
        ("gpt-oss-20b", 20.9, 0.1), ("glm-5", 744, 1),
    ],
)  # fmt: skip
def test_totals_are_those_that_publishers_print(modules, model, billions, step):
    assert total(modules[model]) / 1e9 == pytest.approx(billions, abs=step)


@pytest.mark.parametrize("model", UNSAID)
def test_what_a_config_leaves_unsaid_is_known_by_its_type(modules, model):
    """Billions as published, to the second decimal."""
    assert total(modules[model]) / 1e9 == pytest.approx(UNSAID[model][0], abs=0.0051)


def test_every_model_has_each_module_once(modules):
    for rows in modules.values():
        names = [row["module"] for row in rows]
        assert len(names) == len(set(names))
        assert all(row["parameters"] >= row["active_parameters"] >= 0 for row in rows)
