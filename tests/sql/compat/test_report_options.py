"""What a scenario of the reference report's formulas may leave open, or ask for beyond the report."""

import pytest

from ..studies import named_rows
from .report_cases import with_report


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake without scenarios."""
    opened = with_report(tmp_path_factory.mktemp("options"))
    yield opened
    opened.close()


@pytest.fixture
def asked(lake):
    """Return what inserts one decode scenario and returns its row, or its modules."""

    def asked(relation="phase_roofline", **settings):
        said = {
            "scenario": "asked", "formulas": "compat", "model": "deepseek-v3", "phase": "decode", "batch": 8,
            "kv_len": 255, "hardware": "h200", "execution": "efficient", **settings,
        }  # fmt: skip
        lake.rows("DELETE FROM scenarios")
        marks = ", ".join(f"${number}" for number in range(1, len(said) + 1))
        lake.rows(f"INSERT INTO scenarios ({', '.join(said)}) VALUES ({marks})", list(said.values()))
        rows = named_rows(lake, f"SELECT * FROM compat.{relation}")
        return rows[0] if relation == "phase_roofline" else {row["module"]: row for row in rows}

    return asked


def test_types_left_open_have_one_byte_and_no_type_has_less(asked):
    one_byte = asked(weight_dtype="fp8", activation_dtype="fp8", kv_dtype="fp8")
    for settings in ({}, {"weight_dtype": "fp4", "kv_dtype": "int4"}):
        row = asked(**settings)
        assert {name: row[name] for name in row if name != "scenario"} == {
            name: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            for name, value in one_byte.items()
            if name != "scenario"
        }


def test_the_cache_has_the_type_of_the_activations(asked):
    one, two = asked(), asked(activation_dtype="bf16")
    assert two["kv_bytes"] == 2 * one["kv_bytes"]
    assert two["activation_bytes"] == pytest.approx(2 * one["activation_bytes"], rel=1e-12)
    assert two["weight_bytes"] == pytest.approx(one["weight_bytes"], rel=1e-12)


def test_without_the_model_of_matrix_units_every_flop_runs_at_full_speed(asked):
    # The profile physical has it off, and reads every weight once: those of the naive mode.
    row = asked(execution="physical")
    assert row["realizable_flop"] == pytest.approx(row["flop"], rel=1e-12)
    assert row["effective_tflops"] == pytest.approx(1979, rel=1e-12)
    assert row["weight_bytes"] == pytest.approx(asked(execution="naive")["weight_bytes"], rel=1e-12)


def test_a_chip_that_the_report_does_not_know_has_the_figures_of_the_table_hardware(asked):
    # H100 SXM: 1979 TFLOP/s in FP8, 3350 GB/s; A100: no FP8, so 312 TFLOP/s in BF16, 2039 GB/s.
    for hardware, peak, bandwidth in (("h100_sxm", 1979, 3350), ("a100_sxm_80gb", 312, 2039)):
        row = asked(hardware=hardware)
        assert row["compute_ms"] == pytest.approx(row["realizable_flop"] / peak / 1e9, rel=1e-12)
        assert row["hbm_ms"] == pytest.approx(row["hbm_bytes"] / bandwidth / 1e6, rel=1e-12)


def test_without_a_chip_there_are_bytes_and_no_times(asked):
    row = asked(hardware=None)
    assert row["hbm_bytes"] > 0
    assert (row["compute_ms"], row["time_ms"], row["bound"]) == (None, None, None)
    assert not row["mfu"]
    assert not row["tokens_per_s"]


def test_more_experts_per_token_than_there_are_count_as_all(asked):
    assert asked(top_k=999)["flop"] == asked(top_k=256)["flop"]
    assert asked(top_k=0)["flop"] == asked(top_k=1)["flop"]


def test_scales_have_a_floor(asked):
    assert asked(hidden_scale=0.0)["flop"] == asked(hidden_scale=0.1)["flop"]
    assert asked(kv_rank_scale=-1.0)["kv_bytes"] == asked(kv_rank_scale=0.1)["kv_bytes"]


def test_scaling_the_rank_of_the_cache_scales_attention_as_the_report_does(asked):
    # W12: attention's weights grow by half with 1.5, and do not shrink with 0.5; the cache has 864 and 288 elements.
    plain, wide, narrow = (asked("module_roofline", kv_rank_scale=scale)["blocks.*.attn"] for scale in (1.0, 1.5, 0.5))
    assert wide["weight_bytes"] == 1.5 * plain["weight_bytes"]
    assert narrow["weight_bytes"] == plain["weight_bytes"]
    assert [row["kv_bytes"] / plain["kv_bytes"] for row in (wide, narrow)] == [864 / 576, 288 / 576]


def test_tensor_parallelism_changes_nothing_but_memory(asked):
    alone, split = asked(), asked(tp=8)
    same = {name: pytest.approx(value, rel=1e-12) for name, value in split.items() if isinstance(value, float)}
    changed = {name for name in alone if alone[name] != same.get(name, split[name])}
    assert changed == {"tp", "chips", "chip_tokens_per_s"}


def test_a_calibrated_profile_lengthens_the_times_and_nothing_else(lake, asked):
    lake.rows(
        "INSERT INTO execution_profiles BY NAME SELECT * REPLACE ('measured' AS execution, 0.5 AS flop_fraction,"
        " 0.8 AS hbm_fraction) FROM execution_profiles WHERE execution = 'efficient'"
    )
    ideal, measured = asked(ep=64), asked(ep=64, execution="measured")
    assert measured["compute_ms"] == pytest.approx(2 * ideal["compute_ms"], rel=1e-12)
    assert measured["hbm_ms"] == pytest.approx(ideal["hbm_ms"] / 0.8, rel=1e-12)
    assert measured["net_ms"] == pytest.approx(ideal["net_ms"], rel=1e-12)
    assert measured["mfu"] == pytest.approx(measured["flop"] / 1979e9 / measured["time_ms"], rel=1e-12)


def test_the_reports_example_of_a_price(lake, asked):
    """8 sequences in 2.12463 ms, 2 dollars an hour: 0.14755 dollars for a million tokens."""
    lake.rows("INSERT INTO prices BY NAME SELECT 'a' AS offer, 'h200' AS hardware, 'x' AS provider, 2 AS usd_per_hour")
    asked(ep=64, weight_dtype="fp8", activation_dtype="fp8", kv_dtype="fp8")
    [(usd,)] = lake.rows("SELECT usd_per_million_tokens FROM compat.phase_cost WHERE offer = 'a'")
    assert usd == pytest.approx(2 / 3600 * 2.12463e-3 / 8 * 1e6, rel=1e-5) == pytest.approx(0.14755, abs=1e-5)


def test_the_former_name_of_the_formulas_is_accepted(asked):
    assert asked(formulas="seed") == asked()
