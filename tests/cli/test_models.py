"""Commands for models and chips: what they print, and their errors for unknown names."""

import json

import pytest

from tracelake.lake import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "lake"
    Lake(path).close()
    return path


def rows(run, *words):
    code, out, err = run(*words, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def test_models_are_listed_with_their_check(run):
    found = {row["model"]: row for row in rows(run, "model", "list")}
    assert found["deepseek-v3"]["active_b"] == 36.62
    assert found["deepseek-v3"]["agrees"] is True
    assert found["qwen1.5-0.5b"]["agrees"] is None
    code, out, _ = run("model", "list")
    assert code == 0
    assert "DeepSeek-V3" in out


def test_a_model_is_shown_whole(run):
    [row] = rows(run, "model", "show", "deepseek-ai/DeepSeek-V3")
    assert (row["attention"], row["kv_lora_rank"], row["active"]) == ("mla", 512, 36_624_596_992)
    assert row["layer_kinds"] == {"mla+dense": 3, "mla+moe": 58}
    code, out, _ = run("model", "show", "qwen3 8b")
    assert code == 0
    assert "intermediate_size" in out
    assert "kv_lora_rank" not in out


def test_operators_of_a_question(run):
    """By hand: 2 x 15360 x 4096 x 24576 FLOP of the gate and up product, 2365 µs on an MI300X."""
    found = rows(run, "model", "operators", "qwen3-8b", "--batch", 15, "--seq-len", 1024, "--hardware", "MI300X")
    [row] = [row for row in found if row["op"] == "gate_up_proj"]
    assert row["flop"] == 3_092_376_453_120
    assert row["phase"] == "prefill"
    assert row["flop_us"] == pytest.approx(3_092_376_453_120 / 1307.4e6)
    assert row["bound"] == "compute"
    assert [row["op"] for row in found][-1] == "lm_head"


def test_without_a_chip_there_are_no_times(run):
    found = rows(run, "model", "operators", "kimi-k2", "--kv-len", 4095)
    assert {row["phase"] for row in found} == {"decode"}
    assert all(row["flop_us"] is None and row["hbm_us"] is None and row["bound"] is None for row in found)
    assert sum(row["layers"] * row["flop"] for row in found) == 95_819_268_096 + 2_348_810_240


def test_a_config_json_is_a_model(run, tmp_path):
    path = tmp_path / "tiny" / "config.json"
    path.parent.mkdir()
    path.write_text(
        json.dumps(
            {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128,
             "vocab_size": 1000}
        )
    )  # fmt: skip
    found = rows(run, "model", "operators", path)
    assert {row["model"] for row in found} == {"tiny"}
    # By hand: 2 layers of 4 x 64 x 64 and 3 x 64 x 128 weights, a head of 64 x 1000, one key each.
    core = 2 * 2 * 2 * 64
    assert sum(row["layers"] * row["flop"] for row in found) == 2 * (2 * (4 * 64 * 64 + 3 * 64 * 128) + 64_000) + core


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("model", "operators", "qwen3-9b"), 2, "Near: qwen3-8b"),
        (("model", "show", "glm5"), 2, "Near: glm-5"),
        (("model", "operators", "qwen3-8b", "--hardware", "h101"), 2, "Near: h100"),
        (("model", "operators", "qwen3-8b", "--batch", "0"), 2, "--batch"),
        (("model", "operators", "nowhere/config.json"), 3, "not a model's config.json"),
        (("model", "calibrate", "naive", "--hardware", "h100"), 2, "shipped"),
        (("model", "calibrate", "mine", "--hardware", "h100"), 2, "nothing to store"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(run, words, code, said):
    ended, out, err = run(*words)
    assert ended == code
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_chips_are_listed_with_their_sources(run):
    found = {row["hardware"]: row for row in rows(run, "hardware", "list")}
    assert found["h200"]["hbm_gbps"] == 4800
    assert all(row["source"] for row in found.values())
    for row in found.values():
        if row["peak_fp8_tflops"] and row["peak_bf16_tflops"]:
            # A sparse figure taken for a dense one would give 4, or a half.
            assert row["peak_fp8_tflops"] / row["peak_bf16_tflops"] == pytest.approx(
                round(row["peak_fp8_tflops"] / row["peak_bf16_tflops"]), rel=0.02
            )
            assert round(row["peak_fp8_tflops"] / row["peak_bf16_tflops"]) in (1, 2)
