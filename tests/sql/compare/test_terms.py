"""Sides of a comparison: times that count once, terms that sum, changes that were planted and are found.

Traces are made up, so that what changed is known; times in microseconds, terms in nanoseconds.
"""

import itertools
import random
from dataclasses import replace

import pytest

import tracelake
from tracelake.analysis import sides
from tracelake.engine.errors import UsageError
from tracelake.reports.output.columns import for_people
from tracelake.reports.output.render import shown_value
from tracelake.synthetic.steps import NCCL, STEP, Work, slower
from tracelake.synthetic.steps import write_steps as write

from ...kernel_traces import GEMM, Trace
from ...support import data_file

#: Standard deviation of the durations of kernels, as a share of each.
NOISE = 0.004


def doubled(steps, nth):
    """Return a step that runs its n-th kernel twice."""
    return (*steps[: nth + 1], *steps[nth:])


def overlapping():
    """Return a step of which each moment is worked out by hand.

    gemm       |--------- 100 ---------|
    gelu                   |50 -------- 150|
    allreduce                      |120 ------- 200|
    copy                                    |180 ---- 220|
    gemm                                                    |230-240|
    """
    trace = Trace()
    for nth in range(6):
        at = 1000 * nth
        op = trace.op("aten::mm", at + 1, 30, [[64, 64], [64, 64]])
        trace.kernel(GEMM, at + 2, at + 100, 100, op)
        gelu = trace.op("aten::gelu", at + 40, 9, [[64, 64]])
        trace.kernel("vectorized_elementwise_kernel<4, GeluCUDAKernel>", at + 42, at + 150, 100, gelu, stream=8)
        trace.kernel(NCCL, at + 52, at + 220, 80, stream=9)
        trace.kernel("Memcpy DtoD (Device -> Device)", at + 54, at + 280, 40, cat="gpu_memcpy", stream=10)
        trace.kernel(GEMM, at + 10, at + 330, 10, op)
        trace.note(f"ProfilerStep#{nth}", at, 900)
    return trace


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terms")
    files = {
        "before": write(folder / "before.json", noise=NOISE, steps=40),
        "again": write(folder / "again.json", noise=NOISE, steps=40, seed=1),
        "wild": write(folder / "wild.json", noise=0.9, steps=6, seed=9),
        "softer": write(folder / "softer.json", slower(STEP, 2, 1.01), noise=NOISE, steps=40, seed=2),
        "slow": write(folder / "slow.json", slower(STEP, 2, 1.03), noise=NOISE, steps=40, seed=3),
        "slower": write(folder / "slower.json", slower(STEP, 2, 1.1), noise=NOISE, steps=40, seed=4),
        "collective": write(folder / "collective.json", slower(STEP, 4, 2), noise=NOISE, steps=40, seed=5),
        "gap": write(
            folder / "gap.json", (*STEP[:2], replace(STEP[2], gap=25), *STEP[3:]), noise=NOISE, steps=40, seed=6
        ),
        "twice": write(folder / "twice.json", doubled(STEP, 3)),
        "exact": write(folder / "exact.json"),
        # Twice the rows: twice the FLOP, in twice the time.
        "larger": write(folder / "larger.json", (replace(STEP[0], dims=((128, 64), (64, 64)), dur=200), *STEP[1:])),
        "renamed": write(folder / "renamed.json", (replace(STEP[0], kernel="layer_norm_kernel"), *STEP[1:])),
        "extra": write(
            folder / "extra.json", (*STEP, Work("Head_0", "aten::topk", "at::native::sbtopk::gatherTopK<float>", 20))
        ),
        "single": write(folder / "single.json", steps=1),
        "overlap": overlapping().write(folder / "overlap.json"),
    }
    opened = tracelake.open(folder / "lake")
    opened.ingest(*files.values())
    for name, run in {"before": "a", "again": "b", "softer": "c"}.items():
        opened.set(name, run=run, night=f"n-{run}")
    yield opened
    opened.close()


def compared(lake, *words, **options):
    return lake.compare_sides(*words, **options)


def terms(lake, before, after, columns="change_ns", where="TRUE"):
    """Return the terms of a comparison by their names."""
    rows = compared(lake, before, after).terms.filter(where).select(f"term, {columns}").fetchall()
    return {term: row[0] if len(row) == 1 else tuple(row) for term, *row in rows}


