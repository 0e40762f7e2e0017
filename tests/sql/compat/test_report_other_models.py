"""The reference report's formulas on models that it takes module by module, and on a small one of the DeepSeek kind."""

import json

import pytest

from ..model.test_parameters import CONFIGS
from ..studies import named_rows, near
from .report_cases import REGIMES, golden, with_report

LLAMA = {
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "max_position_embeddings": 8192,
}  # fmt: skip
MIXTRAL = {
    "model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "num_local_experts": 8,
    "num_experts_per_tok": 2, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
#: Two layers of width 4, a head and a half would do: every figure below is worked by hand.
TOY = {
    "model_type": "llama", "vocab_size": 10, "hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "intermediate_size": 6, "tie_word_embeddings": False,
}  # fmt: skip
MODELS = {
    "gpt2-small-untied": CONFIGS["gpt2-untied"], "llama3-8b": json.dumps(LLAMA), "mixtral-8x7b": json.dumps(MIXTRAL),
    "deepseek-tiny(V=65)": CONFIGS["deepseek-tiny"], "toy": json.dumps(TOY),
}  # fmt: skip
DTYPES = {"1": "fp8", "2": "bf16"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A study for each model of the golden table."""
    cases = {case["model"]: case for case in golden("other_models")}
    studies = [
        f"anchor_phases('{model}', of_study := '{model}', of_batch := {case['B']}, of_length := {case['S=L']},"
        f" of_ep := {case['ep']}, of_weight_dtype := '{DTYPES[case['P']]}',"
        f" of_activation_dtype := '{DTYPES[case['A']]}', of_kv_dtype := '{DTYPES[case['A_kv']]}')"
        for model, case in cases.items()
    ]
    opened = with_report(tmp_path_factory.mktemp("models"), *studies, configs=MODELS)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def phases(lake):
    """All rows of phase_roofline by model, execution and phase."""
    rows = named_rows(lake, "SELECT * FROM compat.phase_roofline")
    return {(row["model"], row["execution"], row["phase"]): row for row in rows}


@pytest.mark.parametrize(
    "case", golden("other_models"), ids=lambda case: f"{case['model']}-{case['exec']}-{case['phase']}"
)
def test_every_total_is_the_reports(phases, case):
    row = phases[case["model"], case["exec"], case["phase"]]
    columns = {
        "flop": "F_theory", "weight_bytes": "bytes_weights", "activation_bytes": "bytes_activations",
        "kv_bytes": "bytes_kv", "temporary_bytes": "bytes_temporary", "net_bytes": "bytes_net",
        "intensity": "AI_hbm", "compute_ms": "T_comp_ms", "hbm_ms": "T_hbm_ms",
    }  # fmt: skip
    assert {name: row[name] for name in columns} == {name: near(case[theirs]) for name, theirs in columns.items()}
    assert row["bound"] == REGIMES[case["regime"]]


def test_scaling_the_width_of_a_model_scales_both_sides_of_every_product(lake):
    # Width 4 and 2 layers, one token and three cached ones. Twice as wide: H = 8, I = 12, and V = 20, since the
    # report scales what goes in and what comes out alike. One byte an element, naive.
    lake.rows(
        "INSERT INTO scenarios BY NAME SELECT 'toy' AS scenario, 'compat' AS formulas, 'toy' AS model,"
        " 'decode' AS phase, 3 AS kv_len, 'h200' AS hardware, 'naive' AS execution, 2.0 AS hidden_scale,"
        " 1.5 AS kv_rank_scale"
    )
    rows = {
        row["module"]: row for row in named_rows(lake, "SELECT * FROM compat.module_roofline WHERE scenario = 'toy'")
    }
    attention = rows["blocks.*.attn"]
    # A layer: products 8 * 64, scores and values 4 * 3 * 8, softmax of 2 heads over 3 keys.
    assert attention["flop"] == 2 * (512 + 96 + 6)
    # Weights of a layer: 4 x 4 of queries and output, 4 x 2 of keys and values; the whole is scaled by 2 * max(2, 1.5).
    assert attention["weight_bytes"] == 2 * (16 + 8 + 8 + 16) * 4
    assert attention["activation_bytes"] == 2 * 7 * 8
    # Keys and values of a token: 2 * 8 * 1.5; three are read and one is written.
    assert attention["kv_bytes"] == 2 * 24 * 4
    assert attention["temporary_bytes"] == 2 * 2 * 2 * 3
    gate = rows["blocks.*.ffn.gate_proj"]
    assert (gate["flop"], gate["weight_bytes"], gate["activation_bytes"]) == (2 * 2 * 8 * 12, 2 * 96, 2 * 20)
    head = rows["lm_head"]
    assert (head["flop"], head["weight_bytes"], head["activation_bytes"]) == (2 * 8 * 20, 160, 28)
    embedding = rows["token_embeddings"]
    assert (embedding["flop"], embedding["weight_bytes"], embedding["activation_bytes"]) == (8, 10 * 4 * 2, 8)
    assert set(rows) == {
        "blocks.*.attn", "token_embeddings", "lm_head", "blocks.*.ffn.gate_proj", "blocks.*.ffn.up_proj",
        "blocks.*.ffn.down_proj",
    }  # fmt: skip
