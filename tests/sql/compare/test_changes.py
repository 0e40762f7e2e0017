"""Two traces beside each other: gates, families, whether they can be compared; and a published report's figures.

Times in microseconds. Figures of the published report are those of the specification's case J.
"""

import json
import math
import statistics

import pytest

import tracelake
from tracelake.engine.errors import UsageError

from ... import summary_cases as cases
from ...lakes import Files, in_one_lake


def steady(steps, fusion, all_reduce, program="train", again=""):
    """Return a trace of steps; in each a fusion, a collective, and nothing for the rest; `again` is another product."""
    marks, modules, operations, at = [], [], [], 0
    said = json.dumps({"hlo_category": "convolution fusion", "model_flops": "4000000"})
    for nth, dur in enumerate(steps):
        marks.append(f"{nth} {at}+{dur}")
        modules.append(f"{program}(1) {at}+{dur}")
        operations.append(f"fusion.1 {at}+{fusion} {said}; all-reduce.1 {at + fusion}+{all_reduce}")
        if again:
            operations.append(f"fusion.2 {at + fusion + all_reduce}+10 {again}")
        at += dur
    lines = {"Steps": "; ".join(marks), "XLA Modules": "; ".join(modules), "XLA Ops": "; ".join(operations)}
    return [(1, "/device:TPU:0", lines)]


