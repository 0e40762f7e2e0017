"""Reports, compute flow and the nested JSON of a layer: their parts, their order, and what they do not know."""

import json

import pytest

import tracelake
from tracelake.reports.compat.layer import layer_json
from tracelake.reports.model.architecture import architecture
from tracelake.reports.output.table import cut, which
from tracelake.reports.trace import layers
from tracelake.reports.trace.report import TITLES
from tracelake.synthetic.gpu import gpu_config, write_gpu

from ...support import trace_bytes


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """S1 with its config, and a trace whose kernels mark no layers."""
    folder = tmp_path_factory.mktemp("report")
    write_gpu(folder / "s1.json")
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    lake = tracelake.open(folder / "lake")
    lake.ingest(folder / "s1.json", model=folder / "config.json")
    kernels = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * place, "dur": 5,
         "args": {"device": 0, "stream": 7}}
        for place, name in enumerate(["flash_fwd_kernel", "sgemm", "flash_fwd_kernel", "sgemm"])
    ]  # fmt: skip
    (folder / "loose.json").write_bytes(trace_bytes(kernels))
    lake.ingest(folder / "loose.json")
    return lake


def section(text, number):
    """Return the lines of one part of a Markdown report."""
    part = text.split(f"## {number}. {TITLES[number - 1]}\n")[1].split("\n## ")[0]
    return [line for line in part.splitlines() if line]


@pytest.mark.parametrize("trace", ["s1", "loose"])
def test_the_nine_parts_stand_in_order_whether_or_not_there_are_passes(lake, trace):
    headings = [line for line in lake.report(trace).splitlines() if line.startswith("## ")]
    assert headings == [f"## {number}. {title}" for number, title in enumerate(TITLES, 1)]


def test_the_report_gives_the_checklist_for_a_trace_with_a_config(lake):
    text = lake.report("s1")
    assert "| Layers of the model | 6 |" in section(text, 1)
    assert any(line.startswith("| TP | unknown: neither in the file nor in its name") for line in section(text, 1))
    assert "| Layer types | C128 2, C4 2, FULL_ATTN 2 |" in section(text, 2)
    # Of 310.5 ms the embedding takes 1, the head 10 and the sampling 2.5 ms: 297 ms are in layers.
    assert section(text, 3)[0].startswith("Coverage: 95.7 % of the device's busy time is in the layers of 5 passes.")
    assert section(text, 3)[1:4] == ["Cold: 0.", "Still growing: 1-2.", "Steady: 3-4."]
    [chosen, covered] = section(text, 4)
    assert covered == section(text, 3)[0]
    assert chosen.startswith(
        "Pass 3: the first whose span is within 5 % of the pass before it and of the median of all."
    )
    [layer_2] = [line for line in section(text, 5) if line.startswith("| 0 | 2 | 4 |")]
    assert layer_2.startswith("| 0 | 2 | 4 | C4 |  | 12.240 | 12.000 | 12.000 |")
    assert any(line.startswith("| C4 | 2 | 2,4 | 12.240 | 12.240 | 12.000 |") for line in section(text, 6))
    assert "| 0 | attn | mla | flash_fwd_splitkv_mla_fp8_sparse<1> | 4000.0 | 33.3 | 200.080 | - |" in section(text, 7)
    assert len([line for line in section(text, 7) if line.startswith("### ")]) == 2
    assert "| 0 | layer | 2 | C4 | 0.198300 | 0.210540 | 198.300 | 12.240 | 198300000 |" in section(text, 8)
    assert section(text, 9) == [
        "Bottleneck: C4 layers (2 of 6) take 34.8 % of the layers' time. Next target: mla, 32.7 % of their wall time."
    ]


def test_without_passes_it_says_what_is_unknown_and_which_kernels_might_mark_layers(lake):
    text = lake.report("loose")
    assert section(text, 2)[0].startswith("Unknown: no config.json was given.")
    assert section(text, 3)[0].startswith("Unknown: no anchor kernel marks the layers.")
    assert any(line.startswith("| 2 | inside |") and "flash_fwd_kernel" in line for line in section(text, 3))
    assert all(section(text, number)[0].startswith("Unknown: ") for number in range(3, 10))


def test_passes_of_several_directions_have_them_and_the_chosen_one_is_compared_with_its_own(real_lake):
    # One pass each of forward, backward and weight gradient: all are whole.
    text = real_lake("kineto/deepseek-v3_train_h800.json.gz").report("deepseek-v3_train_h800")
    rows = [line.split(" | ") for line in section(text, 3) if line.startswith("| 0 |")]
    assert [(row[1], row[3], row[11]) for row in rows] == [
        ("0", "backward", "yes"), ("1", "forward", "yes"), ("2", "weight gradient", "yes")
    ]  # fmt: skip
    assert section(text, 4)[0].startswith("Pass 1: of forward, the only complete one.")


def test_every_table_of_figures_says_its_unit(lake, tmp_path):
    lake.report("s1", tmp_path / "s1.json")
    for part in json.loads((tmp_path / "s1.json").read_text())["parts"][2:]:
        assert all(table["unit"] for table in part["tables"]), part["title"]


