"""Measured time beside the model's: parts that sum to the pass, figures of others, and what chips reach."""

import math

import pytest

from tracelake.engine.errors import UsageError
from tracelake.lake import Lake

from ..support import data_file

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
        for name, settings in TRACES.items():
            opened.ingest(files[name], **settings)
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


def test_products_are_never_quicker_than_their_bound(lake):
    """On a chip with the right peak: products of all three models, by shapes and by the template."""
    rows = lake.rows(
        "SELECT model, part, efficiency, over_100 FROM measured_vs_modelled JOIN traces USING (trace_id) "
        "WHERE state = 'mapped' AND flop > 0"
    )
    assert len(rows) > 15
    assert all(0 < efficiency < 1 and not over_100 for _, _, efficiency, over_100 in rows)


def test_what_the_template_has_and_no_kernel_runs_is_shown(lake):
    rows = lake.rows(
        "SELECT part, measured_ns, modelled_ms FROM measured_vs_modelled JOIN traces USING (trace_id) "
        "WHERE model = 'qwen1.5-0.5b' AND state = 'missing' AND layer_kind = 'ends'"
    )
    assert {part for part, _, _ in rows} == {"embedding", "lm_head", "norm"}
    assert all(measured == 0 and modelled > 0 for _, measured, modelled in rows)


def test_fractions_are_least_squares(lake):
    for hardware, bound, kernels, fraction, residual in lake.rows(
        "SELECT hardware, bound, kernel_count, fraction, residual_pct FROM calibrations"
    ):
        least = "compute_us" if bound == "compute" else "memory_us"
        points = lake.rows(
            f"SELECT {least}, dur_us FROM kernel_roofline JOIN traces USING (trace_id) WHERE hardware = $1 "
            f"AND bound = $2 AND dur_us >= 5 AND {least} > 0 AND (bound = 'memory' OR flop IS NOT NULL)",
            [hardware, bound],
        )
        assert len(points) == kernels
        slope = math.fsum(x * t for x, t in points) / math.fsum(x * x for x, _ in points)
        error = math.fsum((t - slope * x) ** 2 for x, t in points) / math.fsum(t * t for _, t in points)
        assert fraction == pytest.approx(1 / slope, rel=1e-9)
        assert residual == pytest.approx(100 * math.sqrt(error), rel=1e-6)


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
    with pytest.raises(UsageError, match="no name"):
        lake.calibrate("a,b", "mi300x")
    with pytest.raises(UsageError, match="no ten kernels"):
        lake.calibrate("mine", "h20")