#: Ten steps; five of them warm up.
BEFORE = [100] * 10
CASES = {
    "before": steady(BEFORE, 60, 20),
    "same": steady([102] * 10, 61, 21),
    "slower": steady([110] * 10, 70, 20),
    "tail": steady([*[100] * 8, 130, 130], 60, 20),
    "exposed": steady(BEFORE, 60, 27),
    "noisy": steady([96, 110, 104, 112, 100, 116, 96, 112, 104, 110], 60, 20),
    "short": steady([100] * 4, 60, 20),
    "short, slower": steady([110] * 4, 60, 20),
    "program": steady([*BEFORE, 100], 60, 20, "other"),
    "two products": steady(BEFORE, 60, 20, again='{"hlo_category": "convolution fusion", "model_flops": "2000000"}'),
    "one unknown": steady(BEFORE, 60, 20, again='{"hlo_category": "convolution fusion"}'),
    "G": cases.CASE_G,
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changes")
    lake = tracelake.open(folder / "lake")
    written = (CASES | cases.CASES_I).items()
    lake.ingest(*(cases.write_case(folder / f"{name}.json", processes) for name, processes in written))
    return lake


def gated(lake, before, after):
    query = "SELECT metric, round(change, 6), round(noise, 6), verdict FROM gated_changes($1, $2)"
    rows = lake.rows(query, [lake.locate(before), lake.locate(after)])
    return {metric: (change, noise, verdict) for metric, change, noise, verdict in rows}


@pytest.mark.parametrize(
    ("after", "status", "expected"),
    [
        # 20 of 100 against 21 of 102; idle 20 of 100 and of 102.
        ("same", "pass", {"step_median": (2, 0, "pass"), "communication_share": (0.588235, 0, "pass"),
                          "idle_share": (-0.392157, 0, "pass")}),
        ("slower", "fail", {"step_median": (10, 0, "fail"), "step_p90": (10, 0, "pass")}),
        # Of five steps two are of 130: their own noise hides no tail.
        ("tail", "fail", {"step_median": (0, 38.208036, "pass"), "step_p90": (30, 0, "fail")}),
        # 27 of 100: seven points more; the all-reduce itself takes 35 % longer.
        ("exposed", "fail", {"family": (35, 0, "fail"), "operation": (35, 0, "fail"),
                             "communication_share": (7, 0, "warn"), "idle_share": (-7, 0, "pass")}),
        ("before", "pass", {"step_median": (0, 0, "pass")}),
    ],
)  # fmt: skip
def test_a_change_is_gated_by_threshold_and_noise(lake, after, status, expected):
    found = gated(lake, "before", after)
    assert {metric: found[metric] for metric in expected} == expected
    assert lake.compare("before", after).status == status


def test_a_change_within_the_noise_does_not_fail(lake):
    # Steady steps: 116, 96, 112, 104, 110. Half of them are no more than 6 from the median; of five, their standard
    # deviation of 7.7974 decides, too: by Student, with 8 degrees of freedom and eight measures at once.
    found = gated(lake, "before", "noisy")
    assert 3 * 6 < 3.67657 * 7.79744 * math.sqrt(2 / 5) == pytest.approx(18.13112, abs=2e-5)
    assert found["step_median"] == (10, 18.13112, "noise")
    assert lake.compare("before", "noisy").status == "pass"


@in_one_lake
def test_three_steps_that_happen_to_agree_are_no_proof(tmp_path):
    # Both sides differ by chance alone, by some 3 %; two of three steps are next to each other, as one time in three.
    sides = {"first": [1044, 1102, 1046], "second": [1161, 1060, 1155], "third": [1044, 1045, 1046]}
    files = [
        cases.write_case(tmp_path / f"{name}.json", steady([900] * 3 + steps, 600, 200))
        for name, steps in sides.items()
    ]
    lake = yield Files(*files)
    ids = dict(lake.rows("SELECT trace, trace_id FROM traces"))

    def verdict(relation, metric, *names):
        query = f"SELECT verdict FROM {relation}($1, $2) WHERE metric = '{metric}'"
        return lake.rows(query, [ids[name] for name in names])

    assert verdict("gated_changes", "step_median", "first", "second") == [("noise",)]
    assert verdict("trace_changes", "step, median", "first", "second") == [("noise",)]
    # Steps of which all three agree are another matter.
    assert verdict("trace_changes", "step, median", "third", "third") == [("same",)]


@in_one_lake
def test_which_kind_of_alternating_steps_is_one_more_is_noise_to_a_median(tmp_path):
    # Every second step is longer. The first is not steady: of the others seven are long and six short, or vice versa.
    kinds = [101, 120, 99, 121, 100, 119, 101, 120, 100, 121, 99, 120, 100, 119]
    short = cases.write_case(tmp_path / "short first.json", steady(kinds, 60, 20))
    long = cases.write_case(tmp_path / "long first.json", steady([*kinds[1:], 101], 60, 20))
    slower = cases.write_case(tmp_path / "all slower.json", steady([1.5 * one for one in kinds], 60, 20))
    lake = yield Files(short, long, slower)
    ids = dict(lake.rows("SELECT trace, trace_id FROM traces"))

    def verdicts(*names):
        query = """
            SELECT verdict FROM gated_changes($1, $2) WHERE metric = 'step_median'
            UNION ALL
            SELECT verdict FROM trace_changes($1, $2) WHERE metric = 'step, median'
        """
        return sorted(verdict for (verdict,) in lake.rows(query, [ids[name] for name in names]))

    assert verdicts("long first", "short first") == ["noise", "noise"]
    assert verdicts("short first", "all slower") == ["fail", "worse"]


@in_one_lake
def test_a_median_beyond_the_other_s_interval_is_slower_whatever_a_few_long_steps_take(tmp_path):
    # Every fourth step is longer by 40. The interval of the first median reaches up to 140, that of the second, with
    # all steps but that longer part slower by 25 %, begins at 124: 2 * (125 - 124) and 3 deviations of 1 are noise.
    kinds = [100, 101, 99, 140, 101, 100, 99, 141, 100, 99, 101, 139, 100, 101]
    before = cases.write_case(tmp_path / "every fourth.json", steady(kinds, 60, 20))
    slower = cases.write_case(tmp_path / "every fourth, slower.json", steady([one + 25 for one in kinds], 60, 20))
    lake = yield Files(before, slower)
    ids = dict(lake.rows("SELECT trace, trace_id FROM traces"))
    names = [ids["every fourth"], ids["every fourth, slower"]]
    query = "SELECT after - before, noise, verdict FROM {}($1, $2) WHERE metric = '{}'"
    # In percent of a median of 100.
    assert lake.rows(query.format("gated_changes", "step_median"), names) == [(25, 3, "fail")]
    assert lake.rows(query.format("trace_changes", "step, median"), names) == [(25, 3, "worse")]
    assert lake.rows(query.format("trace_changes", "step, median"), names[::-1]) == [(-25, 3, "better")]


@in_one_lake
def test_many_steps_each_slower_than_all_before_are_no_noise_however_far_they_are_apart(tmp_path):
    # Twelve steady steps of 10 to 10.055 ms; of the other trace, a device that throttles, of 10.3 to 11.4 ms.
    before = cases.write_case(tmp_path / "cool.json", steady([10000] * 5 + [10000 + 5 * n for n in range(12)], 60, 20))
    after = cases.write_case(tmp_path / "hot.json", steady([10000] * 5 + [10300 + 100 * n for n in range(12)], 60, 20))
    lake = yield Files(before, after)
    ids = dict(lake.rows("SELECT trace, trace_id FROM traces"))

    def found(relation, metric):
        query = f"SELECT after - before, noise, verdict FROM {relation}($1, $2) WHERE metric = '{metric}'"
        [row] = lake.rows(query, [ids["cool"], ids["hot"]])
        return row

    # Three median deviations of 300 are more than the change of 822.5. The intervals of the medians, from the third
    # step to the tenth, reach 45 - 27.5 and 850 - 500 towards each other. A mean has Student's interval,
    # with 22 degrees of freedom.
    interval = 3.02314 * statistics.stdev(range(0, 1200, 100)) * math.sqrt(2 / 12)
    assert found("trace_changes", "step, median") == (822.5, 1.5 * (17.5 + 350), "worse")
    assert found("trace_changes", "idle") == (822.5, pytest.approx(1.5 * interval, rel=1e-5), "worse")
    assert found("gated_changes", "step_median") == (822.5, pytest.approx(100 * 551.25 / 10027.5), "fail")


@in_one_lake
def test_a_mean_that_one_step_moves_is_noise_and_the_median_stands(tmp_path):
    slow = cases.write_case(tmp_path / "one slow.json", steady([100] * 24 + [300], 60, 20))
    longer = cases.write_case(tmp_path / "longer.json", steady([108] * 25, 60, 20))
    even = cases.write_case(tmp_path / "even.json", steady([100] * 25, 60, 20))
    lake = yield Files(slow, longer, even)
    ids = dict(lake.rows("SELECT trace, trace_id FROM traces"))

    def verdicts(before, after):
        query = "SELECT metric, verdict FROM trace_changes($1, $2) WHERE metric IN ('step, median', 'idle')"
        return dict(lake.rows(query, [ids[before], ids[after]]))

    assert verdicts("even", "one slow") == {"step, median": "same", "idle": "noise"}
    assert verdicts("one slow", "longer") == {"step, median": "worse", "idle": "noise"}
    assert verdicts("even", "longer") == {"step, median": "worse", "idle": "worse"}


def test_two_steady_steps_have_no_spread(lake):
    found = gated(lake, "short", "short, slower")
    assert found["step_median"] == (10, None, "fail")


def test_the_lake_is_the_history_of_what_has_a_baseline(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    names = ("before", "same", "slower", "program")
    lake.ingest(*(cases.write_case(tmp_path / f"{name}.json", CASES[name]) for name in names))
    for trace in ("same", "slower", "program"):
        lake.set(trace, baseline="before")
    lake.set("before", baseline="last year")
    rows = lake.rows(
        "SELECT trace, baseline, baseline_id, status, failures, warnings, round(step_median_pct, 6) FROM track_history "
        "ORDER BY trace"
    )
    before = lake.locate("before")
    assert rows == [
        ("before", "last year", None, "unknown", [], [], None),
        # Another program: measured in another way.
        ("program", "before", before, "unknown", [], [], None),
        ("same", "before", before, "pass", [], [], 2),
        ("slower", "before", before, "fail", ["family matmul", "operation fusion", "step_median"], [], 10),
    ]
    # Thresholds are the lake's.
    folder = tmp_path / "lake" / "lookup"
    folder.mkdir(exist_ok=True)
    (folder / "gate_rules.csv").write_text("metric,threshold,verdict,comment\nstep_median,1,warn,\n")
    reopened = tracelake.open(tmp_path / "lake")
    assert reopened.rows("SELECT trace, status FROM track_history WHERE baseline_id IS NOT NULL ORDER BY 1") == [
        ("program", "unknown"), ("same", "warn"), ("slower", "fail"),
    ]  # fmt: skip


def test_provenance_says_what_speaks_against_a_comparison(lake):
    def doubts(before, after):
        ids = [lake.locate(before), lake.locate(after)]
        return dict(lake.rows("SELECT question, verdict FROM trace_provenance($1, $2) WHERE verdict <> 'pass'", ids))

    assert doubts("before", "slower") == {}
    assert doubts("before", "before") == {"content": "fail"}
    assert doubts("before", "program") == {"basis": "fail"}
    assert lake.compare("before", "before").warnings == ("content: both are the same trace",)
    with pytest.raises(UsageError, match="both are the same trace"):
        lake.compare("before", "before", strict=True)
    assert lake.compare("before", "slower", strict=True).warnings == ()


def test_runs_files_and_hardware_are_compared(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    path = tmp_path / "same.json"
    ids = []
    for case, hardware in (("before", "h100_sxm"), ("slower", "h200_sxm")):
        [ingested] = lake.ingest(cases.write_case(path, CASES[case]), run="nightly", hardware=hardware)
        ids.append(ingested.trace_id)
    found = lake.rows("SELECT question, verdict FROM trace_provenance($1, $2) WHERE verdict <> 'pass' ORDER BY 1", ids)
    assert found == [("file", "warn"), ("hardware", "warn"), ("run", "warn")]


def test_families_change_in_time_and_in_work(lake):
    columns = "family, before_us, after_us, change_pct, time_ratio, work_ratio, efficiency_ratio"
    rows = lake.rows(f"SELECT {columns} FROM family_changes($1, $2)", [lake.locate("before"), lake.locate("slower")])
    assert rows[0] == ("matmul", 60, 70, pytest.approx(100 / 6), pytest.approx(7 / 6), 1, pytest.approx(7 / 6))
    assert rows[1] == ("collective", 20, 20, 0, 1, None, None)


def test_work_that_is_known_of_some_products_alone_has_no_ratio(lake):
    ids = [lake.locate("two products"), lake.locate("one unknown")]
    columns = "before_us, after_us, before_flop / 1e6, after_flop / 1e6, time_ratio, work_ratio, efficiency_ratio"
    [row, *_] = lake.rows(f"SELECT {columns} FROM family_changes($1, $2) WHERE family = 'matmul'", ids)
    # 4 of 6 MFLOP are shown of the same work: 2/3 of it would be 1.5 times as slow.
    assert row == (70, 70, 6, 4, 1, None, None)
    assert lake.rows(f"SELECT {columns} FROM family_changes($1, $1) WHERE family = 'matmul'", ids[:1]) == [
        (70, 70, 6, 6, 1, 1, 1)
    ]


def test_the_reference_compares_families_of_its_lists(lake):
    ids = [lake.locate("baseline"), lake.locate("105")]
    rows = lake.rows("SELECT family, change_us, change_pct, time_ratio FROM compat_family_changes($1, $2, 25)", ids)
    assert {row[0]: tuple(row[1:]) for row in rows} == {
        "collective": (6, pytest.approx(30), 1.3), "other": (-6, pytest.approx(-7.5), 0.925),
    }  # fmt: skip


def spread(total_ns, calls):
    """Return durations of some calls that add up to a total, ns."""
    return [total_ns // calls + (nth < total_ns % calls) for nth in range(calls)]


#: Operations of the published report with the shapes that its lists show: name, shapes, calls, their own time, ns.
PUBLISHED_OPS = [
    ("linear_softmax_cross_entropy_loss_bwd.1", "f32[65536,512]{1,0}, f32[2,512,128256]{2,1,0}", 144, 10168257583),
    ("linear_softmax_cross_entropy_loss_fwd.1", "f32[65536,128]{1,0}, f32[65536,128]{1,0}", 144, 3189666994),
]
#: Attention: calls by the work that the report takes them for.
PUBLISHED_ATTENTION = [
    ("splash_mha_dkv.1", ("bf16[32,512,128]{2,1,0}, bf16[32,512,128]{2,1,0}, bf16[32,512,64]{2,1,0}, "
     "bf16[32,8,2048,64]{3,2,1,0}, bf16[32,8,2048,128]{3,2,1,0}"), 864),
    ("splash_mha_dq.1", ("bf16[32,512,64]{2,1,0}, bf16[32,512,64]{2,1,0}, bf16[32,8,2048,64]{3,2,1,0}, "
     "bf16[32,8,2048,64]{3,2,1,0}"), 1696),
]  # fmt: skip


def operations(*rows):
    """Return a line of operations one after the other: name, shapes of the result, durations in ns."""
    at, texts = 0, []
    for name, shapes, durations in rows:
        said = json.dumps({"long_name": f"%{name} = ({shapes}) custom-call(f32[8]{{0}} %p)"}) if shapes else ""
        for dur in durations:
            texts.append(f"{name} {at / 1000:.3f}+{dur / 1000:.3f} {said}".strip())
            at += dur
    return "; ".join(texts)


def test_families_of_the_published_report(tmp_path):
    rows = [(name, shapes, spread(total, calls)) for name, shapes, calls, total in PUBLISHED_OPS]
    rows += [(name, shapes, [1000] * calls) for name, shapes, calls in PUBLISHED_ATTENTION]
    plain = "f32[128256,512]{1,0}"
    rows += [("fusion.1", plain, [10] * 136), ("fusion.2", plain, [10] * 144), ("fusion.3", plain, [10] * 136),
             ("fusion.4", "f32[65536,256]{1,0}", [10] * 144), ("all-gather.1", plain, [10] * 120)]  # fmt: skip
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(cases.write_case(tmp_path / "published.json", [(1, "/device:TPU:0", {"XLA Ops": operations(*rows)})]))
    found = {
        family: (calls, us, proxy, rate)
        for family, calls, us, proxy, rate in lake.rows(
            "SELECT family, calls, exclusive_us, proxy_total, 1 / us_per_proxy FROM compat_families($1, 25, 0)",
            [lake.locate("published")],
        )
    }
    # 144 x 67 108 864 + 144 x 16 777 216, and that by the time: what the report prints per microsecond.
    assert found["loss_xent"] == (288, pytest.approx(13357924.577), 12079595520, pytest.approx(904.3, abs=0.05))
    assert found["attention_splash"][::2] == (2560, 822434697576448)
    assert found["other"][::2] == (560, 29733421056)
    assert found["collective"][::2] == (120, 7880048640)


@in_one_lake
def test_shares_of_the_published_report_and_what_they_are(tmp_path):
    """Eight devices, of which the report takes one for the whole."""
    window, compute, communication, hot = 4035577866, 3423731901, 70639619, 10168257583
    devices = []
    for nth, own in enumerate(spread(hot, 8)):
        # The hottest operation, others, then a collective on its own; the rest of the window nothing runs.
        text = (
            f"{PUBLISHED_OPS[0][0]} 0+{own / 1000:.3f}; fusion.1 {own / 1000:.3f}+{(compute - own) / 1000:.3f}; "
            f"all-reduce.1 {compute / 1000:.3f}+{communication / 1000:.3f}; fusion.2 {(window - 1) / 1000:.3f}+0.001"
        )
        devices.append((nth + 1, f"/device:TPU:{nth}", {"XLA Ops": text}))
    lake = yield cases.write_case(tmp_path / "published.json", devices)
    parts = dict(
        lake.rows(
            "SELECT category, total_us FROM compat_time_breakdown WHERE mode = 'exclusive_global' AND total_us > 0"
        )
    )
    # A nanosecond of what the report calls stall ends its window here.
    assert parts == {"compute": pytest.approx(3423731.902), "communication": pytest.approx(70639.619),
                     "stall": pytest.approx(541206.345)}  # fmt: skip
    assert sum(parts.values()) == pytest.approx(4035577.866)
    assert [round(100 * parts[name] / 4035577.866, 2) for name in ("compute", "communication", "stall")] == [
        84.84, 1.75, 13.41,
    ]  # fmt: skip
    [(own,)] = lake.rows("SELECT exclusive_us FROM compat_ops WHERE name = $1", [PUBLISHED_OPS[0][0]])
    # Own times of eight devices by the time of one: more than all of it.
    assert round(100 * own / 4035577.866, 1) == 252.0
    [(right,)] = lake.rows("SELECT sum(window_pct) / 8 FROM ops WHERE family = 'loss'")
    assert right == pytest.approx(31.50, abs=0.005)
