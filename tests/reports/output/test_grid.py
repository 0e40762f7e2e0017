"""Which columns of a table are shown in a width."""

from tracelake.reports.output.grid import fields_of, fitted
from tracelake.reports.output.screen import Look, Screen


def test_a_narrow_column_that_went_first_comes_back_where_a_wide_one_leaves_room():
    screen = Screen(width=30, looks={"name": Look(1), "calls": Look(5), "shape": Look(4)})
    rows = [("a", "12", "x" * 40), ("b", "345", "y" * 40)]
    fit = fitted(fields_of(("name", "calls", "shape"), (False, True, False), rows, screen), 2, 30)
    assert fit.shown is not None
    assert [field.name for field in fit.shown] == ["name", "calls"]
    assert fit.left_out == ["shape"]


def test_a_column_of_names_that_says_what_another_does_is_named_below():
    rows = [("gemm", "gemm", "1", "1"), ("norm", "norm", "2", "2")]
    fit = fitted(fields_of(("name", "marker", "sum", "busy"), (False, False, True, True), rows, Screen(80)), 2, 80)
    assert [field.name for field in fit.fields] == ["name", "sum", "busy"]
    assert fit.notes == ["As name: marker."]
