"""Studies of the reference report: its sensitivity grid, the critical batch, the frontier and the shares of bytes."""

import math

import pytest

from ..studies import named_rows, near
from .report_cases import golden, with_report


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The grid and the sweep over the batch at both degrees of expert parallelism, the frontier, and the anchor."""
    opened = with_report(
        tmp_path_factory.mktemp("sweeps"),
        *(f"medium_full_grid('deepseek-v3', of_study := 'grid {ep}', of_ep := {ep})" for ep in (1, 64)),
        *(f"decode_sweep('deepseek-v3', of_study := 'batch {ep}', of_eps := [{ep}])" for ep in (1, 64)),
        "decode_sweep('deepseek-v3', of_study := 'every batch', of_eps := [64], of_executions := ['efficient'],"
        " of_batches := range(40, 71))",
        "decode_sweep('deepseek-v3', of_study := 'frontier', of_executions := ['efficient'], of_batches := [8],"
        " of_eps := [1, 2, 4, 8, 16, 32, 64, 128], of_kv_lens := [255, 2048, 4096, 8192, 16384])",
        "anchor_phases('deepseek-v3', of_study := 'anchor')",
        "anchor_phases('deepseek-v3', of_study := 'anchor 64', of_ep := 64)",
    )
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def grid(lake):
    """The points of the grids, by study and execution."""
    rows = named_rows(lake, "SELECT * FROM compat.phase_roofline WHERE study LIKE 'grid %' ORDER BY scenario")
    found = {}
    for row in rows:
        found.setdefault((row["study"], row["execution"]), []).append(row)
    return found


@pytest.fixture(scope="module")
def effects(lake):
    """The rows of sensitivity, by study, execution and knob."""
    rows = named_rows(lake, "SELECT * FROM compat.sensitivity")
    return {(row["study"], row["execution"], row["knob"]): row for row in rows}


@pytest.fixture(scope="module")
def critical(lake):
    """The rows of critical_batch, by study and execution."""
    return {(row["study"], row["execution"]): row for row in named_rows(lake, "SELECT * FROM compat.critical_batch")}


@pytest.fixture(scope="module")
def frontier(lake):
    """The rows of decode_frontier of the study of that name, by EP and L."""
    rows = named_rows(lake, "SELECT * FROM compat.decode_frontier WHERE study = 'frontier'")
    return {(row["ep"], row["kv_len"]): row for row in rows}


def test_the_grid_has_216_points_for_each_execution(grid):
    assert {key: len(rows) for key, rows in grid.items()} == {
        (study, execution): 216 for study in ("grid 1", "grid 64") for execution in ("naive", "efficient")
    }


# Sums over the 216 points of 10.8: time, intensity, and points bound by compute.
@pytest.mark.parametrize(
    ("study", "execution", "time_ms", "intensity", "compute_bound"),
    [
        ("grid 1", "naive", "5161.082290938", "1841.560415719", 0),
        ("grid 1", "efficient", "2440.993592605", "3944.849273514", 0),
        ("grid 64", "naive", "1557.373923071", "5302.539198945", 0),
        ("grid 64", "efficient", "733.403675311", "12973.414374895", 113),
    ],
)
def test_sums_over_the_grid_are_the_reports(grid, study, execution, time_ms, intensity, compute_bound):
    rows = grid[study, execution]
    assert math.fsum(row["time_ms"] for row in rows) == near(time_ms)
    assert math.fsum(row["intensity"] for row in rows) == near(intensity)
    assert sum(row["bound"] == "compute" for row in rows) == compute_bound
    assert sum(row["bound"] == "memory" for row in rows) == 216 - compute_bound


@pytest.mark.parametrize(
    ("study", "fastest", "slowest"),
    [("grid 1", "2.986440177", "28.201526843"), ("grid 64", "1.252759988", "7.627285006")],
)
def test_fastest_and_slowest_points_are_the_reports(grid, study, fastest, slowest):
    times = [row["time_ms"] for row in grid[study, "efficient"]]
    assert (min(times), max(times)) == (near(fastest), near(slowest))


def test_the_first_and_the_last_row_of_the_reports_table(grid):
    def point(study, execution, knobs):
        return next(row for row in grid[study, execution] if row["scenario"].endswith(knobs))

    first = "naive/fp8/k2/rank0.5/hidden0.75/L2048"
    alone = point("grid 1", "naive", first)
    assert alone["intensity"] == near("7.32765859289365")
    assert alone["time_ms"] == near("6.849399109379116")
    assert alone["mfu"] == near("0.01777299709241512")
    spread = point("grid 64", "naive", first)
    assert spread["intensity"] == near("14.840178439721367")
    assert spread["intensity_total"] == near("14.831205093306705")
    assert spread["time_ms"] == near("3.3820387297810917")
    last = point("grid 1", "efficient", "efficient/bf16/k8/rank1.5/hidden1.25/L16384")
    assert last["intensity"] == near("16.233811240347972")
    assert last["time_ms"] == near("28.201526843480366")


# Effects in percent, of 10.8 and, in full, of 10.2; elasticities where they are printed.
EFFECTS: dict[tuple[str, str], dict[str, tuple[str, str | None]]] = {
    ("grid 1", "efficient"): {
        "top_k": ("189.431449", "0.767"), "hidden_scale": ("153.373034", "1.820"), "kv_len": ("9.393374", "0.043"),
        "kv_rank_scale": ("6.484486", "0.057"), "kv_dtype_bytes": ("3.348844", "0.047"),
    },
    ("grid 64", "efficient"): {
        "top_k": ("0.896", "0.006"), "hidden_scale": ("121.349", "1.556"), "kv_len": ("89.988", "0.309"),
        "kv_rank_scale": ("45.219", "0.340"), "kv_dtype_bytes": ("6.091", "0.085"),
    },
    ("grid 1", "naive"): {
        "top_k": ("170.086", None), "hidden_scale": ("154.142", None), "kv_len": ("6.514", None),
        "kv_rank_scale": ("8.159", None), "kv_dtype_bytes": ("1.704", None),
    },
    ("grid 64", "naive"): {
        "top_k": ("0.792", None), "hidden_scale": ("113.475", None), "kv_len": ("34.556", None),
        "kv_rank_scale": ("29.220", None), "kv_dtype_bytes": ("9.946", None),
    },
}  # fmt: skip


@pytest.mark.parametrize(("study", "execution"), EFFECTS)
def test_effect_sizes_and_elasticities_are_the_reports(effects, study, execution):
    expected = EFFECTS[study, execution]
    found = {key[2]: row for key, row in effects.items() if key[:2] == (study, execution)}
    assert {knob: 100 * row["effect_size"] for knob, row in found.items()} == {
        knob: near(effect) for knob, (effect, _) in expected.items()
    }
    for knob, (effect, elasticity) in expected.items():
        if elasticity:
            # Two of the ten are printed one off in the last digit: their effects say 1.5555 and 0.0475.
            assert found[knob]["elasticity"] == pytest.approx(float(elasticity), abs=6e-4)
            values = found[knob]["knob_values"]
            by_effect = math.log(1 + float(effect) / 100) / math.log(values[-1] / values[0])
            assert found[knob]["elasticity"] == pytest.approx(by_effect, rel=1e-3)
    order = sorted(expected, key=lambda knob: -float(expected[knob][0]))
    assert sorted(found, key=lambda knob: found[knob]["effect_rank"]) == order


# Medians of 10.2, ms, by the knob's value; the report sorts the values as text, these are in order.
MEDIANS = {
    "top_k": ([2, 4, 8], ["5.732702", "9.523584", "16.592242"]),
    "hidden_scale": ([0.75, 1, 1.25], ["5.751972", "9.523584", "14.573946"]),
    "kv_len": ([2048, 4096, 8192, 16384], ["9.163762", "9.283693", "9.544825", "10.024548"]),
    "kv_dtype_bytes": ([1, 2], ["9.300728", "9.612195"]),
    "kv_rank_scale": ([0.5, 1, 1.5], ["9.185018", "9.437723", "9.780619"]),
}


@pytest.mark.parametrize("knob", MEDIANS)
def test_medians_by_value_are_the_reports(effects, knob):
    values, medians = MEDIANS[knob]
    row = effects["grid 1", "efficient", knob]
    assert row["knob_values"] == values
    assert row["medians_ms"] == [near(figure) for figure in medians]
    assert row["points"] == 216


def test_a_knob_that_a_study_does_not_vary_has_no_effect_to_rank(effects):
    assert {key[2] for key in effects if key[0] == "grid 1"} == set(MEDIANS)
    assert {key[2] for key in effects if key[0] == "batch 64"} == {"batch"}


def test_transitions_by_cache_length_are_the_reports(lake):
    # 5.3: bound by compute at L = 2048, 4096, 8192 and 16384, of 54 points each.
    expected = {
        ("grid 1", "naive"): [0, 0, 0, 0], ("grid 1", "efficient"): [0, 0, 0, 0],
        ("grid 64", "naive"): [0, 0, 0, 0], ("grid 64", "efficient"): [0, 23, 42, 48],
    }  # fmt: skip
    rows = lake.rows(
        "SELECT study, execution, kv_len, points, compute_bound, memory_bound, network_bound"
        " FROM compat.regime_transitions"
        " WHERE study LIKE 'grid %' ORDER BY kv_len"
    )
    found = {key: [row[4] for row in rows if row[:2] == key] for key in expected}
    assert found == expected
    assert {row[3] for row in rows} == {54}
    assert all(row[3] == sum(row[4:]) for row in rows)


def test_the_critical_batch_is_where_intensity_crosses_the_knee(critical):
    for key in (("batch 1", "naive"), ("batch 1", "efficient"), ("batch 64", "naive")):
        assert critical[key]["intensity_batch"] is None
        assert critical[key]["compute_bound"] == 0
    row = critical["batch 64", "efficient"]
    assert row["intensity_batch"] == near("61.92846204395823")
    assert (row["smallest_batch"], row["largest_batch"], row["points"]) == (1, 128, 8)
    assert row["first_compute_batch"] == 64
    # W40: tokens from which on single products are bound by compute, 206 dense and 103 or 6597 of experts.
    assert row["knee"] == near("412.2916666666667")
    assert f"{row['dense_product_tokens']:.0f} {row['expert_tokens']:.0f}" == "206 103"
    assert f"{critical['batch 1', 'naive']['expert_tokens']:.0f}" == "6597"


def test_compute_overtakes_memory_before_the_intensity_reaches_the_knee(critical):
    # 4.3: at EP 64 T_comp is above T_hbm from B = 55 on; so the exact crossing is between 54 and 55.
    row = critical["every batch", "efficient"]
    assert row["first_compute_batch"] == 55
    assert 54 < row["time_batch"] <= 55
    assert 61 < row["intensity_batch"] < 62
    # With powers of two alone it is interpolated between 32 and 64, by the times printed in 10.6:
    # compute is behind by 0.457736743 ms at 32 and ahead by 0.206696979 ms at 64.
    coarse = critical["batch 64", "efficient"]["time_batch"]
    assert coarse == pytest.approx(32 + 32 * 0.457736743 / (0.457736743 + 0.206696979), rel=1e-6)


@pytest.mark.parametrize("case", golden("frontier"), ids=lambda case: f"EP{case['ep']}-L{case['L']}")
def test_the_frontier_is_the_reports(frontier, case):
    row = frontier[int(case["ep"]), int(case["L"])]
    assert row["cache_intensity"] == row["memory_intensity"] == near(case["OI_inf_hbm"])
    assert row["net_intensity"] == near(case["OI_net"])
    assert row["min_batch"] == (int(case["min_batch"]) if case["min_batch"] else None)
    if case["limiter"]:
        assert row["limiter"] == case["limiter"]


def test_shares_of_bytes_sum_to_one_and_name_the_part_that_dominates(lake):
    rows = named_rows(lake, "SELECT * FROM compat.byte_shares WHERE study LIKE 'anchor%'")
    totals = {}
    for row in rows:
        totals.setdefault(row["scenario"], []).append(row["share"])
    assert len(totals) == 12
    assert all(len(shares) == 4 and sum(shares) == pytest.approx(1, rel=1e-12) for shares in totals.values())
    shares = {(row["study"], row["phase"], row["execution"], row["part"]): row for row in rows}
    # Section 11: decode is 99.8 % weights alone and 98.6 % with EP 64, efficient.
    for study, share in (("anchor", "0.998"), ("anchor 64", "0.986")):
        weights = shares[study, "decode", "efficient", "weights"]
        assert weights["share"] == near(share)
        assert weights["advice"].startswith("weights dominate")
    # 8123443200 of 71072329216 bytes; flash attention leaves 11149824 of 27907433984, of which nothing need be said.
    temporary = shares["anchor 64", "prefill", "naive", "temporary"]
    assert temporary["share"] == pytest.approx(8123443200 / 71072329216, rel=1e-9)
    assert "flash" in temporary["advice"]
    assert shares["anchor 64", "prefill", "efficient", "temporary"]["advice"] is None


def test_a_long_cache_is_what_decode_reads(tmp_path):
    lake = with_report(
        tmp_path,
        "decode_sweep('deepseek-v3', of_study := 'long', of_batches := [128], of_kv_lens := [16384], of_eps := [64])",
    )
    rows = named_rows(lake, "SELECT * FROM compat.byte_shares WHERE part = 'kv'")
    # 128 sequences of 16384 tokens and one more, 576 elements in each of 61 layers.
    assert {row["bytes"] for row in rows} == {128 * 16385 * 576 * 61}
    assert all(row["share"] > 0.3 and "KV cache" in row["advice"] for row in rows)
    lake.close()
