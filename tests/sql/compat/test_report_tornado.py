"""One knob at a time around a scenario, against the reference report's own sweep over the batch."""

import pytest

from ..studies import named_rows, near
from .report_cases import golden, with_report


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Studies around decode and prefill of the anchor with EP 64."""
    opened = with_report(
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
    return {(row["study"], row["knob"]): row for row in named_rows(lake, "SELECT * FROM compat.tornado")}


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
    after = {(row["study"], row["knob"]): row for row in named_rows(lake, "SELECT * FROM compat.tornado")}
    for key, row in tornado.items():
        assert (after[key]["low_value"], after[key]["high_value"]) == (row["low_value"], row["high_value"])
