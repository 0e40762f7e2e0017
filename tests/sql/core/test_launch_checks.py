"""What the checks say of kernels whose launch is not in the trace, or is shared."""

from ...kernel_traces import Trace
from ...lakes import in_one_lake


def message(lake, check):
    [(said,)] = lake.rows(f"SELECT message FROM health WHERE \"check\" = '{check}' AND severity <> 'ok'")
    return said


@in_one_lake
def test_operators_are_known_without_launches_where_kernels_name_them(tmp_path):
    trace = Trace()
    trace.op("aten::mm", 0, 50)
    trace.kernel("gemm", launched=10, start=20, dur=10)
    trace.events = [event for event in trace.events if event.get("cat") != "cuda_runtime"]
    for event in trace.events:
        if event.get("cat") in ("cpu_op", "kernel"):
            event["args"] = event["args"] | {"External id": 77}
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.rows("SELECT launch_id, op_name FROM kernels") == [(None, "aten::mm")]
    assert message(lake, "without_launch").endswith("only those that name their operator are linked to the host")


@in_one_lake
def test_a_kernel_that_stands_twice_is_not_called_a_graph_alone(tmp_path):
    trace = Trace()
    trace.op("aten::mm", 0, 50)
    trace.kernel("gemm", launched=10, start=20, dur=10)
    trace.events.append(dict(trace.events[-1]))
    lake = yield trace.write(tmp_path / "trace.json")
    assert "rows that the file has twice" in message(lake, "graph_launch")
