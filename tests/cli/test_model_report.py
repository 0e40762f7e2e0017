"""`tracelake model report`, `roofline` and `sweep`."""

import csv
import io
import json

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
    with tracelake.Lake(tmp_path / "lake") as opened:
        assert opened.rows(f"SELECT count(*) FROM '{target}'") == [(16,)]


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--batch", "1,x"), "numbers with commas"), (("--batch", "0"), "numbers with commas"),
     (("--phase", "sleep"), "phase=sleep"), (("--weight-dtype", "fp7"), "weight_dtype=fp7")],
)  # fmt: skip
def test_a_sweep_says_what_is_wrong_with_its_lists(run, words, said):
    code, out, err = run("model", "sweep", "qwen3-8b", "--hardware", "h200", *words)
    assert (code, out) == (2, "")
    assert said in err