def test_each_moment_counts_for_one_kind_of_work(lake):
    rows = lake.rows(
        "SELECT part, category, sum(exclusive_ns) / sum(step_blocks.samples) FROM step_costs JOIN step_blocks "
        "USING (trace_id, step_block) JOIN traces USING (trace_id) WHERE trace = 'overlap' GROUP BY ALL ORDER BY ALL"
    )
    # From the picture above: gemm 0-100 and 230-240, gelu what is left of it, then the all-reduce, then the copy.
    assert rows == [
        ("communication", "all-reduce", 50_000),
        ("compute", "activation", 50_000),
        ("compute", "gemm", 110_000),
        ("idle", "launched, waiting", 10_000),
        ("memory", "memcpy", 20_000),
    ]


def test_the_costs_of_a_block_are_its_time(lake):
    assert lake.rows(
        "SELECT count(*) FROM step_blocks FULL JOIN (SELECT trace_id, step_block, sum(exclusive_ns) AS ns FROM "
        "step_costs GROUP BY ALL) USING (trace_id, step_block) WHERE dur_ns IS DISTINCT FROM ns"
    ) == [(0,)]


def assert_levels_sum(answer):
    """Check that the rows of each level sum to their parents' figures, and return the steps by side."""
    rows = answer.terms.select(
        "side, level, parent, term, before_ns, after_ns, change_ns, more_work_ns, slower_work_ns"
    ).fetchall()
    for upper, lower in itertools.pairwise(["step", "part", "category", "module", "operator"]):
        for side, _, _, term, *figures in (row for row in rows if row[1] == upper):
            children = [row[4:] for row in rows if row[:3] == (side, lower, term)]
            sums = [None if None in column else sum(column) for column in zip(*children, strict=True)]
            assert figures[:3] == sums[:3], (term, figures, sums)
            if figures[3] is not None:
                assert figures[3:] == sums[3:], (term, figures, sums)
                assert figures[3] + figures[4] == figures[2]
    return {row[0]: row[4:7] for row in rows if row[1] == "step"}


@pytest.mark.parametrize("after", ["again", "slower", "gap", "twice", "larger", "renamed", "extra", "single"])
def test_a_level_sums_to_its_parent(lake, after):
    [step] = assert_levels_sum(compared(lake, "before", after)).values()
    [(before, now)] = lake.rows(
        "SELECT round(avg(dur_us) FILTER (trace = 'before') * 1000), round(avg(dur_us) FILTER (trace = $1) * 1000) "
        "FROM step_states JOIN traces USING (trace_id) WHERE is_steady AND dur_us > 0", [after],
    )  # fmt: skip
    assert step == (before, now, now - before)


def by_chance(seed):
    """Return a trace of kernels, collectives and copies that overlap on four streams, as chance has it."""
    dice, trace = random.Random(seed), Trace()
    kinds = [(GEMM, "kernel"), ("softmax_warp_forward<float>", "kernel"), (NCCL, "kernel"),
             ("Memcpy DtoD (Device -> Device)", "gpu_memcpy")]  # fmt: skip
    for nth in range(dice.randint(1, 9)):
        at = 2000.0 * nth
        for place in range(dice.randint(1, 12)):
            name, cat = dice.choice(kinds)
            op = trace.op(
                dice.choice(["aten::mm", "aten::add"]), at + 5 * place, 4, [[dice.choice([8, 16]), 8], [8, 8]]
            )
            start, dur = at + 200 + dice.randint(0, 900), dice.randint(1, 400) + 0.001 * dice.randint(0, 999)
            trace.kernel(name, at + 5 * place + 1, start, dur, op, cat=cat, stream=dice.randint(7, 10))
        trace.note(f"ProfilerStep#{nth}", at, 1900)
    return trace


