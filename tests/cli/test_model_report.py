"""`tracelake model report`, `roofline` and `sweep`."""

import csv
import io
import json

import duckdb
import pytest

import tracelake


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """An empty lake."""
    folder = tmp_path_factory.mktemp("cli") / "lake"
    tracelake.open(folder).close()
    return folder


def test_a_report_goes_to_stdout_as_markdown(run):
    code, out, err = run("model", "report", "qwen3-8b", "--hardware", "h200", "--seq-len", "512")
    assert (code, err) == (0, "")
    assert out.startswith("# Model Report: Qwen3-8B on NVIDIA H200")
    assert "S = 512 tokens, L = 512 tokens" in out
    assert "![" not in out, "there is no file for charts to lie beside"
    assert "With `-o FILE` it is drawn" in out


def test_a_report_in_a_file_has_its_charts_and_tables_beside_it(run, tmp_path):
    target = tmp_path / "r.md"
    code, out, err = run(
        "model", "report", "qwen3-8b", "--hardware", "h100", "-o", target, "--csv", tmp_path / "tables"
    )  # fmt: skip
    assert (code, out) == (0, "")
    assert f"{target}: written." in err
    assert (tmp_path / "r_roofline.svg").is_file()
    with (tmp_path / "tables" / "memory_per_gpu.csv").open() as file:
        assert {row["hardware"] for row in csv.DictReader(file)} == {"h100_sxm"}


@pytest.mark.parametrize("command", ["report", "roofline", "sweep"])
def test_the_chip_must_be_named(run, command):
    code, out, err = run("model", command, "qwen3-8b")
    assert (code, out) == (2, "")
    assert "--hardware is missing" in err
    assert "tracelake hardware list" in err


@pytest.mark.parametrize("command", ["report", "roofline", "sweep"])
def test_an_unknown_chip_is_said_with_those_near_it(run, command):
    code, _, err = run("model", command, "qwen3-8b", "--hardware", "h201")
    assert code == 2
    assert "h201: unknown hardware. Near:" in err
    assert "h200" in err.split("Near:")[1]


def test_unknown_models_and_unreadable_configs_have_their_exit_codes(run, tmp_path):
    assert run("model", "report", "qwen9-8b", "--hardware", "h200")[0] == 2
    (tmp_path / "config.json").write_text("[]")
    code, _, err = run("model", "report", tmp_path / "config.json", "--hardware", "h200")
    assert code == 3
    assert "config.json" in err


@pytest.mark.parametrize("words", [("show",), ("operators",), ("mfu",), ("roofline", "--hardware", "h200")])
def test_a_folder_with_a_config_is_pointed_to_the_file(run, tmp_path, words):
    (tmp_path / "config.json").write_text("{}")
    code, out, err = run("model", words[0], tmp_path, *words[1:])
    assert (code, out) == (2, "")
    assert f"a folder. Give the file in it: {tmp_path / 'config.json'}" in err


def test_roofline_says_what_limits_a_pass(run):
    words = ("--batch", "64", "--kv-len", "4096", "--hardware", "h200", "--format", "json")
    code, out, _ = run("model", "roofline", "qwen3-8b", *words)
    [row] = json.loads(out)
    assert (code, row["phase"], row["bound"], row["fits"]) == (0, "decode", "memory", True)
    # Keys and values of 36 layers, 8 heads of 128, read for 64 · 4096 tokens and written for 64, two bytes each.
    assert row["kv_bytes"] == 36 * 2 * 8 * 128 * 64 * 4097 * 2
    assert row["hbm_ms"] == pytest.approx(row["hbm_bytes"] / 4800e9 * 1e3)
    code, out, _ = run("model", "roofline", "qwen3-8b", *words, "--modules")
    modules = json.loads(out)
    assert sum(module["flop"] for module in modules) == pytest.approx(row["flop"])


def test_a_sweep_crosses_its_lists(run, tmp_path):
    words = ("--batch", "1,8", "--kv-len", "0,1024", "--hardware", "h200,b200", "--kv-dtype", "fp8,bf16")
    code, out, _ = run("model", "sweep", "qwen3-8b", *words, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, len(rows)) == (0, 16)
    assert {(row["hardware"], row["batch"], row["kv_len"], row["kv_dtype"]) for row in rows} == {
        (chip, batch, length, dtype) for chip in ("h200", "b200") for batch in "18" for length in ("0", "1024")
        for dtype in ("fp8", "bf16")
    }  # fmt: skip
    target = tmp_path / "s.parquet"
    assert run("model", "sweep", "qwen3-8b", *words, "--format", "parquet", "-o", target)[0] == 0
    with duckdb.connect() as connection:
        assert connection.sql(f"SELECT count(*) FROM '{target}'").fetchall() == [(16,)]


