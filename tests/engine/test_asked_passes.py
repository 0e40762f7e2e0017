"""A pass that is asked for is one that the trace has, however its number is written; anything else is refused."""

import numpy
import pytest

from tracelake.engine.errors import UsageError


def test_a_number_of_numpy_is_the_pass_of_that_number(s1_lake):
    # As a data frame of the passes has them. Pass 3: six layers of 11400 + 11400 + 2 x (12240 + 11510) us.
    third = s1_lake.passes("s1").fetchnumpy()["pass_id"][3]
    assert isinstance(third, numpy.int64)
    asked = s1_lake.layers("s1", third).aggregate("count(*), min(pass_id), max(pass_id), sum(wall_us)")
    assert asked.fetchall() == [(6, 3, 3, 70300)]
    # A layer of ratio 4 runs 25 kernels, 12000 us; the types of the six layers are three.
    assert s1_lake.kernels("s1", third, 2).aggregate("count(*), sum(dur_us)").fetchall() == [(25, 12000)]
    assert len(s1_lake.layer_types("s1", third)) == 3
    assert s1_lake.roofline_of("s1", third).fetchall() == s1_lake.roofline_of("s1", 3).fetchall() != []
    assert s1_lake.trace_mfu("s1", third) == s1_lake.trace_mfu("s1", 3)
    assert s1_lake.report("s1", pass_id=third) == s1_lake.report("s1", pass_id=3)


def _questions(lake):
    return (
        lake.layers, lake.kernels, lake.layer_types, lake.perfetto, lake.roofline_of, lake.template_vs_trace,
        lake.trace_mfu, lambda trace, pass_id: lake.layer_diff(trace, 3, 2, pass_id, 2),
        lambda trace, pass_id: lake.report(trace, pass_id=pass_id),
    )  # fmt: skip


def test_what_is_no_whole_number_is_no_pass(s1_lake):
    for asked in _questions(s1_lake):
        for word in ("3", "last", 3.0):
            with pytest.raises(UsageError, match=f"pass_id={word}: expected a whole number or all"):
                asked("s1", word)


def test_a_pass_or_layer_that_does_not_exist_is_refused_with_those_that_do(s1_lake):
    for asked in _questions(s1_lake):
        with pytest.raises(UsageError, match=r"^s1: has no pass 99; it has passes 0 to 4\.$"):
            asked("s1", 99)
    for asked in (
        lambda: s1_lake.layer_diff("s1", 3, 2, 3, 99),
        lambda: s1_lake.kernels("s1", 3, 99),
        lambda: s1_lake.perfetto("s1", 3, [2, 99]),
    ):
        with pytest.raises(UsageError, match="layer 99: the pass has layers 0 to 5"):
            asked()


def test_a_report_is_of_one_pass(s1_lake):
    with pytest.raises(UsageError, match=r"^pass_id=all: this needs one pass\.$"):
        s1_lake.report("s1", pass_id="all")


def test_layers_and_places_of_a_file_are_numbers_of_python_or_numpy(s1_lake, tmp_path):
    for name in ("part.pftrace", "part.json"):
        two = s1_lake.write_perfetto("s1", tmp_path / name, numpy.int64(1), layers=[numpy.int64(2)])
        assert two == s1_lake.write_perfetto("s1", tmp_path / name, 1, layers=[2])
        with pytest.raises(UsageError, match="layer='2': expected a whole number"):
            s1_lake.write_perfetto("s1", tmp_path / name, 1, layers=["2"])
    seen = s1_lake.write_perfetto("s1", tmp_path / "at.pftrace", at={"layer": numpy.int64(2)})
    assert seen == s1_lake.write_perfetto("s1", tmp_path / "at.pftrace", at={"layer": 2})


def test_the_chosen_pass_of_a_name_is_that_of_its_id(s1_lake):
    assert s1_lake.chosen_pass("s1") == s1_lake.chosen_pass(s1_lake.resolve("s1")) == 3
