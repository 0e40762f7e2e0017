"""A scenario of an unknown phase, or of half a sequence, is refused; one of impossible numbers has a fault."""

import pytest

from tracelake.engine.errors import UsageError
from tracelake.lake import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("asked") / "lake") as opened:
        yield opened


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("phase", "train", "phase=train: unknown. Known: decode, prefill, training"),
        ("phase", "Training", "phase=Training: unknown"),
        ("execution", "fast", "execution=fast: unknown. Known: .*physical"),
        ("mla_mode", "folded", "mla_mode=folded: unknown. Known: absorbed, auto, expanded"),
        ("batch", 2.5, "batch=2.5: expected a whole number"),
        ("kv_len", "1k", "kv_len=1k: expected a whole number"),
        ("colour", "red", "colour: no column of scenarios"),
    ],
)
def test_an_unknown_name_or_a_broken_number_is_refused_wherever_it_is_given(lake, column, value, message):
    with pytest.raises(UsageError, match=message):
        lake.ask("qwen3-8b", **{column: value})
    with pytest.raises(UsageError, match=message):
        lake.add_scenarios([{"scenario": "asked", "model": "qwen3-8b", "phase": "decode", column: value}])
    if column != "colour":
        with pytest.raises(UsageError, match=message):
            lake.model_sweep("qwen3-8b", hardware="h100", **{column: [value]})
    if column == "phase":
        with pytest.raises(UsageError, match=message):
            lake.mfu("qwen3-8b", phase=value)


@pytest.mark.parametrize(
    ("column", "value", "message", "fault"),
    [
        ("kv_len", -5, "kv_len=-5: expected 0 or more", "fewer than no cached tokens"),
        ("tp", 0, "tp=0: expected 1 or more", "a degree below 1"),
    ],
)
def test_a_number_that_no_work_has_is_refused_in_a_question_and_a_fault_in_a_row(lake, column, value, message, fault):
    for asked in (lake.ask, lake.mfu):
        with pytest.raises(UsageError, match=message):
            asked("qwen3-8b", **{column: value})
    lake.add_scenarios([{"scenario": "added", "model": "qwen3-8b", "phase": "decode", column: value}])
    assert fault in lake.faults("added")


def test_numbers_may_be_text_as_a_table_of_csv_has_them(lake):
    lake.add_scenarios([{"scenario": "read", "model": "qwen3-8b", "phase": "decode", "batch": "8"}])
    assert lake.rows("SELECT batch FROM scenarios WHERE scenario = 'read'") == [(8,)]


def test_a_row_of_an_unknown_phase_has_a_fault(lake):
    # Rows of a lake's own file, or inserted by SQL, are not checked before they are added.
    lake.rows("INSERT INTO scenarios (scenario, model, phase) VALUES ('typed in', 'qwen3-8b', 'train')")
    assert "no such phase" in lake.faults("typed in")


def test_a_scenario_that_was_not_added_has_no_costs_no_faults_and_no_times(lake):
    lake.ask("qwen3-8b", name="asked")
    for asked in (lake.faults, lake.operators, lake.model_roofline, lambda name: lake.add_times(name, measured_ms=1)):
        with pytest.raises(UsageError, match=r"^asks: unknown scenario\. Near: asked\. "):
            asked("asks")
