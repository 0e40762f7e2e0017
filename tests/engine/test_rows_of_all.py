"""A relation that is read of all traces has their rows also where a question is about one."""

import pytest

from tracelake.engine.sql import modules
from tracelake.lake import Lake

from ..kernel_traces import GEMM, Trace


def product(folder, name, *durations):
    """Write a trace of one matrix product, called again and again; return its path."""
    trace = Trace()
    for nth, dur in enumerate(durations):
        op = trace.op("aten::mm", 100 * nth, 50, [[1024, 1024], [1024, 1024]])
        trace.kernel(GEMM, 100 * nth + 10, 10_000 + 200 * nth, dur, op)
    return trace.write(folder / f"{name}.json")


@pytest.fixture
def filled(tmp_path):
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(product(tmp_path, "first", 10, 12))
        lake.ingest(product(tmp_path, "second", 8))
        yield lake


ASKED = "SELECT best_us, best_source FROM kernel_roofline WHERE trace_id = $1 ORDER BY start_ns"


def test_a_question_about_one_trace_has_the_same_reference(filled):
    first, second = filled.resolve("first"), filled.resolve("second")
    of_all = filled.rows(ASKED, [first])
    assert of_all == [(8, second), (8, second)]
    with Lake(filled.path) as alone:
        alone.store.focus(first)
        assert alone.rows(ASKED, [first]) == of_all
        # The other trace itself stays out.
        assert alone.rows("SELECT count(*) FROM kernel_roofline") == [(2,)]


def test_rows_that_were_computed_again_count_once_and_those_of_a_removed_trace_not_at_all(filled):
    first, second = filled.resolve("first"), filled.resolve("second")
    filled.compute("second")
    with Lake(filled.path) as alone:
        alone.store.focus(first)
        assert alone.rows("SELECT best_us FROM best_times WHERE trace_id = $1", [second]) == [(8,)]
    filled.remove("second")
    with Lake(filled.path) as alone:
        alone.store.focus(first)
        assert alone.rows(ASKED, [first]) == [(None, None), (None, None)]


def test_nothing_that_is_stored_rests_on_what_is_read_of_all_traces():
    of_all = {entry.name for entry in modules.modules() if entry.of_all}
    assert of_all
    assert {name: found for name in modules.stored() if (found := (modules.sources(name) - {name}) & of_all)} == {}
