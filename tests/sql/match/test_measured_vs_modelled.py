"""Measured time beside the model's: parts that sum to the pass, figures of others, and what chips reach."""

import json
import math

import pytest

from tracelake.engine.errors import UsageError
from tracelake.lake import Lake

from ...kernel_traces import GEMM, Trace, one_layer_model, tiny_config
from ...lakes import Files, in_one_lake, ingest_at_once
from ...support import data_file
from ..ascend.counters import product, write_table

TRACES = {
    "sglang_qwen3-8b_prefill_mi300x": {"model": "qwen3-8b"},
    "hf_qwen1.5-0.5b_h100": {"model": "qwen1.5-0.5b"},
    "vllm_gpt-oss_prefill_tp_b200": {"model": "gpt-oss-120b", "tp": 8},
}
#: Time of the 36 layers' kernels in µs, and TFLOP/s where they multiply, as others counted them.
PREFILL = {
    "gate_up_proj": (243_643.02, 456.9),
    "down_proj": (95_439.04, 583.2),
    "qkv_proj": (51_295.48, 542.6),
    "o_proj": (29_491.87, 629.1),
    "attention": (20_075.16, 231.3),
    "lm_head": (436.33, 42.8),
    "silu_mul": (16_508.15, None),
    "rope": (4_725.11, None),
    "kv_store": (1_271.22, None),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    files = {name: data_file(f"kineto/{name}.json.gz") for name in TRACES}
    with Lake(tmp_path_factory.mktemp("measured") / "lake") as opened:
        ingest_at_once(opened, {files[name]: settings for name, settings in TRACES.items()})
        yield opened


def test_parts_sum_to_the_time_of_the_pass(lake):
    rows = lake.rows(
        "SELECT trace, pass_id, sum(measured_ns), any_value(span_ns) FROM measured_vs_modelled JOIN traces "
        "USING (trace_id) JOIN (SELECT trace_id, pass_id, max(end_ns) - min(start_ns) AS span_ns FROM kernel_roofline "
        "GROUP BY ALL) USING (trace_id, pass_id) GROUP BY ALL"
    )
    assert sorted(trace for trace, *_ in rows) == sorted(TRACES)
    assert all(total == span for _, _, total, span in rows)


def test_every_kernel_counts_once(lake):
    for states, condition in ((("mapped", "overhead", "unmapped"), "true"),):
        listed = ", ".join(f"'{state}'" for state in states)
        [(kernels, nanoseconds)] = lake.rows(
            f"SELECT sum(kernel_count), sum(measured_ns) FROM measured_vs_modelled WHERE state IN ({listed})"
        )
        passes = "SELECT DISTINCT trace_id, device, pass_id FROM measured_vs_modelled"
        [(expected, total)] = lake.rows(
            f"SELECT count(*), sum(end_ns - start_ns) FROM kernel_roofline SEMI JOIN ({passes}) AS p "
            f"USING (trace_id, device, pass_id) WHERE {condition}"
        )
        assert (kernels, nanoseconds) == (expected, total)


def test_a_prefill_part_by_part(lake):
    rows = lake.rows(
        "SELECT part, sum(measured_ns) / 1e3, any_value(tflops), any_value(state) FROM measured_vs_modelled "
        "JOIN traces USING (trace_id) WHERE model = 'qwen3-8b' AND part <> 'norm' GROUP BY part"
    )
    found = {part: (time, tflops, state) for part, time, tflops, state in rows}
    for part, (time, tflops) in PREFILL.items():
        assert found[part][0] == pytest.approx(time, abs=0.02)
        assert found[part][2] == "mapped"
        if tflops:
            assert found[part][1] == pytest.approx(tflops, abs=0.05)


def test_the_norms_of_queries_and_keys_are_in_the_bound_of_the_norms_that_their_kernels_are_counted_with(lake):
    """Per layer of Qwen3-8B and 15360 tokens: twice residual and hidden state in and out, queries and keys likewise."""
    [(kernels, moved)] = lake.rows(
        "SELECT kernel_count, bytes FROM measured_vs_modelled JOIN traces USING (trace_id) "
        "WHERE model = 'qwen3-8b' AND part = 'norm' AND layer_kind = 'gqa+dense'"
    )
    assert kernels == 4 * 36
    elements = 15360 * (2 * 4 * 4096 + 2 * (32 + 8) * 128)
    assert moved == pytest.approx(36 * 2 * elements, rel=0.001)
    missing = lake.rows("SELECT DISTINCT part FROM measured_vs_modelled WHERE state = 'missing'")
    assert ("qk_norm",) not in missing


@in_one_lake
def test_queries_and_keys_that_the_kernel_norms_which_rotates_them_are_not_in_the_bound_of_the_norms(tmp_path):
    """64 tokens, 2 layers, BF16: two norms 256 wide, each residual and hidden state in and out; 4 + 2 heads of 64."""
    kernels = {"apart": "vllm::rotary_embedding_kernel", "fused": "tensorrt_llm::kernels::fusedQKNormRopeKernel"}
    files = [one_layer_model(tmp_path, name, rotation=kernel) for name, kernel in kernels.items()]
    lake = yield Files(*files, model=tiny_config(tmp_path, model_type="qwen3"))
    rows = lake.rows(
        "SELECT trace, part, bytes FROM measured_vs_modelled JOIN traces USING (trace_id) "
        "WHERE layer_kind = 'gqa+dense'"
    )
    apart, fused = ({part: moved for trace, part, moved in rows if trace == name} for name in kernels)
    assert apart["norm"] - fused["norm"] == pytest.approx(2 * 64 * 2 * (4 + 2) * 64 * 2, rel=0.01)
    assert fused["norm"] == pytest.approx(2 * 64 * 2 * 4 * 256 * 2, rel=0.01)
    assert apart["rope"] == fused["rope"]
    assert "qk_norm" not in fused


def test_products_are_never_quicker_than_their_bound(lake):
    """On a chip with the right peak: products of all three models, by shapes and by the template."""
    rows = lake.rows(
        "SELECT model, part, efficiency, flag_over_100 FROM measured_vs_modelled JOIN traces USING (trace_id) "
        "WHERE state = 'mapped' AND flop > 0"
    )
    assert len(rows) > 15
    assert all(0 < efficiency < 1 and not flag_over_100 for _, _, efficiency, flag_over_100 in rows)


def test_without_a_peak_products_have_no_modelled_time_and_the_others_that_of_their_bytes(tmp_path):
    # An MI308X has no known peak.
    with Lake(tmp_path / "lake") as opened:
        file = data_file("kineto/hf_qwen1.5-0.5b_h100.json.gz")
        ingest_at_once(opened, {file: {"model": "qwen1.5-0.5b", "hardware": "mi308x"}})
        rows = opened.rows(
            "SELECT flop > 0, modelled_ms IS NULL, bound FROM measured_vs_modelled WHERE layers > 0 GROUP BY ALL"
        )
    assert sorted(rows) == [(False, False, "memory"), (True, True, None)]


def test_what_the_template_has_and_no_kernel_runs_is_shown(lake):
    rows = lake.rows(
        "SELECT part, measured_ns, modelled_ms FROM measured_vs_modelled JOIN traces USING (trace_id) "
        "WHERE model = 'qwen1.5-0.5b' AND state = 'missing' AND layer_kind = 'ends'"
    )
    assert {part for part, _, _ in rows} == {"embedding", "lm_head", "norm"}
    assert all(measured == 0 and modelled > 0 for _, measured, modelled in rows)


@in_one_lake
def test_the_forward_pass_of_a_training_step_that_shows_no_modules_costs_what_a_forward_pass_does(tmp_path):
    # The products of one layer: 64 rows, 256 columns to 2 * 512, in 12 us; in two layers.
    gate_up = 2 * 2 * 64 * 256 * 2 * 512
    prefill = json.loads(one_layer_model(tmp_path).read_text())
    last = max(event["ts"] for event in prefill["traceEvents"] if event["cat"] == "kernel")
    prefill["traceEvents"] = [event for event in prefill["traceEvents"] if event["cat"] != "python_function"]
    backward = Trace()
    backward.op("autograd::engine::evaluate_function: MmBackward0", 900, 50)
    backward.kernel("flash_bwd_dq_dk_dv_loop_kernel", 910, last + 10, 30)
    for event in backward.events:
        event["args"] = {name: number + 10_000 if name == "correlation" else number
                         for name, number in event["args"].items() if name != "External id"}  # fmt: skip
    files = {name: tmp_path / f"{name}.json" for name in ("prefill", "training")}
    files["prefill"].write_text(json.dumps(prefill))
    prefill["traceEvents"] += backward.events
    files["training"].write_text(json.dumps(prefill))
    lake = yield Files(*files.values(), model=tiny_config(tmp_path), anchor="flash_fwd")
    rows = lake.rows(
        "SELECT trace, w.phase, m.flop, round(m.tflops, 3) FROM measured_vs_modelled AS m "
        "JOIN pass_workloads AS w USING (trace_id, device, pass_id) JOIN traces USING (trace_id) "
        "WHERE part = 'gate_up_proj' ORDER BY trace"
    )
    tflops = round(gate_up / 24 / 1e6, 3)
    assert rows == [("prefill", "prefill", gate_up, tflops), ("training", "training", gate_up, tflops)]
    # All of the step is in its model FLOP: of products 3 times the forward pass's, of attention 3.5 times.
    query = "FROM pass_mfu JOIN traces USING (trace_id) WHERE time_basis = 'wall' ORDER BY trace"
    [(forward,), (step,)] = lake.rows(f"SELECT model_flop {query}")
    assert 3 * forward < step < 3.5 * forward


def test_a_fraction_is_least_time_over_time_and_its_residual_what_it_misses(lake):
    found = lake.rows("SELECT hardware, bound, kernel_count, fraction, residual_pct FROM calibrations")
    assert len(found) == 6
    for hardware, bound, kernels, fraction, residual in found:
        least = "compute_us" if bound == "compute" else "memory_us"
        points = lake.rows(
            f"SELECT {least}, dur_us FROM kernel_roofline JOIN traces USING (trace_id) WHERE hardware = $1 "
            f"AND bound = $2 AND dur_us >= 5 AND {least} > 0 AND {least} <= dur_us AND map_rule <> 'overhead' "
            "AND (bound = 'memory' OR flop IS NOT NULL)",
            [hardware, bound],
        )
        assert len(points) == kernels
        total = math.fsum(t for _, t in points)
        assert fraction == pytest.approx(math.fsum(x for x, _ in points) / total, rel=1e-9)
        missed = math.fsum(abs(t - x / fraction) for x, t in points)
        assert residual == pytest.approx(100 * missed / total, rel=1e-6)


#: Square products of BF16 on an H100 take 2.1713 us at 989 TFLOP/s: durations of its kernels in µs.
PRODUCT_US = 2 * 1024**3 / 989e6
ALIKE = [10.0] * 8 + [20.0] * 2
APART = [5.0] * 6 + [300.0] * 4
FEW = [10.0] * 9
BEYOND = [10.0] * 10 + [5.5] * 5


def calibrated(folder, durations, dims=((1024, 1024), (1024, 1024))):
    """Return a lake with kernels of as many products, each of these durations in µs."""
    trace, at = Trace(), 1000.0
    for nth, duration in enumerate(durations):
        operator = trace.op("aten::mm", 10 + 100 * nth, 50, [list(each) for each in dims])
        trace.kernel(GEMM, 12 + 100 * nth, at, duration, operator)
        at += duration + 100
    opened = Lake(folder / "lake")
    opened.ingest(trace.write(folder / "products.json"))
    return opened


def test_kernels_alike_have_a_fraction_with_quartiles(tmp_path):
    # 10 products take 120 us: 21.7 of 120. The eight short ones are missed by 2 us of what the fraction says, 12, and
    # the two long ones by 8: 32 of 120. A quarter of the time is in the long ones, at half of the others' share.
    with calibrated(tmp_path, ALIKE) as lake:
        found = lake.rows(
            "SELECT bound, kernel_count, fraction, low_fraction, high_fraction, residual_pct, usable, faults "
            "FROM calibrations"
        )
    assert found == [
        (
            "compute", 10, pytest.approx(10 * PRODUCT_US / 120), pytest.approx(PRODUCT_US / 20),
            pytest.approx(PRODUCT_US / 10), pytest.approx(100 * 32 / 120), True, None,
        )
    ]  # fmt: skip


def test_a_product_that_also_communicates_shows_nothing_of_the_peak(tmp_path):
    # Half of the time of the fused ones is the exchange; 2 x 1024^3 FLOP at 353.9 TFLOP/s are 6.07 us.
    kernels = [("MatMulV2", "10")] * 10 + [("MatmulAllReduce", "20")] * 10
    rows = [product(kind, "1024,1024;1024,1024", "1024,1024", **{"Duration(us)": dur}) for kind, dur in kernels]
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(write_table(tmp_path / "t.csv", *rows), hardware="ascend_910b2")
        found = lake.rows("SELECT kernel_count, fraction FROM calibrations WHERE bound = 'compute'")
        [(mfu, eff)] = lake.rows("SELECT DISTINCT mfu, roofline_eff FROM kernel_roofline WHERE category = 'mc2'")
    least = 2 * 1024**3 / 353.9e6
    assert found == [(10, pytest.approx(least / 10, rel=1e-3))]
    assert (mfu, eff) == (pytest.approx(least / 20, rel=1e-3), pytest.approx(least / 20, rel=1e-3))


@pytest.mark.parametrize(
    ("durations", "dims", "fault", "said"),
    [
        # 10 products in 1230 us, 123 each on the average: missed by 6 x 118 and 4 x 177, of 1230.
        (APART, [(1024, 1024), (1024, 1024)], "residual", "compute is not stored: .* by 115.1 % on the average"),
        (FEW, [(1024, 1024), (1024, 1024)], "kernels", "9 kernels of 1 traces, and it takes 10"),
        # Weights of 21.0 MB in 5.5 us are 3.8 TB/s, and the memory gives 3.35.
        (BEYOND, [(1, 4096), (4096, 2560)], "beyond", "5 kernels with 21.6 % of the time are quicker"),
    ],
)
def test_what_keeps_a_fraction_from_use_is_told(tmp_path, durations, dims, fault, said):
    with calibrated(tmp_path, durations, dims) as lake:
        assert lake.rows("SELECT usable, faults FROM calibrations") == [(False, fault)]
        with pytest.raises(UsageError, match=said):
            lake.calibrate("ours", "h100_sxm")


def test_of_two_bounds_the_one_that_is_kept_says_what_the_other_lacks(tmp_path):
    with calibrated(tmp_path, ALIKE) as lake:
        [line] = lake.calibrate("ours", "h100_sxm")
        assert line.startswith("memory is not stored: no kernel of 5 µs or more has known work")
        [(flop, hbm, comment)] = lake.rows(
            "SELECT flop_fraction, hbm_fraction, comment FROM execution_profiles WHERE execution = 'ours'"
        )
    assert (flop, hbm) == (pytest.approx(10 * PRODUCT_US / 120), 1)
    assert "memory is not stored" in comment


def test_an_attention_bound_by_memory_does_not_spoil_the_fraction_of_the_products_of_its_chip(lake):
    # An attention of the B200's pass moves 1,477,632 bytes, 0.185 µs at 8 TB/s; its FLOP take 0.180 µs at the FP8 peak.
    found = {(chip, bound): row for chip, bound, *row in lake.rows("SELECT hardware, bound, faults FROM calibrations")}
    assert found["h100_sxm", "compute"] == found["mi300x", "compute"] == [None]
    assert found["b200", "compute"] == found["b200", "memory"] == [None]


def test_a_pass_of_four_layers_is_held_against_four_of_the_model(tmp_path):
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(data_file("ascend/synthetic/forward_passes.csv"), model="qwen3-32b", tp=8, hardware="ascend_910b2")
        rows = lake.rows(
            "SELECT part, layers, model_layers, flop, flag_over_100 FROM measured_vs_modelled "
            "WHERE pass_id = 1 AND part IN ('gate_up_proj', 'lm_head')"
        )
        # 16 tokens by 5120 inner and 2 x 25600 / 8 columns, in four layers; the trace's own are half as wide, so tensor
        # parallelism is not what was said.
        [(_, *found), (_, *head)] = sorted(rows)
        assert found == [4, 64, 4 * 2 * 16 * 5120 * 6400, True]
        assert head[:2] == [1, 1]
        [sums] = lake.rows(
            "SELECT sum(measured_ns), (SELECT max(end_ns) - min(start_ns) FROM kernel_roofline WHERE pass_id = 1) "
            "FROM measured_vs_modelled WHERE pass_id = 1"
        )
        assert sums[0] == sums[1]
        *_, layers, over = lake.measured_vs_modelled("forward_passes").faults
        assert "4 of qwen3-32b's 64 layers" in layers
        assert "tracelake set forward_passes pp=16" in layers
        assert "here of gate_up_proj" in over
        lake.set("forward_passes", pp=16)
        assert "pp=" not in " ".join(lake.measured_vs_modelled("forward_passes").faults)


def test_a_pass_of_all_layers_has_no_caveat_about_them(lake):
    assert lake.measured_vs_modelled("sglang_qwen3-8b_prefill_mi300x").faults == []
    rows = lake.rows("SELECT DISTINCT layers, model_layers FROM measured_vs_modelled WHERE layer_kind = 'gqa+dense'")
    assert {layers for layers, _ in rows if layers} == {24, 36}
    assert all(layers == whole for layers, whole in rows)


def test_a_calibrated_profile_is_kept_and_foretells(lake):
    lake.calibrate("mi300x-ours", "mi300x")
    lake.calibrate("mi300x-ours", "mi300x")
    work = {"model": "qwen3-8b", "phase": "prefill", "batch": 15, "seq_len": 1024, "hardware": "mi300x"}
    lake.add_scenarios({"scenario": profile, "execution": profile, **work} for profile in ("physical", "mi300x-ours"))
    found = dict(
        lake.rows("SELECT execution, serial_ms FROM phase_roofline WHERE scenario IN ('physical', 'mi300x-ours')")
    )
    # Measured: 492 ms. A bound is far below; what the chip reached is near, since it was fitted to this very pass.
    assert found["physical"] < 200
    assert found["mi300x-ours"] == pytest.approx(492, rel=0.1)
    with Lake(lake.path) as again:
        assert again.rows("SELECT count(*) FROM execution_profiles WHERE execution = 'mi300x-ours'") == [(1,)]


def test_profiles_have_names_of_their_own(lake):
    with pytest.raises(UsageError, match="shipped"):
        lake.calibrate("naive", "mi300x")
    with pytest.raises(UsageError, match="invalid name"):
        lake.calibrate("a,b", "mi300x")
    with pytest.raises(UsageError, match="nothing to store"):
        lake.calibrate("mine", "h20")
