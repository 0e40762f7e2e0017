"""Which operator of a model a kernel runs, and whether a trace computes what the model's template says."""

import json

import pytest
from click.testing import CliRunner

from tracelake.commands import model_traces
from tracelake.engine import store
from tracelake.engine.errors import InputError, UsageError
from tracelake.lake import Lake

from ...kernel_traces import GEMM, Trace, one_layer_model, tiny_config
from ...lakes import Files, apart, in_one_lake, ingest_at_once
from ...storing import storing_only
from ...support import data_file

VERDICTS = "SELECT verdict, gemms, matched, missing, extra FROM template_verdicts"
QWEN = {"model": "Qwen/Qwen3-8B"}
REAL = {
    "sglang_qwen3-8b_prefill_mi300x": QWEN,
    "sglang_qwen3-8b_decode_mi300x": QWEN,
    "sglang_qwen3-8b_decode_capture_mi300x": QWEN,
    "vllm_gpt-oss_prefill_tp_b200": {"model": "openai/gpt-oss-120b", "tp": 8},
    "vllm_gpt-oss_decode_mi300x": {"model": "gpt-oss-20b"},
    "hf_qwen1.5-0.5b_h100": {"model": "Qwen/Qwen1.5-0.5B-Chat"},
}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("real") / "lake")
    ingest_at_once(lake, {data_file(f"kineto/{name}.json.gz"): said for name, said in REAL.items()})
    yield lake
    lake.close()


def statuses(lake, trace):
    """Return kernels' layers by unit and status."""
    return {
        (unit, status): layers
        for unit, status, layers in lake.rows(
            "SELECT unit, status, count(*) FROM template_vs_trace WHERE trace_id = $1 GROUP BY ALL",
            [lake.resolve(trace)],
        )
    }


@pytest.mark.parametrize("trace", ["sglang_qwen3-8b_prefill_mi300x", "sglang_qwen3-8b_decode_mi300x"])
def test_the_template_of_qwen3_equals_a_prefill_and_a_replayed_decode(real, trace):
    found = statuses(real, trace)
    assert found == {
        (unit, "match"): 36 for unit in ("qkv_proj", "attention", "o_proj", "gate_up_proj", "down_proj")
    } | {("lm_head", "match"): 1}
    [(verdict, gemms, matched, template, measured)] = real.rows(
        "SELECT verdict, gemms, matched, template_flop, trace_flop FROM template_verdicts WHERE trace_id = $1",
        [real.resolve(trace)],
    )
    assert (verdict, gemms, matched) == ("PASS", 145, 145)
    assert template == measured
    if "prefill" in trace:
        assert template == 213_392_645_160_960 + 36 * 128_974_848_000
    else:
        assert template == 484_358_225_920 + 36 * 537_149_440


def test_the_router_of_a_tensor_parallel_rank_is_replicated_and_experts_tell_no_shapes(real):
    trace = "vllm_gpt-oss_prefill_tp_b200"
    assert statuses(real, trace) == {
        ("qkv_proj", "match"): 36, ("o_proj", "match"): 36, ("router", "replicated"): 36, ("lm_head", "match"): 1,
        # Every other layer sees a window of keys, which neither the annotation nor shapes tell.
        ("attention", "match"): 18, ("attention", "no_shape"): 18,
        ("routed_gate_up", "no_shape"): 36, ("routed_down", "no_shape"): 36,
    }  # fmt: skip
    assert real.rows("SELECT verdict FROM template_verdicts WHERE trace_id = $1", [real.resolve(trace)]) == [("WARN",)]


def test_a_trace_of_a_model_without_its_head_fails_and_says_what_is_missing(real):
    found = statuses(real, "hf_qwen1.5-0.5b_h100")
    assert found[("lm_head", "missing_in_trace")] == 1
    # Squares of 1024 are told apart by their order: q, k, v, o; gate and up run apart.
    assert {unit for unit, status in found if status == "match"} == {
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_up_proj", "down_proj", "attention"
    }  # fmt: skip
    # The angles of the rotary embedding are a product that no template has; too small to count.
    assert found[(None, "extra_in_trace")] == 1


def test_kernels_without_operators_are_told_by_their_place_and_category(real):
    found = dict(
        real.rows(
            "SELECT unit, (map_rule, count(*)) FROM (SELECT DISTINCT unit, map_rule, kernel_id FROM operator_kernels"
            " WHERE trace_id = $1 AND layer_id IS NOT NULL) GROUP BY unit, map_rule",
            [real.resolve("vllm_gpt-oss_decode_mi300x")],
        )
    )
    assert found["qkv_proj"] == found["o_proj"] == found["router"] == ("position", 24)
    assert found["routed_gate_up"] == found["routed_down"] == ("position", 24)
    assert found["attention"] == ("category", 36)
    assert found["rope"] == found["kv_store"] == ("category", 24)
    # What compilers fuse has no operator of its own, and stays visible.
    assert found[None] == ("unmapped", 23)