def test_whatever_overlaps_the_levels_sum_and_the_steps_are_those_of_their_parts(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    names = [f"by-chance-{seed}" for seed in range(12)]
    lake.ingest(*(by_chance(seed).write(tmp_path / f"{name}.json") for seed, name in enumerate(names)))
    assert len(assert_levels_sum(compared(lake, *names, anyway=True))) == 11
    # The parts as step_states has them, by the states of the device.
    unequal = lake.rows(
        "WITH own AS (SELECT trace_id, part, sum(exclusive_ns) AS ns FROM step_costs WHERE part <> 'idle' "
        "GROUP BY ALL), "
        "states AS (UNPIVOT (SELECT trace_id, sum(compute_us) AS compute, sum(communication_us) AS communication, "
        "sum(memory_us) AS memory FROM step_states WHERE is_steady GROUP BY trace_id) "
        "ON compute, communication, memory INTO NAME part VALUE us) "
        "SELECT * FROM own FULL JOIN states USING (trace_id, part) "
        "WHERE coalesce(ns, 0) <> round(coalesce(us, 0) * 1000)"
    )
    assert unequal == []


@pytest.mark.parametrize(("after", "added"), [("softer", 2), ("slow", 6), ("slower", 20)])
def test_a_slower_kernel_is_found_and_nothing_else(lake, after, added):
    found = terms(lake, "before", after, "verdict, slower_work_ns, more_work_ns", "level = 'operator'")
    changed = {term: row for term, row in found.items() if row[0] in ("slower", "faster")}
    assert list(changed) == ["compute/gemm/Mlp_#/aten::mm"]
    [(verdict, slower_ns, more_ns)] = changed.values()
    # 200 µs with a standard deviation of 0.4 % in some 38 steps: the mean is right to 0.2 µs.
    assert (verdict, more_ns) == ("slower", 0)
    assert slower_ns == pytest.approx(1000 * added, abs=600)


def test_a_doubled_collective_is_communication(lake):
    found = terms(lake, "before", "collective", "verdict, change_ns", "level = 'part'")
    assert found["communication"] == ("slower", pytest.approx(60_000, abs=600))
    assert [term for term, row in found.items() if row[0] == "slower"] == ["communication"]


def test_a_change_that_has_a_verdict_is_not_shown_as_zero(lake):
    changed = compared(lake, "exact", "twice").terms.project("* REPLACE (-400 AS change_ns, 'faster' AS verdict)")
    [(change, verdict)] = (
        for_people(lake.store, "comparison_terms", changed).project("change_ms, verdict").limit(1).fetchall()
    )
    assert (shown_value(change), verdict) == ("-0.0004", "faster")


def test_a_gap_is_idle_time(lake):
    found = terms(lake, "before", "gap", "verdict, change_ns", "level = 'part'")
    assert found["idle"] == ("slower", pytest.approx(25_000, abs=600))
    assert [term for term, row in found.items() if row[0] == "slower"] == ["idle"]


def test_what_did_not_change_is_the_same(lake):
    [(verdict, low, high)] = (
        compared(lake, "before", "again").sides.select("verdict, ci_low_pct, ci_high_pct").fetchall()
    )
    assert verdict.startswith("same within ")
    assert low < 0 < high < 1


def test_noise_of_more_than_half_is_called_noise(lake):
    answer = compared(lake, "wild", "again").terms
    found = answer.select("verdict, before_ns, change_ns, detectable_ns").fetchall()
    wild = [row for row in found if row[0].startswith("too noisy")]
    calm = [row for row in found if row[0].startswith("same within")]
    assert len(wild) > 3
    for verdict, before, delta, detectable in wild:
        assert abs(delta) <= detectable
        assert abs(delta) + detectable > before / 2
        assert verdict == f"too noisy to tell: ±{100 * detectable / before:.0f} %"
    assert all(abs(delta) + detectable <= before / 2 for _, before, delta, detectable in calm)


def test_what_one_step_alone_does_is_noise_and_not_the_same(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    for name, steps_with_it in {"without": (), "once": (3,)}.items():
        trace = Trace()
        for nth in range(6):
            at = 1000 * nth
            trace.kernel(GEMM, at + 2, at + 100, 100)
            if nth in steps_with_it:
                trace.kernel("softmax_warp_forward<float>", at + 4, at + 200, 60)
            trace.note(f"ProfilerStep#{nth}", at, 900)
        lake.ingest(trace.write(tmp_path / f"{name}.json"))
    [(before, after, detectable, verdict)] = (
        compared(lake, "without", "once", anyway=True)
        .terms.filter("level = 'category' AND name = 'softmax'")
        .select("before_ns, after_ns, detectable_ns, verdict")
        .fetchall()
    )
    # 60 µs in one of six steps: 10 µs a step, with a standard error of 10, of which 5 degrees of freedom allow more
    # than twice either way.
    assert (before, after) == (0, 10_000)
    assert detectable > 2 * after
    assert verdict == f"too noisy to tell: ±{100 * detectable / after:.0f} %"


def test_more_calls_and_larger_shapes_are_more_work(lake):
    split = "change_ns, more_work_ns, slower_work_ns"
    assert terms(lake, "exact", "twice", split)["compute/activation/Mlp_#/aten::gelu"] == (30_000, 30_000, 0)
    # FLOP and time are twice what they were: not slower.
    assert terms(lake, "exact", "larger", split)["compute/gemm/Attention_#/aten::mm"] == (100_000, 100_000, 0)
    assert terms(lake, "larger", "exact", split)["compute/gemm/Attention_#/aten::mm"] == (-100_000, -100_000, 0)


def moving(elements, calls, *, kernels=1):
    """Return six steps of calls of gelu, whose kernels together take as long as their elements are many."""
    trace = Trace()
    for nth in range(6):
        at = 1000 * nth
        for call in range(calls):
            op = trace.op("aten::gelu", at + 50 * call, 30, [[elements, 1024]], types=["c10::BFloat16"])
            for part in range(kernels):
                trace.kernel(
                    f"vectorized_elementwise_kernel<4, Gelu{part}>", at + 50 * call + 1 + part,
                    at + 300 + 100 * call + 40 * part, elements // 4 // kernels, op,
                )  # fmt: skip
        trace.note(f"ProfilerStep#{nth}", at, 900)
    return trace


def test_elements_that_are_moved_are_the_work_of_what_computes_no_product(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    traces = {"few": moving(64, 2), "many": moving(128, 2), "split": moving(128, 2, kernels=2)}
    lake.ingest(*(trace.write(tmp_path / f"{name}.json") for name, trace in traces.items()))
    found = lake.rows(
        "SELECT trace, kernel_name, min(bytes), max(bytes) FROM step_costs JOIN traces USING (trace_id) "
        "WHERE part = 'compute' GROUP BY ALL ORDER BY ALL"
    )
    # 1024 elements a row, of 2 bytes, read and written, by two calls in a step. Two kernels of a call share its bytes.
    rows = 1024 * 2 * 2 * 2
    assert [(trace, least, most) for trace, _, least, most in found] == [
        ("few", 64 * rows, 64 * rows), ("many", 128 * rows, 128 * rows),
        ("split", 64 * rows, 64 * rows), ("split", 64 * rows, 64 * rows),
    ]  # fmt: skip
    split = "change_ns, more_work_ns, slower_work_ns"
    assert terms(lake, "few", "many", split, "level = 'category'")["compute/activation"] == (32_000, 32_000, 0)


def activated(rows, dur):
    """Return six steps with a gelu over rows of 1024 elements that takes `dur` µs."""
    trace = Trace()
    for nth in range(6):
        at = 1000 * nth
        op = trace.op("aten::gelu", at, 30, [[rows, 1024]], types=["c10::BFloat16"])
        trace.kernel("vectorized_elementwise_kernel<4, Gelu>", at + 1, at + 300, dur, op)
        trace.note(f"ProfilerStep#{nth}", at, 900)
    return trace


def test_less_work_saves_no_more_than_its_time_and_more_work_costs_no_more_than_it_takes(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    traces = {"large": activated(4096, 80), "half": activated(2048, 60), "tiny": activated(1, 5)}
    lake.ingest(*(trace.write(tmp_path / f"{name}.json") for name, trace in traces.items()))

    def parts(before, after):
        return terms(lake, before, after, "more_work_ns, slower_work_ns", "level = 'category'")["compute/activation"]

    # Half of the rows at the mean of 80/4096 and 60/2048 µs per row: (80 / 2 + 60) / 2 = 50 µs less.
    assert (parts("large", "half"), parts("half", "large")) == ((-50_000, 30_000), (50_000, -30_000))
    # At 5 µs per row, 4095 rows less would save 10 ms of the 80 µs: those go, and 5 come.
    assert (parts("large", "tiny"), parts("tiny", "large")) == ((-80_000, 5_000), (80_000, -5_000))


def test_work_is_aligned_by_operator_and_stands_where_the_baseline_has_it(lake):
    answer = compared(lake, "exact", "renamed")
    ops = (
        answer.ops.filter("operator = 'aten::mm'").select("category, before_kernel, after_kernel, change_ns").fetchall()
    )
    assert ("gemm", ops[0][1], "layer_norm_kernel", 0) in ops
    assert {row[0] for row in ops} == {"gemm"}
    assert answer.sides.select("before_matched_pct, after_matched_pct").fetchall() == [(100, 100)]


def test_what_one_side_alone_does_is_listed_where_it_runs(lake):
    answer = compared(lake, "exact", "extra")
    columns = "module, operator, before_ns, after_ns, more_work_ns"
    assert answer.ops.filter("matched_by = 'nothing'").select(columns).fetchall() == [
        ("Head_#", "aten::topk", 0, 20_000, 20_000)
    ]
    [shares] = answer.sides.select("before_matched_pct, after_matched_pct").fetchall()
    # 20 of 460 us.
    assert shares == (100, pytest.approx(100 * 440 / 460))


def test_two_steps_beside_many_have_the_degrees_of_freedom_of_two(tmp_path):
    """Two sides of two steps have two; Welch's formula gives up to 11 where the two happen to be alike."""
    with tracelake.open(tmp_path / "lake") as made:
        many = [write(tmp_path / f"many{nth}.json", noise=NOISE, steps=12, seed=nth) for nth in range(10)]
        two = [write(tmp_path / f"two{nth}.json", noise=NOISE, steps=2, seed=100 + nth) for nth in range(10)]
        made.ingest(*many, *two)
        verdicts = [
            verdict
            for nth in range(10)
            for (verdict,) in made.compare_sides(f"many{nth}", f"two{nth}")
            .terms.filter("level = 'category'")
            .select("verdict")
            .fetchall()
        ]
    assert len(verdicts) > 30
    assert not {"slower", "faster"} & set(verdicts)


def test_one_step_cannot_tell(lake):
    [(verdict, low)] = compared(lake, "before", "single").sides.select("verdict, ci_low_pct").fetchall()
    assert (verdict, low) == ("cannot tell: one step", None)


def test_sides_are_traces_runs_and_filters(lake):
    def names(*words, **options):
        return [side.name for side in sides.resolve(lake.store, words, **options)]

    def traces(*words, **options):
        ids = dict(lake.rows("SELECT trace_id, trace FROM traces"))
        return [sorted(ids[one] for one in side.traces) for side in sides.resolve(lake.store, words, **options)]

    assert traces("before", "trace=s?ft* run=?") == [["before"], ["softer"]]
    assert traces("a", "night=n-b") == [["before"], ["again"]]
    assert names(by="run") == ["a", "b", "c"]
    assert names(by="run", baseline="b") == ["b", "a", "c"]
    assert names("before", "again", "slow", baseline="slow") == ["slow", "before", "again"]
    # The first that is named has the baseline, whatever its value; of the words' traces, the values are in order.
    assert names("softer", "before", "again", by="run") == ["c", "a", "b"]
    assert names("softer", "night=*", by="run") == ["c", "a", "b"]
    for words, options, message in [
        (("before",), {}, "needs two sides or more"),
        (("before", "nowhere"), {}, "nowhere"),
        (("before", "run=z*"), {}, "no trace is so. Values of run: a, b, c"),
        (("before", "trace=z"), {}, "Values of trace: again, before, collective, exact, extra, gap and 9 more"),
        (("before", "runn=a"), {}, "runn: no trace has it. Near: run"),
        ((), {"by": "hardwear"}, "Near: hardware"),
    ]:
        with pytest.raises(UsageError, match=message):
            sides.resolve(lake.store, words, **options)


def test_only_an_asterisk_and_a_question_mark_are_wildcards(lake):
    runs = {"exact": "exp[1]", "twice": "exp1", "extra": "a\\b"}
    try:
        for trace, run in runs.items():
            lake.set(trace, tag=run)
        ids = {trace: lake.resolve(trace) for trace in runs}
        for pattern, found in {"exp[1]": ["exact"], "exp?": ["twice"], "*[1]": ["exact"], "a\\?": ["extra"]}.items():
            assert sides.traces_of(lake.store, f"tag={pattern}") == tuple(ids[trace] for trace in found)
    finally:
        for trace in runs:
            lake.set(trace, tag=None)


def test_traces_without_the_attribute_that_splits_are_left_out_by_name(lake):
    answer = compared(lake, "exact", "softer", "slow", "before", by="run")
    assert answer.left_out == ("2 of 4 traces are left out, without run: exact, slow",)
    assert answer.sides.select("side, baseline").fetchall() == [("a", "c")]
    # Of 15 traces three have a run.
    [whole] = sides.unlabelled(lake.store, (), "run")
    assert whole.startswith("12 of 15 traces are left out, without run: collective, exact, extra, gap, larger, overlap")
    assert whole.endswith(" and 6 more")
    assert sides.unlabelled(lake.store, ("before", "again"), "run") == ()


def test_a_run_comes_before_traces_whose_name_or_id_begins_with_its_name(tmp_path):
    with tracelake.Lake(tmp_path / "lake", stored=False) as lake:
        files = [
            write(tmp_path / f"{name}.json", noise=NOISE, steps=2, seed=nth)
            for nth, name in enumerate(("x", "exp-10", "y"))
        ]
        lake.ingest(*files)
        ids = {name: lake.resolve(name) for name in ("x", "exp-10", "y")}
        lake.set("x", run="exp-1")
        lake.set("y", run=ids["exp-10"][:4])
        assert sides.traces_of(lake.store, "exp-1") == (ids["x"],)
        assert sides.traces_of(lake.store, ids["exp-10"][:4]) == (ids["y"],)
        # What is neither a trace nor a run may be the beginning of a trace's name.
        assert sides.traces_of(lake.store, "exp-") == (ids["exp-10"],)
        # The trace itself comes before a run of its name.
        lake.set("x", run="y")
        assert sides.traces_of(lake.store, "y") == (ids["y"],)


def test_runs_of_a_side_are_what_noise_is_measured_between(lake):
    [(runs,)] = compared(lake, "slow", "night=n-*").sides.select("runs").fetchall()
    assert runs == 3
    sizes = dict(lake.rows("SELECT side, replicates FROM _side_sizes"))
    assert sizes == {"slow": sizes["slow"], "night=n-*": 3}
    assert sizes["slow"] == 32


def test_a_baseline_that_was_set_needs_no_sides(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(write(tmp_path / "a.json"), write(tmp_path / "b.json", slower(STEP, 0, 1.5)))
    lake.set("b", baseline="a")
    assert lake.rows("SELECT side, baseline, change_ns, verdict FROM comparisons") == [("b", "a", 50_000, "slower")]


@pytest.mark.parametrize(
    ("freedom", "terms", "quantile"),
    # Student's distribution as printed in tables: two-sided, 5 % and, for two and five terms, 2.5 % and 1 %.
    [(1, 1, 12.706), (4, 1, 2.776), (10, 1, 2.228), (30, 1, 2.042), (4, 5, 4.604), (10, 2, 2.634), (120, 1, 1.980)],
)
def test_quantiles_are_those_of_printed_tables(lake, freedom, terms, quantile):
    query = "SELECT quantile FROM student_quantiles WHERE freedom = $1 AND terms = $2"
    assert lake.rows(query, [freedom, terms])[0][0] == pytest.approx(quantile, abs=6e-4)


@pytest.mark.parametrize(
    ("before", "after", "matched"),
    [
        ("hf_qwen1.5-0.5b_h100", "hf_qwen1.5-0.5b_mi300x", 99),
        ("hf_vit-nsfw_h100", "hf_vit-nsfw_mi300x", 99),
        ("hta_trace_diff_control_control", "hta_trace_diff_test_test", 98),
    ],
)
def test_real_traces_of_two_vendors_are_matched_and_sum(tmp_path, before, after, matched):
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(*(data_file(f"kineto/{name}.json.gz") for name in (before, after)))
    answer = compared(lake, before, after)
    [shares] = answer.sides.select("before_matched_pct, after_matched_pct").fetchall()
    assert min(shares) > matched
    assert_levels_sum(answer)
