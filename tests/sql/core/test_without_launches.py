"""Captures without the calls that launch, as a profiler writes them that was asked for operators and kernels alone."""

from ...lakes import in_one_lake
from ...launching import Trace


def captured(path, number, replayed=0):
    """Write two steps: their operators run one gemm each, 500 µs later; `number` gives the id that both share.

    Beside each gemm, `replayed` kernels of a graph name no operator.
    """
    trace = Trace()
    for nth in (0, 1):
        begin, correlation = 1000 * nth, 70 + nth
        trace.mark(f"ProfilerStep#{nth}", begin, 900)
        trace.add("cpu_op", "aten::mm", begin + 100, 50, 1, 1, **{"External id": number(correlation)})
        ids = {"External id": number(correlation), "correlation": correlation, "device": 0, "stream": 7}
        trace.add("kernel", "gemm", begin + 600, 500, 0, 7, **ids)
        for kernel in range(replayed):
            trace.add("kernel", "replayed", begin + 200 + 10 * kernel, 5, 0, 7, device=0, stream=7)
    return trace.write(path)


@in_one_lake
def test_an_operator_shows_where_its_kernels_were_issued(tmp_path):
    """Kernels start 500 µs after their operators, when the steps of the host are about to end."""
    lake = yield captured(tmp_path / "operators.json", lambda correlation: 10 * correlation)
    issued = "SELECT launch_id, issued_by = op_id, issued_ns - start_ns, issued_tid, op_name FROM kernels"
    assert lake.rows(issued) == [(None, True, -500_000, "1", "aten::mm")] * 2
    steps = "SELECT step_number, work_source, ops, first_op_ns - host_start_ns FROM steps ORDER BY 1"
    assert lake.rows(steps) == [(nth, "launches", 1, 600_000) for nth in (0, 1)]
    # What the device waits for the host to launch is not known all the same.
    assert lake.rows("SELECT host_bound_idle_us FROM time_breakdown") == [(None,)]


@in_one_lake
def test_an_id_that_is_the_correlation_is_no_operators(tmp_path):
    """Older profilers repeat a kernel's correlation as its `External id`; an operator may have that number too."""
    lake = yield captured(tmp_path / "correlations.json", lambda correlation: correlation)
    assert lake.rows("SELECT op_id, op_name, issued_by FROM kernels") == [(None, None, None)] * 2


@in_one_lake
def test_operators_of_a_few_kernels_do_not_place_the_work_of_steps(tmp_path):
    """Three of four kernels are a graph's: steps have what runs meanwhile, as where no operator is named."""
    lake = yield captured(tmp_path / "graph.json", lambda correlation: 10 * correlation, replayed=3)
    steps = "SELECT step_number, work_source, ops FROM steps ORDER BY 1"
    assert lake.rows(steps) == [(0, "host time", 4), (1, "host time", 4)]