@in_one_lake
def test_kernels_of_adapters_do_not_move_the_products_beside_them_to_another_place(tmp_path):
    """Without shapes: four products in a layer have their places, whether eight kernels of LoRA are between them."""
    files = [
        one_layer_model(tmp_path, name, with_shapes=False, with_adapters=with_adapters)
        for name, with_adapters in (("base", False), ("lora", True))
    ]
    lake = yield Files(*files, model=tiny_config(tmp_path))
    sums = "unit, map_rule, count(*), sum(flop), sum(bytes)"
    work = f"SELECT {sums} FROM kernel_roofline WHERE trace_id = $1 GROUP BY ALL"
    base, lora = (set(lake.rows(work, [lake.ids[name]])) for name in ("base", "lora"))
    assert {unit for unit, rule, *_ in base if rule == "position"} == {
        "qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"
    }  # fmt: skip
    assert base < lora
    assert lora - base == {("adapter", "category", 16, None, None)}


def test_a_kernel_of_fused_operators_has_a_row_for_each_with_its_share(real):
    shares = real.rows(
        "SELECT DISTINCT op, flop_share, map_rule, confidence FROM operator_kernels WHERE trace_id = $1"
        " AND unit = 'qkv_proj' ORDER BY op DESC",
        [real.resolve("sglang_qwen3-8b_prefill_mi300x")],
    )
    # 4096 columns of queries, 1024 of keys and of values.
    assert shares == [
        ("v_proj", pytest.approx(1 / 6), "correlation", 1), ("q_proj", pytest.approx(2 / 3), "correlation", 1),
        ("k_proj", pytest.approx(1 / 6), "correlation", 1),
    ]  # fmt: skip


def test_every_kernel_is_in_the_bridge_and_its_shares_sum_to_one(real):
    assert real.rows(
        "SELECT count(*) FROM (SELECT sum(flop_share) AS shares FROM operator_kernels GROUP BY trace_id, kernel_id)"
        " WHERE abs(shares - 1) > 1e-9"
    ) == [(0,)]
    assert real.rows("SELECT count(DISTINCT (trace_id, kernel_id)) FROM operator_kernels") == real.rows(
        "SELECT count(*) FROM kernels"
    )


@in_one_lake
def test_a_wrong_dimension_fails_in_the_operators_it_is_in(tmp_path):
    files = one_layer_model(tmp_path, "right"), one_layer_model(tmp_path, "wrong", ffn_in_trace=480)
    lake = yield Files(*files, model=tiny_config(tmp_path))
    right = "SELECT verdict, coverage_pct > 80 FROM template_verdicts WHERE trace_id = $1"
    assert lake.rows(right, [lake.ids["right"]]) == [("PASS", True)]
    assert lake.rows(f"{VERDICTS} WHERE trace_id = $1", [lake.ids["wrong"]]) == [("FAIL", 9, 5, 4, 4)]
    assert statuses(lake.lake, lake.ids["wrong"]) == {
        ("qkv_proj", "match"): 2, ("o_proj", "match"): 2, ("lm_head", "match"): 1, ("attention", "match"): 2,
        ("gate_up_proj", "missing_in_trace"): 2, ("down_proj", "missing_in_trace"): 2, (None, "extra_in_trace"): 4,
    }  # fmt: skip


@pytest.mark.parametrize(("degree", "verdict"), [({}, "FAIL"), ({"tp": 2}, "PASS")])
@in_one_lake
def test_a_trace_of_a_rank_matches_the_template_divided_by_its_ranks(tmp_path, degree, verdict):
    # A rank of two: half of the heads, of the keys' heads, of the MLP and of the vocabulary.
    path = apart(one_layer_model(tmp_path, "rank", heads=2, kv_heads=1, ffn=256, vocab=500), degree)
    lake = yield Files(path, model=tiny_config(tmp_path), **degree)
    [(found, gemms, matched, *_)] = lake.rows(VERDICTS)
    assert (found, gemms) == (verdict, 9)
    assert (matched == 9) == (verdict == "PASS")


