"""Device operations whose times cannot be right are reported."""

import pytest

from ...kernel_traces import Trace
from ...lakes import Files, in_one_lake

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
    # That is the trace's fault: no law of the lake is violated, though only one of two kernels is work.
    assert lake.rows("SELECT count(*) FROM kernels") == [(2,)]
    assert lake.rows("SELECT count(*) FROM kernel_roofline") == [(1,)]
    assert lake.rows("FROM _work_is_given_once") == []


@in_one_lake
def test_a_time_of_zero_among_times_since_1970_is_reported(tmp_path):
    begin = 1_764_000_000_000_000
    trace = Trace()
    trace.kernel("kernel_a", launched=begin, start=begin + 10, dur=10)
    trace.kernel("kernel_b", launched=begin + 20, start=begin + 30, dur=10)
    quiet = trace.write(tmp_path / "quiet.json")
    trace.events.append(trace.events[-1] | {"ts": 0})
    lake = yield Files(quiet, trace.write(tmp_path / "trace.json"))
    found = lake.rows("SELECT severity, value FROM health WHERE \"check\" = 'long_span' ORDER BY value")
    assert found == [("ok", pytest.approx(30e-6 / 3600)), ("warning", pytest.approx(490_000))]
