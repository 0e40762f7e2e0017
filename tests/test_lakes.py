"""Tests that share a lake see their own traces alone."""

import pytest

from .lakes import Files, Own, in_one_lake
from .launching import Trace


@in_one_lake
def test_a_question_is_answered_for_the_tests_own_trace(tmp_path):
    lake = yield Trace().run(0, 10).run(20, 10).write(tmp_path / "two.json")
    assert lake.rows("SELECT trace, count(*) FROM kernels JOIN traces USING (trace_id) GROUP BY ALL") == [("two", 2)]
    assert lake.sql("FROM kernels").fetchall() != []


@pytest.mark.parametrize("kernels", [1, 3])
@in_one_lake
def test_several_traces_are_told_apart_by_the_names_of_their_files(tmp_path, kernels):
    traces = Trace(), Trace()
    for nth, trace in enumerate(traces):
        for place in range(kernels + nth):
            trace.run(20 * place, 10 + kernels)
    paths = [trace.write(tmp_path / name) for trace, name in zip(traces, ("few.json", "more.json"), strict=True)]
    lake = yield Files(*paths, run="nightly")
    query = """
        WITH counted AS (SELECT trace_id, count(*) AS kernels FROM kernels GROUP BY ALL)
        SELECT trace_id, run, kernels FROM counted JOIN traces USING (trace_id) ORDER BY kernels
    """
    assert lake.rows(query) == [(lake.ids["few"], "nightly", kernels), (lake.ids["more"], "nightly", kernels + 1)]


def test_another_trace_of_the_lake_is_out_of_sight(lake, tmp_path):
    lake.ingest(Trace().run(0, 10).write(tmp_path / "one.json"), Trace().run(0, 20).write(tmp_path / "other.json"))
    own = Own(lake, {"one": lake.resolve("one")})
    assert own.rows("SELECT trace FROM traces") == [("one",)]
    assert own.rows("SELECT dur_ns FROM kernels WHERE dur_ns > $1", [0]) == [(10_000,)]
    assert own.sql(
        "SELECT layer_kernels.dur_us FROM layer_kernels RIGHT JOIN kernels USING (trace_id, kernel_id)"
    ).shape == (1, 1)
    # What has no trace is whole.
    assert own.rows("SELECT count(*) FROM hardware") == lake.rows("SELECT count(*) FROM hardware")