def test_a_map_marks_what_cannot_run(run):
    """512 sequences of 32,768 tokens of 147 kB are 2.5 TB of cache; one is 4.8 GB. Three do not divide 32 heads."""
    words = ("--kv-len", "32768", "--hardware", "h200", "--map", "batch,kv_len")
    code, out, err = run("model", "sweep", "qwen3-8b", "--batch", "1,512", *words)
    lines = [line.split() for line in out.splitlines() if "decode" in line]
    assert (code, [line[5:8] for line in lines]) == (0, [["1", "yes", "memory"], ["1", "no", "memory"]])
    assert " ms" in out
    assert "median_ms" not in out
    assert err == "tracelake: 1 of 2 scenarios cannot run or do not fit the memory; without --map, see faults.\n"
    code, out, err = run("model", "sweep", "qwen3-8b", "--batch", "1", "--tp", "1,2,3", *words)
    assert "2 of 3" in out
    assert "median_ms" in out
    code, out, _ = run("model", "sweep", "qwen3-8b", "--batch", "1,512", *words, "--format", "json")
    assert [(row["x"], row["points"], row["feasible_points"]) for row in json.loads(out)] == [(1, 1, 1), (512, 1, 0)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mixtral-8x7b", "--tp", "3"), "tp does not divide the heads"),
        pytest.param(("mixtral-8x7b", "--ep", "7"), "ep does not divide the experts", marks=pytest.mark.slow),
        pytest.param(
            ("qwen3-8b", "--kv-len", "100000"),
            "longer than the longest context of the model (decode)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_report_says_first_that_what_it_is_about_cannot_run(run, words, said):
    code, out, err = run("model", "report", *words, "--hardware", "h200", "--seq-len", "512")
    assert (code, err) == (0, f"tracelake: This scenario cannot run: {said}.\n")
    conclusions = out.partition("Conclusions\n")[2].partition("\n### ")[0]
    assert f"1. **It cannot run**: {said}." in conclusions
    assert "fits" not in conclusions
    further = out.partition("Next Optimisations\n")[2].partition("\n## ")[0]
    assert "1. **Choose a scenario that can run**" in further
    assert "it fits" not in further


def test_a_report_of_what_does_not_fit_says_so_on_stderr_too(run):
    code, out, err = run("model", "report", "deepseek-v3", "--hardware", "h200", "--seq-len", "512")
    assert (code, err) == (0, "tracelake: This scenario cannot run: does not fit the memory.\n")
    assert "1. **It does not fit.**" in out


def test_experts_per_token_that_there_are_not_are_a_fault(run):
    words = ("--top-k", "1,2,9", "--hardware", "h200", "--tp", "2", "--format", "json")
    rows = json.loads(run("model", "sweep", "mixtral-8x7b", *words)[1])
    assert [(row["top_k"], row["faults"]) for row in rows] == [(1, None), (2, None), (9, "top-k 9 of 8 experts")]
    [row] = json.loads(run("model", "sweep", "qwen3-8b", "--top-k", "2", *words[2:])[1])
    assert row["faults"] == "top-k without experts"


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--batch", "1,x"), "numbers separated by commas"), (("--batch", "0"), "numbers separated by commas"),
     (("--phase", "sleep"), "phase=sleep"), (("--weight-dtype", "fp7"), "weight_dtype=fp7")],
)  # fmt: skip
def test_a_sweep_says_what_is_wrong_with_its_lists(run, words, said):
    code, out, err = run("model", "sweep", "qwen3-8b", "--hardware", "h200", *words)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    "words",
    [
        ("show",), ("sweep", "--hardware", "h200", "--batch", "1,2"),
        ("sweep", "--hardware", "h200", "--batch", "1,2", "--kv-len", "1,2", "--map", "batch,kv_len"),
        ("report", "--hardware", "h200", "--seq-len", "512"), ("roofline", "--hardware", "h200"),
    ],
)  # fmt: skip
def test_what_figures_leave_out_of_a_config_is_said_once(run, tmp_path, words):
    scheme = {"num_bits": 4, "type": "float"}
    config = {
        "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100,
        "intermediate_size": 128, "quantization_config": {"quant_method": "fp8", "kv_cache_scheme": scheme},
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    command, *options = words
    code, _, err = run("model", command, tmp_path / "config.json", *options)
    assert code == 0
    assert err.count("Of the model: quantization_config: kv_cache_scheme is ") == 1
