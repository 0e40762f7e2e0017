"""`tracelake model mfu`: a model or a trace, one document, errors in a line.

Golden figures are those of the specification of the compute simulation, sections 8.1, 8.3 and 8.6.
"""

import json
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.commands.model_mfu import mfu
from tracelake.lake import Lake
from tracelake.reports.mfu.trace import report
from tracelake.synthetic.gpu import gpu_config, write_gpu

from ..kernel_traces import GEMM, Trace
from ..support import data_file

QWEN3_8B = {
    "model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
EXAMPLES = [line.strip() for line in (mfu.help or "").partition("Examples:")[2].splitlines() if line.strip()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trace of a synthetic decode, named decode, and a config.json."""
    folder = tmp_path_factory.mktemp("mfu")
    write_gpu(folder / "decode.json.gz")
    (folder / "config.json").write_text(json.dumps(QWEN3_8B))
    (folder / "s1.json").write_text(json.dumps(gpu_config()))
    lake = Lake(folder / "tracelake")
    lake.ingest(folder / "decode.json.gz", model=folder / "s1.json", hardware="h20")
    lake.close()
    return folder


@pytest.fixture
def run(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRACELAKE_LAKE", raising=False)

    def invoke(*words):
        return CliRunner().invoke(cli, ["model", "mfu", *map(str, words)])

    return invoke


def answer(ended):
    assert ended.exit_code == 0, ended.stderr
    return json.loads(ended.stdout)


def test_help_ends_with_examples_and_documents_each_option(run):
    ended = run("--help")
    assert ended.exit_code == 0
    assert len(EXAMPLES) == 3
    assert all(line.startswith("tracelake model mfu ") for line in EXAMPLES)
    assert (mfu.help or "").rstrip().endswith(EXAMPLES[-1])
    assert all(option.help for option in mfu.params if option.param_type_name == "option")
    assert "--formulas" not in ended.stdout


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_help_runs_as_it_stands(folder, tmp_path, line):
    shell = f'tracelake() {{ "{sys.executable}" -m tracelake "$@"; }}; {line}'
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    ended = subprocess.run(
        ["bash", "-c", shell], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert "MFU" in ended.stdout


def test_a_config_and_a_name_of_one_model_give_one_answer(run):
    words = ("--batch", 15, "--seq-len", 1024, "--hardware", "mi300x", "--measured-ms", 492.7736, "--format", "json")
    named, by_file = answer(run("Qwen/Qwen3-8B", *words)), answer(run("config.json", *words))
    [one], [other] = named["mfu"], by_file["mfu"]
    # Sums of floating point numbers may differ in the last digit from one run to the next.
    assert other == {key: pytest.approx(value) if isinstance(value, float) else value for key, value in one.items()}
    # Golden: 145 products and 36 attentions of a prefill, 442.5 TFLOP/s by busy time.
    assert named["mfu"][0]["flop"] == 213_392_645_160_960 + 36 * 128_974_848_000
    assert round(named["mfu"][0]["tflops"], 1) == 442.5


def test_the_reference_s_formulas_give_its_figures_under_its_keys(run):
    words = ("qwen3-235b-a22b", "--formulas", "compat", "--measured-ms", 15.0)
    found = answer(run(*words, "--format", "json"))
    assert (found["total_flops"], found["embed_flops"]) == (56_552_250_368, 1_244_659_712)
    assert found["mfu_pct"] == pytest.approx(0.3184248331531532, rel=1e-9)
    assert [row["name"] for row in found["layer_template"]][:3] == ["rmsnorm", "q_proj", "kv_proj"]
    assert {key: found[key] for key in ("batch_size", "seq_len", "tp", "dp", "ep", "gpu", "dtype")} == {
        "batch_size": 1, "seq_len": 1, "tp": 8, "dp": 1, "ep": 8, "gpu": "h20", "dtype": "bf16",
    }  # fmt: skip
    text = run(*words).stdout
    for golden in (
        "attention 285.245 MFLOPs (48.5%), MoE/FFN 303.076 MFLOPs (51.5%)", "this one 588.379 MFLOPs",
        "total 56.552 GFLOPs, embedding 1.245 GFLOPs, layers 55.308 GFLOPs", "overall 0.32%",
        "MFU=0.3% | MoE-dominant | h20 | TP=8 EP=8",
    ):  # fmt: skip
        assert golden in text


def test_of_a_chip_that_the_reference_lacks_there_is_no_mfu_and_a_word_about_it(run):
    ended = run("glm-5", "--formulas", "reference", "--hardware", "mi300x", "--measured-ms", 15, "--format", "json")
    assert answer(ended)["mfu_pct"] is None
    assert "the reference has no chip mi300x" in ended.stderr


def test_a_trace_answers_by_its_own_kernels(run):
    found = answer(run("decode", "--pass", "all", "--format", "json"))
    # The synthetic decode has five passes; 695 kernels, of which none is lost.
    by_sum = [row for row in found["passes"] if row["time_basis"] == "sum"]
    assert [row["pass_id"] for row in by_sum] == [0, 1, 2, 3, 4]
    for row in by_sum:
        assert row["mapped_us"] + row["overhead_us"] + row["unmapped_us"] == pytest.approx(row["sum_us"], rel=1e-12)
        units = [unit for unit in found["operators"] if unit["pass_id"] == row["pass_id"]]
        assert sum(unit["kernels"] for unit in units) == row["kernel_count"]
        assert sum(unit["sum_us"] for unit in units) == pytest.approx(row["sum_us"], rel=1e-12)
        for fate, column in (("assigned", "mapped_us"), ("overhead", "overhead_us"), ("unmapped", "unmapped_us")):
            assert sum(unit["sum_us"] for unit in units if unit["fate"] == fate) == pytest.approx(row[column])
    one = answer(run("decode", "--pass", "2", "--format", "json"))
    assert {row["pass_id"] for row in one["passes"] + one["operators"]} == {2}


def test_shares_above_the_peak_are_marked_and_bytes_that_no_shape_tells_are_named():
    """MBU as MFU; a unit whose sum is below has its single kernels named."""
    one = {"device": 0, "pass_id": 0, "sum_us": 1.0, "flop": None, "tflops": None, "bytes": 8.0, "mfu_pct": None}
    unit = {"unit": "gemm", "fate": "assigned", "map_rules": "", "kernels": 1, "pass_pct": 1.0, "dtypes": "bf16"}
    row = {"phase": "", "time_basis": "wall", "time_us": 1.0, "kernel_count": 1, "mapped_pct": 1.0, "peak_tflops": None}
    row |= {"flop_covered_pct": None, "bytes_covered_pct": None, "cluster_mfu_pct": None, "roofline_pct": 100.0} | one
    found = {
        "trace": {"trace": "t", "model": "m", "hardware": "h", "hardware_name": "h"},
        "passes": [row | {"mbu_pct": 101.0}],
        "operators": [
            one | unit | {"mbu_pct": 150.0, "flag_over_100": True},
            one | unit | {"unit": "norm", "mbu_pct": 61.0, "flag_over_100": True},
        ],
        "exchanging": [{"unit": "mc2"}],
        "unsized": [{"unit": "attention", "bytes_note": "lengths_unknown", "kernels": 4}],
        "model_doubts": ["layers 24, not 36."],
    }  # fmt: skip
    said = report(found)
    cells = [cell for part in said if not isinstance(part, str) for line in part.rows for cell in line]
    assert "101.0 %!" in cells
    assert "150.0 %!" in cells
    assert {"61.0 %", "100.0 %"} <= set(cells)
    text = "\n".join(part for part in said if isinstance(part, str))
    assert "Single kernels of norm exceed 100 %" in text
    assert "layers 24, not 36. Shares rest on the model" in text
    assert "attention (lengths_unknown)" in text
    assert "tracelake set t kv_len=N" in text
    assert "Kernels of mc2 multiply and communicate: their time includes the exchange" in text


def test_an_mfu_without_the_flop_of_all_products_is_a_lower_bound_of_the_time_known():
    """Of the wall, busy and sum rows of one pass the caveat names the share once; above 90 % there is none."""
    trace = {"trace": "t", "model": "m", "hardware": "h", "hardware_name": "h"}
    row = {"device": 0, "pass_id": 0, "phase": "", "time_us": 1.0, "kernel_count": 1, "sum_us": 1.0, "flop": 1.0}
    row |= {"mapped_pct": 1.0, "peak_tflops": 1.0, "tflops": 0.5, "mfu_pct": 50.0, "cluster_mfu_pct": None}
    row |= {"recomputed_flop": None}

    def caveats(*shares, moved=100.0, **pcts):
        pcts = {"mfu_pct": 50.0, "mbu_pct": 50.0, "roofline_pct": 50.0} | pcts
        passes = [
            row | pcts | {"time_basis": basis, "flop_covered_pct": share, "bytes_covered_pct": moved}
            for share in shares
            for basis in ("wall", "busy", "sum")
        ]
        nothing = {"operators": [], "exchanging": [], "unsized": [], "model_doubts": []}
        said = report({"trace": trace, "passes": passes, **nothing})
        return [part for part in said if isinstance(part, str) and "lower bound" in part]

    assert caveats(100.0, 90.0, None) == []
    # Without a peak there is no MFU to be a bound.
    assert caveats(16.3, moved=2.7, mfu_pct=None, mbu_pct=None, roofline_pct=None) == []
    [one] = caveats(16.3, 100.0)
    assert one.startswith("- MFU and roofline are lower bounds: FLOP are known for 16.3 % of the time")
    [one] = caveats(100.0, moved=2.7)
    assert one.startswith("- MBU and roofline are lower bounds: bytes are known for 2.7 % of the time")
    # No product with known FLOP: no MFU, but a roofline of what bytes alone give.
    [one] = caveats(0.0, mfu_pct=None)
    assert one.startswith("- Roofline is a lower bound: FLOP are known for 0.0 % of the time")
    [several] = caveats(16.3, 72.0)
    assert "FLOP are known for 16.3 to 72.0 % of the time" in several


def test_a_trace_without_passes_is_told_what_answers_per_operator(run, folder):
    trace = Trace()
    trace.kernel(GEMM, 2, 100, 100)
    trace.write(folder / "loose.json")
    ended = run("loose.json")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "`tracelake model kernels loose.json`" in ended.stderr


def test_a_path_of_a_trace_is_ingested_and_answers_the_same(run):
    by_path, by_name = run("decode.json.gz"), run("decode")
    assert by_path.exit_code == by_name.exit_code == 0
    assert "# " not in by_path.stdout
    # Of training, a backward pass may be among them.
    assert "\nPasses\n" in by_path.stdout


def test_products_of_a_real_trace_reach_what_another_tool_says(run):
    # Golden: 420,305.75 µs, 507.708 TFLOP/s, 38.83 % of the peak; attention 231.3 TFLOP/s.
    found = answer(run(data_file("kineto/sglang_qwen3-8b_prefill_mi300x.json.gz"), "--format", "json"))
    products = [row for row in found["operators"] if (row["flop"] or 0) > 1e13]
    assert sum(row["sum_us"] for row in products) == pytest.approx(420_305.75, abs=0.01)
    assert sum(row["flop"] for row in products) == 213_392_645_160_960
    seconds = sum(row["sum_us"] for row in products) / 1e6
    assert 213_392_645_160_960 / seconds / 1e12 == pytest.approx(507.708, abs=0.001)
    [attention] = [row for row in found["operators"] if 1e12 < (row["flop"] or 0) < 1e13]
    assert round(attention["tflops"], 1) == 231.3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["qwen4-8b"], 2, "qwen3-8b"),
        (["qwen3-8b", "--hardware", "h1000", "--measured-ms", "1"], 2, "h100"),
        (["qwen3-8b", "--measured-ms", "1"], 2, "--hardware"),
        (["qwen3-8b", "--hardware", "h100", "--measured-ms", "nan"], 2, "--measured-ms nan"),
        (["qwen3-8b", "--hardware", "h100", "--measured-ms", "soon"], 2, "not a valid float"),
        (["qwen3-8b", "--hardware", "h100", "--kernel-ms", '{"mla":'], 2, "not JSON"),
        (["qwen3-8b", "--hardware", "h100", "--kernel-flow", "@absent.json"], 3, "absent.json: cannot be read"),
        (["qwen3-8b", "--batch", "0"], 2, "--batch"),
        (["qwen3-8b", "--pass", "1"], 2, "--pass applies to a trace"),
        (["absent.json"], 3, "absent.json"),
        (["."], 2, ".: a folder. Give the file in it: config.json"),
        (["decode", "--measured-ms", "3"], 2, "decode is a trace"),
        (["decode", "--tp", "3"], 2, "decode is a trace"),
        (["decode", "--pass", "99"], 2, "the trace has passes 0 to 4"),
        (["qwen4", "--formulas", "reference"], 2, "the reference has no such model. Near: qwen3-235b"),
        (["glm-5", "--formulas", "reference", "--kv-len", "3"], 2, "--kv-len: the reference has no such option"),
        (["glm-5", "--formulas", "reference", "--hardware", "h1000"], 2, "h100"),
    ],
)
def test_what_cannot_be_right_ends_with_its_code_and_a_line(run, words, code, said):
    ended = run(*words)
    # The command line's main gives errors of ours their exit code.
    found = getattr(ended.exception, "exit_code", ended.exit_code)
    assert (found, ended.stdout) == (code, "")
    assert said in (ended.stderr + str(ended.exception))


def test_what_cannot_run_is_said_among_the_caveats(run):
    ended = run("qwen3-8b", "--hardware", "h200", "--batch", "8", "--kv-len", "1024", "--measured-ms", "5", "--tp", "3")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert "- This scenario cannot run: tp does not divide the heads." in ended.stdout.partition("Caveats")[2]


def test_an_answer_in_a_file_leaves_stdout_empty(run, tmp_path):
    path = tmp_path / "answer.md"
    ended = run("qwen3-8b", "--format", "markdown", "-o", path)
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert path.read_text(encoding="utf-8").startswith("no MFU: no time of a pass or a layer is given")


def test_a_typed_in_time_that_no_chip_reaches_has_its_causes_in_the_row(run):
    words = (
        "qwen3-8b",
        "--hardware",
        "l4",
        "--seq-len",
        1024,
        "--measured-ms",
        0.1,
        "--kernel-ms",
        '{"attention": 0.0001}',
    )
    found = answer(run(*words, "--format", "json"))
    [group] = found["groups"]
    [time] = [row for row in found["mfu"] if row["scope"] == "pass"]
    for row in (group, time, *found["kernels"]):
        assert row["flag_over_100"]
        assert "wrong_hardware" in row["over_100_causes"]
    # Attention may have skipped what a mask hides; kernels of a pass may overlap, those of a group are added up.
    assert "skipped_work" in group["over_100_causes"]
    assert ("kernels_overlap" in time["over_100_causes"], "kernels_overlap" in group["over_100_causes"]) == (
        True,
        False,
    )
    shown = [line for line in run(*words).stdout.splitlines() if re.search(r"\d{4,}\.\d+ %", line)]
    assert len(shown) >= 4
    assert all("wrong hardware" in line for line in shown)