@in_one_lake
def test_products_of_an_npu_are_told_by_the_shapes_in_their_own_rows(tmp_path):
    """Four layers of a made-up decoder: 5120 wide, four heads of 128, an MLP of 1600; 640 columns of q, k and v."""
    said = {"num_hidden_layers": 4, "hidden_size": 5120, "intermediate_size": 1600, "head_dim": 128}
    config = tiny_config(tmp_path, **said, num_attention_heads=4, num_key_value_heads=1)
    lake = yield Files(data_file("ascend/synthetic/forward_passes.csv"), model=config)
    found = lake.rows(
        "SELECT n, k, unit, map_rule, flop FROM kernel_roofline WHERE pass_id = 1 AND layer_id = 0 AND n IS NOT NULL"
        " ORDER BY start_ns"
    )
    assert found == [
        # One head of keys and of values makes 768 columns: the template knows no 640, the row speaks for itself.
        (640, 5120, None, "correlation", 2 * 16 * 640 * 5120),
        (5120, 512, "o_proj", "shape_match", 2 * 16 * 5120 * 512),
        (3200, 5120, "gate_up_proj", "shape_match", 2 * 16 * 3200 * 5120),
        (5120, 1600, "down_proj", "shape_match", 2 * 16 * 5120 * 1600),
    ]
    verdicts = lake.rows(f"{VERDICTS} ORDER BY rank, device, pass_id")
    # In each layer q, k and v are missing and a product is too many; so it is at the end, whose head is wider.
    assert verdicts[-1] == ("FAIL", 25, 12, 13, 5)


def test_what_stands_in_the_way_of_a_validation_is_said(lake, tmp_path):
    config = tiny_config(tmp_path)
    lake.ingest(one_layer_model(tmp_path, "right"))
    with pytest.raises(UsageError, match="no model is set"):
        lake.validate("right")
    with pytest.raises(UsageError, match="qwen3-8b"):
        lake.explain("right", "qwen3-9b")
    trace = Trace()
    trace.kernel(GEMM, 10, 100, 5)
    lake.ingest(trace.write(tmp_path / "short.json"), one_layer_model(tmp_path, "silent", note="", with_shapes=False))
    for name in ("short", "silent"):
        lake.explain(name, config)
    with pytest.raises(InputError, match="no forward passes"):
        lake.validate("short")
    with pytest.raises(InputError, match="the tokens of its passes are unknown"):
        lake.validate("silent")


@pytest.fixture(scope="module")
def command(tmp_path_factory, computed_in_memory):
    """Return what runs a command on a lake of made-up traces whose answers are stored, and their model's config."""
    folder = tmp_path_factory.mktemp("commands")
    path = folder / "lake"

    def run(*words):
        name, *rest = words
        found = {"validate": model_traces.validate, "roofline": model_traces.roofline_of}[name]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "STORED", True)
            return CliRunner().invoke(found, [str(word) for word in rest], obj=path)

    with storing_only("template_verdicts", "template_vs_trace", "op_roofline"):
        with Lake(path, stored=True) as lake:
            lake.ingest(one_layer_model(folder, "right"), one_layer_model(folder, "wrong", ffn_in_trace=480))
        yield run, tiny_config(folder)


def test_the_exit_code_of_a_validation_is_its_verdict(command):
    run, config = command
    right = run("validate", "right", "--model", config)
    assert (right.exit_code, "PASS" in right.stdout) == (0, True)
    wrong = run("validate", "wrong", "--model", config, "--format", "json")
    assert wrong.exit_code == 1
    [row] = json.loads(wrong.stdout)
    assert (row["verdict"], row["gemms"], row["missing"]) == ("FAIL", 9, 4)


def test_operators_of_a_validation_are_listed_by_kind_for_people_and_one_by_one_as_json(command):
    run, config = command
    people = run("validate", "wrong", "--model", config, "--operators")
    assert people.exit_code == 1
    assert [line.split()[-7] for line in people.stdout.splitlines() if "missing_in_trace" in line]
    rows = json.loads(run("validate", "wrong", "--operators", "--format", "json").stdout)
    assert len(rows) == 15
    assert {row["status"] for row in rows} == {"match", "missing_in_trace", "extra_in_trace"}


def test_the_roofline_of_a_trace_is_listed_by_operator_and_shape(command):
    run, config = command
    run("validate", "right", "--model", config)
    shown = run("roofline", "right")
    assert shown.exit_code == 0
    [line] = [line for line in shown.stdout.splitlines() if "gate_up_proj" in line]
    # 2 x 64 x 1024 x 256 FLOP in 12 µs, two layers.
    assert line.split()[:5] == ["gate_up_proj", "64x1024x256", "bf16", "2", "24"]
    assert "2.8" in line.split()
    [row] = [row for row in json.loads(run("roofline", "right", "--format", "json").stdout) if row["unit"] == "lm_head"]
    assert (row["flop"], row["calls"], row["mean_us"]) == (2 * 1000 * 256, 1, 5)
    kernels = json.loads(run("roofline", "right", "--pass", "0", "--format", "json").stdout)
    assert len(kernels) == 15


@pytest.mark.parametrize("command_", [model_traces.validate, model_traces.roofline_of])
def test_help_ends_with_examples(command_):
    text = CliRunner().invoke(command_, ["--help"]).output
    assert "Examples:" in text
    assert "tracelake model" in text
