"""The commands that look into layers: what they print, what they refuse, and where it goes."""

import json

import pytest

import tracelake
from tracelake.reports.output.columns import for_people
from tracelake.synthetic.gpu import gpu_config, write_gpu

from ..support import trace_bytes


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    write_gpu(folder / "decode.json")
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    kernels = [
        {"ph": "X", "cat": "kernel", "name": "rms_norm_kernel", "pid": 0, "tid": 7, "ts": 10 * place, "dur": 5}
        for place in range(3)
    ]
    (folder / "loose.json").write_bytes(trace_bytes(kernels))
    opened = tracelake.open(folder / "lake")
    opened.ingest(folder / "decode.json", model=folder / "config.json")
    # Three norms cannot be the passes of a model of five layers.
    opened.ingest(folder / "loose.json", num_layers=5)
    opened.close()
    return folder / "lake"


def test_layers_prints_the_layers_then_their_types_then_the_next_target(run):
    code, out, _ = run("layers", "decode")
    assert code == 0
    lines = [line for line in out.splitlines() if line.strip()]
    assert sum("FULL_ATTN" in line for line in lines) == 3
    types = lines.index("Types of layers")
    assert lines[types + 1].split()[:4] == ["layer_type", "layers", "layer_ids", "mean_wall_us"]
    assert [line.split()[:4] for line in lines[types + 3 : types + 6]] == [
        ["FULL_ATTN", "2", "0-1", "11400.0"], ["C4", "2", "2,4", "12240.0"], ["C128", "2", "3,5", "11510.0"],
    ]  # fmt: skip
    assert lines[-1].startswith("Bottleneck: C4 layers (2 of 6)")


def test_layers_as_json_is_an_array_of_layers_and_nothing_else(run):
    _, out, _ = run("layers", "decode", "--format", "json")
    assert [row["wall_us"] for row in json.loads(out)] == [11400, 11400, 12240, 11510, 12240, 11510]


def test_layers_of_all_passes_show_the_types_of_each(run):
    _, out, _ = run("layers", "decode", "--pass", "all")
    assert "Bottleneck" not in out
    assert sum(line.split()[-1:] != [] and " C4 " in line and "2,4" in line for line in out.splitlines()) == 5


def test_layers_go_to_a_file_whole(run, tmp_path):
    code, out, _ = run("layers", "decode", "--format", "markdown", "-o", tmp_path / "layers.md")
    assert (code, out) == (0, "")
    text = (tmp_path / "layers.md").read_text()
    assert "\nTypes of layers\n" in text
    assert text.rstrip().endswith("of their wall time.")


def test_compute_flow_shows_the_model_the_layer_and_its_kernels(run):
    _, out, _ = run("kernels", "decode", "--layer", "2", "--format", "compute-flow")
    lines = [line for line in out.splitlines() if line.strip()]
    assert lines[0] == "Layers: 6, and draft 1"
    assert any(line.startswith("Layer 2 [C4], ratio 4, pass 3, sum 12000 us (12.00 ms)") for line in lines)
    [header] = [line for line in lines if "Simplified Name" in line]
    titles = "# Half Category Simplified Name dur(us) % ts_rel(ms) Input Dims"
    assert header.split() == titles.split()
    assert lines[lines.index(header) + 2].split() == [
        "0", "attn", "mla", "flash_fwd_splitkv_mla_fp8_sparse<1>", "4000.0", "33.3", "200.080", "-",
    ]  # fmt: skip


def test_two_layers_compared_show_the_largest_difference_first(run):
    _, out, _ = run("kernels", "decode", "--layer", "2", "--compare-layer", "3", "--format", "json")
    rows = json.loads(out)
    # Layer 2 has an indexer, layer 3 a compressor; what both run takes as long, but four times as long in pass 0.
    assert [row["side"] for row in rows[:6]] == ["a", "a", "a", "a", "b", "both"]
    assert rows[0]["name"] == "void deep_gemm::sm90_fp8_paged_mqa_logits<1>"
    assert (rows[0]["a_us"], rows[0]["b_us"], rows[0]["diff_us"]) == (300, 0, -300)
    words = ("kernels", "decode", "--layer", "2", "--compare-layer", "3", "--compare-pass", "0", "--format", "json")
    _, out, _ = run(*words)
    changed = [row["diff_us"] for row in json.loads(out) if row["diff_us"]]
    assert changed[:2] == [-3000, -3000]
    assert changed == sorted(changed, key=abs, reverse=True)


def test_a_layer_compared_with_itself_in_another_pass_shows_the_warm_up(run):
    _, out, _ = run("kernels", "decode", "--layer", "2", "--compare-pass", "0", "--format", "json")
    changed = {row["name"]: row["diff_us"] for row in json.loads(out) if row["diff_us"]}
    # Attention and experts are four times as long in pass 3 as in pass 0.
    assert sorted(changed.values()) == [-3000, -3000]


