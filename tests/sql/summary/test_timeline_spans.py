"""Time lines: what is drawn of a trace is the pass that its layers are listed of."""

from ..layers.test_training import Step


def test_the_time_line_of_training_shows_the_pass_that_its_layers_are_listed_of(lake, tmp_path):
    lake.ingest(Step().write(tmp_path / "step.json"))
    # Of three layers with 2 operations forward and 3 backward, the backward takes more time, and both are chosen.
    chosen = lake.rows("SELECT direction, busy_us FROM passes WHERE chosen ORDER BY pass_id")
    assert [direction for direction, _ in chosen] == ["forward", "backward"]
    assert chosen[0][1] < chosen[1][1]
    assert lake.chosen_pass("step") == 0
    assert lake.rows("SELECT DISTINCT what FROM timeline_spans") == [("pass 0 forward",)]
