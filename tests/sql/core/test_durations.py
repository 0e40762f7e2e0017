"""Device operations whose duration is missing, or less than none, are reported."""

from ...kernel_traces import Trace
from ...lakes import in_one_lake

CHECKS = """
    SELECT "check", severity, value FROM trace_checks
    WHERE "check" IN ('no_duration', 'negative_duration') ORDER BY ALL
"""


@in_one_lake
def test_operations_without_a_duration_are_counted_and_in_events_alone(tmp_path):
    trace = Trace()
    trace.kernel("kernel_a", launched=10, start=20, dur=10)
    whole = trace.events[-1]
    trace.events.append(whole | {"name": "kernel_b", "ts": 40, "dur": None})
    trace.events.append({key: value for key, value in whole.items() if key != "dur"} | {"ts": 60})
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.sql(CHECKS).fetchall() == [("negative_duration", "ok", 0), ("no_duration", "warning", 2)]
    assert lake.sql("SELECT name FROM kernels").fetchall() == [("kernel_a",)]
    assert lake.sql("SELECT count(*) FROM events WHERE category = 'kernel'").fetchall() == [(3,)]


@in_one_lake
def test_operations_that_end_before_they_start_are_counted(tmp_path):
    trace = Trace()
    trace.kernel("kernel_a", launched=10, start=20, dur=10)
    trace.kernel("kernel_b", launched=50, start=60, dur=-3)
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.sql(CHECKS).fetchall() == [("negative_duration", "warning", 1), ("no_duration", "ok", 0)]
