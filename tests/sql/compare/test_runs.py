"""Sides of several runs, whose differences are part of the noise, and of several devices. Times are worked by hand."""

import random
import statistics

import tracelake

from ... import launching
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


def on_two_devices(first, second):
    """Return six steps that run one product on each of two devices."""
    trace = launching.Trace()
    for nth in range(6):
        trace.mark(f"ProfilerStep#{nth}", 1000 * nth, 900)
        for device, dur in enumerate((first, second)):
            trace.run(1000 * nth + 100, dur, 1000 * nth + 10 * device + 1, device=device)
    return trace


def test_a_device_that_alone_gets_slower_is_named_beside_the_mean(tmp_path):
    traces = {"even": (100, 100), "one": (100, 120), "both": (120, 120)}
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(*(on_two_devices(*durs).write(tmp_path / f"{name}.json") for name, durs in traces.items()))
        columns = "side, before_ns, after_ns, slowest_before_ns, slowest_after_ns, change_pct, doubts"
        found = lake.compare_sides("even", "one", "both").sides.select(columns).order("side").fetchall()
    # Steps wait for the slower device: 120 us, where the mean of both is 110.
    doubt = "a step on its slowest device changes by +20.0 %, from 0.100 to 0.120 ms"
    assert found == [
        ("both", 100_000, 120_000, 100_000, 120_000, 20, None),
        ("one", 100_000, 110_000, 100_000, 120_000, 10, doubt),
    ]


def test_noise_of_work_that_one_side_lacks_has_all_the_degrees_of_freedom_of_the_other(tmp_path):
    # Forty kernels that only one side has, each in eight steps: by Welch, 7 degrees of freedom.
    chance = random.Random(0)
    added = {f"added_{a}{b}": [chance.randrange(3000, 5000) for _ in range(8)] for a in "abcdefgh" for b in "vwxyz"}
    traces = {"without": Trace(), "with": Trace()}
    for name, trace in traces.items():
        for nth in range(8):
            trace.kernel(GEMM, 1000 * nth + 2, 1000 * nth + 100, 100)
            trace.note(f"ProfilerStep#{nth}", 1000 * nth, 900)
            for place, (kernel, durs) in enumerate(added.items() if name == "with" else ()):
                trace.kernel(kernel, 1000 * nth + 10 + place, 1000 * nth + 210 + 10 * place, durs[nth] / 1000)
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(*(trace.write(tmp_path / f"{name}.json") for name, trace in traces.items()))
        rows = lake.compare_sides("without", "with").terms.filter("level = 'operator' AND name LIKE 'added%'")
        found = dict(rows.select("name, detectable_ns").fetchall())
        query = "SELECT quantile FROM student_quantiles WHERE freedom = 7 AND terms >= 42 ORDER BY terms LIMIT 1"
        [(quantile,)] = lake.rows(query)
    # Of n values, the mean has the standard deviation of one divided by the root of n.
    assert found == {kernel: round(quantile * statistics.stdev(durs) / 8**0.5) for kernel, durs in added.items()}