def test_compute_flow_of_two_layers_holds_both_and_the_difference(run):
    _, out, _ = run("kernels", "decode", "--layer", "2", "--compare-layer", "3", "--format", "compute-flow")
    assert out.index("Layer 2 [C4]") < out.index("Layer 3 [C128]") < out.index("diff_us")


def test_compat_json_is_one_nested_object(run):
    _, out, _ = run("kernels", "decode", "--layer", "2", "--pass", "0", "--format", "compat-json")
    found = json.loads(out)
    assert list(found) == ["metadata", "category_summary", "kernels"]
    assert found["metadata"]["fwd_pass"] == 0
    assert out.startswith('{\n  "metadata": {\n    "layer_id": 2,')
    assert run("kernels", "decode", "--layer", "2", "--pass", "0", "--format", "seed-json")[1] == out


def test_perfetto_lists_ranges_and_writes_a_trace(run, tmp_path):
    _, out, _ = run("perfetto", "decode", "--layers", "2,3")
    lines = [line for line in out.splitlines() if line.strip()]
    assert lines[3].split()[-5:] == ["0.198300", "0.210540", "198.3", "12.24", "198300000"]
    code, out, err = run("perfetto", "decode", "--layers", "2,3", "-o", tmp_path / "layers.json")
    assert (code, out) == (0, "")
    assert "layers.json: 62 events of pass 3, " in err
    assert json.loads((tmp_path / "layers.json").read_text())["traceEvents"]


def test_report_is_written_by_suffix_or_to_stdout(run, tmp_path):
    code, out, _ = run("report", "decode", "-o", tmp_path / "decode.json")
    assert (code, out) == (0, "")
    assert len(json.loads((tmp_path / "decode.json").read_text())["parts"]) == 9
    _, out, _ = run("report", "decode")
    assert out.startswith("# decode\n\n## 1. Trace\n")


@pytest.mark.parametrize("command", [["passes"], ["layers"], ["kernels", "--layer", "0"], ["perfetto"]])
def test_without_passes_a_command_ends_with_1_and_names_kernels_that_might_mark_layers(run, command):
    code, out, err = run(command[0], "loose", *command[1:])
    assert (code, out) == (1, "")
    assert "     3  begin   rms_norm_kernel" in err
    assert "anchor=REGEX" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kernels", "decode", "--compare-layer", "3"], "give --layer N"),
        (["kernels", "decode", "--format", "compat-json"], "give --layer N"),
        (["kernels", "decode", "--layer", "9"], "layer 9: the pass has layers 0 to 5"),
        (["kernels", "decode", "--layer", "2", "--compare-layer", "9"], "layer 9: the pass has layers 0 to 5"),
        (["kernels", "decode", "--layer", "2", "--pass", "all", "--compare-layer", "3"], "needs one pass"),
        (["kernels", "decode", "--layer", "2", "--compare-layer", "3", "--format", "compat-json"], "holds one layer"),
        (["perfetto", "decode", "--layers", "2,x"], "expected numbers"),
        (["perfetto", "decode", "--layers", "9"], "layer 9"),
        (["perfetto", "decode", "--format", "json", "-o", "x.json"], "a file is of perfetto or chrome"),
        (["perfetto", "decode", "--at", "layer=3"], "add -o FILE or --open"),
        (["perfetto", "decode", "--at", "layer", "-o", "x.pftrace"], "as in layer=3"),
        (["perfetto", "decode", "--at", "step=99", "-o", "x.pftrace"], "step 99: the trace has none"),
        (["perfetto", "decode", "--kernel", "99999", "-o", "x.pftrace"], "kernel 99999: the trace has none"),
        (["report", "decode", "-o", "x.pdf"], "Markdown (.md) or JSON (.json)"),
        (["report", "decode", "--pass", "9"], "no pass 9; it has passes 0 to 4"),
    ],
)
def test_a_question_that_has_no_answer_ends_with_2_and_says_why(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message.lower() in err.lower()


def test_the_groups_of_a_layer_sum_to_its_kernels(lake):
    # The recipe, pass 3: attention 40 units, experts 24 + 16 with 3 for their routing, two GEMMs of 5 and 3, two
    # all-reduces of 4, two norms of 1; ratio 4 adds an indexer of 6 to the attention. A unit is 0.1 ms.
    groups = "attention_us, moe_us, gemm_us, communication_us, norm_us, other_us, sum_us"
    with tracelake.open(lake) as opened:
        shown = (
            for_people(opened.store, "layers", opened.layers("decode", 3))
            .filter("layer_id IN (0, 2)")
            .order("layer_id")
        )
        found = shown.select(groups).fetchall()
    assert found == [(4000, 4300, 800, 800, 200, 1100, 11200), (4600, 4500, 800, 800, 200, 1100, 12000)]
    assert all(sum(parts) == pytest.approx(total) for *parts, total in found)