def test_the_json_report_holds_the_same_parts_with_numbers_as_numbers(lake, tmp_path):
    lake.report("s1", tmp_path / "s1.json")
    report = json.loads((tmp_path / "s1.json").read_text())
    assert report["trace"] == "s1"
    assert [(part["number"], part["title"]) for part in report["parts"]] == [*enumerate(TITLES, 1)]
    [table] = report["parts"][4]["tables"]
    assert [row["wall_ms"] for row in table["rows"]] == [11.4, 11.4, 12.24, 11.51, 12.24, 11.51]


def test_another_pass_is_detailed_when_it_is_named(lake):
    assert section(lake.report("s1", pass_id=0), 4)[0].startswith("Pass 0: given.")


@pytest.mark.parametrize(("output", "pass_id", "message"), [("r.pdf", None, "Markdown"), (None, 9, "no pass 9")])
def test_what_cannot_be_reported_is_refused(lake, output, pass_id, message):
    with pytest.raises(tracelake.engine.errors.UsageError, match=message):
        lake.report("s1", output, pass_id)


def test_compute_flow_goes_from_the_longest_kernel_down(lake):
    table = layers.flow_table(lake.store, lake.resolve("s1"), 3, 2)
    assert table is not None
    assert table.title.startswith("Layer 2 [C4], ratio 4, pass 3, sum 12000 us (12.00 ms)")
    assert table.title.endswith("25 kernels, starts at 198.300 ms")
    assert [(row[0], row[1], row[2], row[4], row[6]) for row in table.rows[:9]] == [
        (0, "attn", "mla", 4000, 200.080),
        (1, "ffn", "moe", 2400, 205.900),
        (2, "ffn", "moe", 1600, 208.420),
        (3, "attn", "gemm_fp8", 500, 198.730),
        (4, "attn", "allreduce", 400, 204.510),
        (5, "ffn", "allreduce", 400, 210.030),
        (6, "attn", "paged_mqa", 300, 199.560),
        (7, "attn", "gemm_bf16", 300, 204.200),
        (8, "attn", "mhc_pre_gemm", 200, 198.300),
    ]


def test_the_nested_json_of_a_layer_has_the_schema_that_simulators_read(lake):
    found = layer_json(lake.store, lake.resolve("s1"), 3, 2)
    assert found["metadata"] == {
        "layer_id": 2, "fwd_pass": 3, "compress_ratio": 4, "num_layers": 6, "wall_us": 12240.0,
        "total_dur_us": 12000.0, "num_kernels": 25,
    }  # fmt: skip
    # In the order in which the layer meets them.
    assert list(found["category_summary"])[:4] == ["mhc_pre_gemm", "mhc_pre_fuse", "rmsnorm", "gemm_fp8"]
    assert found["category_summary"]["moe"] == {"dur_us": 4000.0, "count": 2}
    assert sum(entry["dur_us"] for entry in found["category_summary"].values()) == 12000
    assert found["kernels"][0] == {
        "name": "void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<1>",
        "simplified_name": "flash_fwd_splitkv_mla_fp8_sparse<1>", "dur_us": 4000.0, "category": "mla", "half": "attn",
        "ts": 200080.0, "input_dims": None, "output_dims": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
             "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "n_routed_experts": 256,
             "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048,
             "first_k_dense_replace": 3, "intermediate_size": 18432, "num_nextn_predict_layers": 1},
            {"Layers": "61, and draft 1", "Attention": "latent (MLA), Q LoRA 1536, KV LoRA 512",
             "MoE": "experts 256, experts per token 8, shared experts 1, expert size 2048, leading dense layers 3",
             "FFN": "intermediate size 18432"},
        ),
        (
            {"text_config": {"num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32,
                             "num_key_value_heads": 8}},
            {"Layers": "36", "Attention": "grouped-query",
             "Hidden size, heads": "4096, 32 query, 8 key/value, head size 128 (hidden size / heads)"},
        ),
        (
            {"model_type": "some_vl", "num_hidden_layers": 27, "hidden_size": 1152, "num_attention_heads": 16,
             "num_key_value_heads": 16, "text_config": {"model_type": "qwen3", "num_hidden_layers": 36,
             "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": None}},
            {"Model": "some_vl", "Layers": "36",
             "Hidden size, heads": "4096, 32 query, 16 key/value, head size 128 (hidden size / heads)"},
        ),
        (
            {"num_experts": 4, "moe": True, "mhc": True, "mhc_bottleneck_dim": 16},
            {"MoE": "experts 4", "MHC": "bottleneck 16"},
        ),
    ],
)  # fmt: skip
def test_both_spellings_of_a_config_are_read(config, expected):
    found = dict(architecture(json.dumps(config)))
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("config", [None, "", "{}", "[]", "{broken"])
def test_a_config_that_says_nothing_gives_no_lines(config):
    assert architecture(config) == []


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], ""), ([3], "3"), ([*range(36)], "0-35"), ([*range(0, 24, 2)], "0,2…22"), ([0, 1, 2, 7], "0-2,7"),
        ([2, 4], "2,4"), ([0, 3, 5, 8, 10, 13, 15, 18, 20, 23], "0,3,5,8,10,13,15,…23"),
    ],
)  # fmt: skip
def test_which_layers_in_few_characters(numbers, expected):
    assert which(numbers) == expected


def test_a_long_name_is_cut_with_three_dots():
    assert cut("a" * 48, 48) == "a" * 48
    assert cut("a" * 49, 48) == "a" * 45 + "..."
