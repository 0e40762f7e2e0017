"""Several runs beside one: how runs differ is part of the noise. Times in microseconds, worked by hand."""

import tracelake

from ...kernel_traces import GEMM, Trace


def steady(dur):
    """Return six equal steps of one product."""
    trace = Trace()
    for nth in range(6):
        trace.kernel(GEMM, 1000 * nth + 2, 1000 * nth + 100, dur)
        trace.note(f"ProfilerStep#{nth}", 1000 * nth, 900)
    return trace


def test_one_run_beside_several_differs_by_as_much_as_they_do_among_themselves(tmp_path):
    # Three runs whose steps do not vary, with a standard deviation of 1 µs between them.
    traces = {"night-1": 199, "night-2": 200, "night-3": 201, "usual": 204, "late": 206}
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(*(steady(dur).write(tmp_path / f"{name}.json") for name, dur in traces.items()))
        for name in traces:
            lake.set(name, run=name)
        columns = "side, change_ns, detectable_ns, verdict"
        after = lake.compare_sides("run=night-*", "usual", "late").terms.filter("level = 'step'")
        found = {side: row for side, *row in after.select(columns).fetchall()}
        before = lake.compare_sides("usual", "run=night-*").terms.filter("level = 'step'")
        [backward] = before.select(columns).fetchall()
    # Student's quantile for 2 degrees of freedom is 4.3027: 4.3027 * sqrt(1 + 1/3) * 1 µs = 4.968 µs. By the mean of
    # the three alone it is 2.484 µs, and a run that is 4 µs from them would be called slower.
    assert found == {"usual": [4000, 4968, "same within 4.5 %"], "late": [6000, 4968, "slower"]}
    assert backward[1:3] == (-4000, 4968)
