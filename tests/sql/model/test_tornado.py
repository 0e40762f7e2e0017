"""One knob at a time around a scenario, against the reference report's own sweep over the batch."""

import pytest

from tracelake.lake import Lake

from ..compat.seed_cases import golden, named_rows, near, with_studies


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Studies around decode and prefill of the anchor with EP 64."""
    opened = with_studies(
        tmp_path_factory.mktemp("tornado"),
        "anchor_phases('deepseek-v3', of_study := 'EP64', of_ep := 64)",
        "one_at_a_time('EP64/decode/efficient', of_study := 'decode')",
        "one_at_a_time('EP64/prefill/naive')",
    )
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def tornado(lake):
    """The rows of tornado, by study and knob."""
    return {(row["study"], row["knob"]): row for row in named_rows(lake, "SELECT * FROM tornado")}


def test_the_batch_turned_alone_has_the_times_of_the_sweep(tornado):
    times = {case["B"]: case["T_est_eff_ms"] for case in golden("decode") if case["ep"] == "64"}
    row = tornado["decode", "batch"]
    assert (row["low_value"], row["anchor_value"], row["high_value"]) == (4, 8, 16)
    assert [row["low_ms"], row["anchor_ms"], row["high_ms"]] == [near(times[batch]) for batch in ("4", "8", "16")]
    assert row["swing"] == pytest.approx(float(times["16"]) / float(times["4"]) - 1, rel=1e-7)
    assert row["anchor_bound"] == row["high_bound"] == "memory"


def test_every_knob_that_the_scenario_has_is_turned(tornado):
    knobs = {knob for study, knob in tornado if study == "decode"}
    assert knobs == {
        "batch", "kv_len", "ep", "top_k", "hidden_scale", "kv_rank_scale", "weight_dtype_bytes",
        "activation_dtype_bytes", "kv_dtype_bytes",
    }  # fmt: skip
    # A prompt has a length and no cache before it.
    knobs = {knob for study, knob in tornado if study == "EP64/prefill/naive/tornado"}
    assert "seq_len" in knobs
    assert "kv_len" not in knobs


def test_a_longer_prompt_takes_a_little_more_than_its_length(tornado):
    # Prefill is bound by compute there: F = B * S * (a + b * S), by 2.1; at these lengths every product saturates.
    row = tornado["EP64/prefill/naive/tornado", "seq_len"]
    assert (row["low_value"], row["high_value"]) == (128, 510)
    assert row["elasticity"] == pytest.approx(1, abs=0.02)
    assert row["high_bound"] == "compute"


def test_ranks_follow_the_swings(tornado):
    for study in ("decode", "EP64/prefill/naive/tornado"):
        rows = sorted((row for (of, _), row in tornado.items() if of == study), key=lambda row: row["swing_rank"])
        swings = [row["swing"] for row in rows]
        assert swings == sorted(swings, reverse=True)
        assert rows[0]["swing_rank"] == 1


def test_a_point_that_differs_in_two_knobs_is_left_out(lake, tornado):
    lake.rows(
        "INSERT INTO scenarios BY NAME SELECT * REPLACE ('decode/both' AS scenario, 4096 AS batch, 99999 AS kv_len)"
        " FROM scenarios WHERE scenario = 'decode/anchor'"
    )
    after = {(row["study"], row["knob"]): row for row in named_rows(lake, "SELECT * FROM tornado")}
    for key, row in tornado.items():
        assert (after[key]["low_value"], after[key]["high_value"]) == (row["low_value"], row["high_value"])


def test_the_anchor_is_the_scenario_in_every_column_and_so_are_its_neighbours_but_for_a_knob(tmp_path):
    """A column that scenarios gain must not fall back to its default around them."""
    said = {
        "scenario": "around", "model": "deepseek-v3", "phase": "training", "batch": 2, "seq_len": 4096, "tp": 2,
        "ep": 8, "dp": 4, "pp": 4, "cp": 2, "head_tp": 1, "microbatches": 8, "virtual_stages": 2, "zero_stage": 1,
        "recompute": True, "logit_rows": 10, "hardware": "h200", "execution": "tiled", "weight_dtype": "bf16",
        "activation_dtype": "bf16", "kv_dtype": "bf16", "gemm_dtype": "fp8", "head_dtype": "fp32",
        "mla_mode": "expanded", "mtp_layers": 1, "top_k": 4, "hidden_scale": 1.5, "kv_rank_scale": 2.0,
        "expert_imbalance": 1.25, "kv_len": 16,
    }  # fmt: skip
    with Lake(tmp_path / "lake") as lake:
        lake.add_scenarios([said])
        lake.prepare("one_at_a_time")
        lake.rows("INSERT INTO scenarios BY NAME SELECT * FROM one_at_a_time('around', of_study := 'turned')")
        rows = named_rows(lake, "SELECT * FROM scenarios WHERE scenario = 'around' OR study = 'turned'")
    by_name = {row.pop("scenario"): {key: value for key, value in row.items() if key != "study"} for row in rows}
    whole = by_name.pop("around")
    assert {key for key, value in whole.items() if said.get(key) == value} == whole.keys() - {"formulas"}
    assert by_name.pop("turned/anchor") == whole
    for name, row in by_name.items():
        changed = {key for key in whole if row[key] != whole[key]}
        assert changed <= {name.removeprefix("turned/").split()[0], "dp"}, name
