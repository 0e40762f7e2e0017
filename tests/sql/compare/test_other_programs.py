"""Steps of another program than the one that a trace is compared by: neither unseen nor unjudged. Times in µs."""

import pytest

import tracelake

from ...launching import Trace

BUDGET = """
[[budget]]
name = "step_time"
sentence = "A step takes at most 3 % longer than the baseline's."
query = "SELECT side AS item, after_ns AS value, 1.03 * before_ns AS threshold FROM comparisons"
"""


def served(*steps, seed=0):
    """Return steps of a server, each a stage and how long its one operation takes.

    A step of EXTEND reads 100 tokens, one of DECODE serves 8 requests unless a number follows the stage.
    """
    trace, at = Trace(), 1000 + seed
    for nth, (kind, dur) in enumerate(steps):
        stage, _, requests = kind.partition(" ")
        work = "bs=1 toks=100" if stage == "EXTEND" else f"bs={requests or 8}"
        trace.mark(f"step[{stage} {work}]", 20 * nth, 10)
        trace.graph(20 * nth + 5, (at, dur))
        at += dur + 10
    return trace


#: Of a capture's 2400 µs, four prefills of 400 take two thirds and ten decodes of 80 one third.
MIXED = [*[("EXTEND", 400)] * 4, *[("DECODE", 80)] * 10]
CASES = {
    "before": served(*MIXED),
    "same": served(*MIXED, seed=1),
    # 16 of 80 are 20 %.
    "decode slower": served(*MIXED[:4], *[("DECODE", 96)] * 10),
    "prefill slower": served(*[("EXTEND", 440)] * 4, *MIXED[4:]),
    "no decode": served(*MIXED[:4], seed=2),
    "other decode": served(*MIXED[:4], *[("DECODE 4", 80)] * 10),
    "two decodes": served(*MIXED[:4], *[("DECODE", 400)] * 2),
    # Decodes take more than prefills: 1800 of 3400.
    "decode first": served(*MIXED[:4], *[("DECODE", 180)] * 10),
    # 80 of 1680 are less than a tenth.
    "one decode": served(*MIXED[:4], ("DECODE", 80)),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    with tracelake.open(folder / "lake") as lake:
        lake.ingest(*[trace.write(folder / f"{name}.json") for name, trace in CASES.items()])
        (folder / "team.toml").write_text(BUDGET)
        lake.budgets = folder / "team.toml"
        yield lake


def test_the_share_of_the_compared_program_and_the_steps_left_out_are_known(lake):
    rows = lake.rows(
        "SELECT trace, program, steps, other_steps, round(program_pct, 3) FROM comparison_bases "
        "JOIN traces USING (trace_id) WHERE trace IN ('before', 'no decode') ORDER BY trace"
    )
    assert rows == [("before", "prefill", 4, 10, 66.667), ("no decode", "prefill", 4, 0, 100)]


@pytest.mark.parametrize(
    ("after", "status", "decode", "doubt"),
    [
        ("same", "pass", [(80, 80, 0, "pass")], ()),
        ("decode slower", "fail", [(80, 96, 20, "fail")], ()),
        ("prefill slower", "fail", [(80, 80, 0, "pass")], ()),
        ("no decode", "unknown", [], ("has steady steps only before",)),
        ("other decode", "unknown", [], ("does different work: requests 8, 4",)),
        ("two decodes", "unknown", [], ("has fewer than three steady steps",)),
    ],
)
def test_the_gate_judges_the_steps_of_each_program(lake, after, status, decode, doubt):
    answer = lake.compare("before", after)
    rows = answer.gate.filter("metric = 'step_median' AND part = 'decode'").select("before, after, change, verdict")
    assert rows.fetchall() == decode
    assert answer.status == status
    assert len(answer.doubts) == len(doubt)
    assert all(found.startswith("another program: decode (33.3 %") for found in answer.doubts)
    assert all(found.endswith(end) for found, end in zip(answer.doubts, doubt, strict=True))
    # The program that is compared has its row besides, the first one.
    assert answer.gate.select("metric, part").fetchall()[0] == ("step_median", None)


def test_a_program_that_one_of_two_is_compared_by_is_no_other_one(lake):
    assert not lake.rows("SELECT before_id FROM _program_pairs WHERE before_id = $1 AND after_id = $2", [
        lake.resolve("before"), lake.resolve("decode first"),
    ])  # fmt: skip
    lake.compare_sides("before", "decode first", anyway=True)
    assert lake.rows("FROM comparison_programs") == []


def test_a_program_that_takes_little_time_stops_no_gate(lake):
    answer = lake.compare("one decode", "no decode")
    assert (answer.status, answer.doubts) == ("pass", ())


def test_a_comparison_says_which_steps_it_leaves_out_and_how_they_changed(lake):
    before = "before, 4 of 14 steady steps are compared, those of prefill (66.7 % of the steps' time), not 10 of decode"
    after = "after, 4 of 14 steady steps are compared, those of prefill (62.5 % of the steps' time), not 10 of decode"
    sides = lake.compare_sides("before", "decode slower").sides
    assert sides.select("change_ns, doubts").fetchall() == [
        (0, f"{before}; {after}; a step of decode changes by +20.0 %")
    ]
    assert lake.compare("before", "decode slower").warnings == (f"programs: {before}; {after}",)
    assert lake.compare_sides("no decode", "one decode").sides.select("doubts").fetchall() == [
        ("after, 4 of 5 steady steps are compared, those of prefill (95.2 % of the steps' time), not 1 of decode",)
    ]


@pytest.mark.parametrize(
    ("after", "verdicts", "reason"),
    [
        ("same", ["pass"], ""),
        ("decode slower", ["cannot judge", "pass"], "those of decode take 20.0 % longer than in before."),
        ("no decode", ["cannot judge", "pass"], "(33.3 % of the steps' time of before, 0.0 % of its own), which"),
        ("prefill slower", ["fail"], ""),
    ],
)
def test_a_budget_of_comparisons_does_not_pass_on_the_compared_program_alone(lake, after, verdicts, reason):
    rows = lake.check(lake.budgets, of=[after], baseline="before").select("verdict, sentence").fetchall()
    assert sorted(verdict for verdict, _ in rows) == verdicts
    assert any(reason in sentence for _, sentence in rows)


def test_a_side_of_several_traces_is_judged_by_the_mean_of_their_programs(lake):
    for trace, run in {"before": "old", "same": "old", "decode slower": "new", "prefill slower": "new"}.items():
        lake.set(trace, run=run)
    lake.compare_sides("run=old", "run=new")
    columns = "program, before_pct, before_us, after_us, change_pct, verdict"
    # 96 and 80: three standard deviations of these are 34, which the change of 8 does not exceed.
    [row] = lake.rows(f"SELECT {columns} FROM comparison_programs")
    assert row == ("decode", pytest.approx(100 / 3), 80, 88, pytest.approx(10), "same")
