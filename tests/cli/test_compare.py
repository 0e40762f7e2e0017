"""The commands that compare sides and hold them against budgets: what they print, and how they exit."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tracelake
from tracelake.synthetic.steps import STEP, slower
from tracelake.synthetic.steps import write_steps as write

from ..launching import Trace

ROOT = Path(__file__).resolve().parents[2]
STEP_TIME = """
[[budget]]
name = "step_time"
sentence = "A step takes at most 3 % longer than the baseline's."
unit = "ms"
query = "SELECT side AS item, after_ns / 1e6 AS value, 1.03 * before_ns / 1e6 AS threshold FROM comparisons"
"""
NOTHING = """
[[budget]]
name = "nothing"
sentence = "No trace is of no run."
threshold = 0
query = "SELECT 1 AS value WHERE FALSE"
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    with tracelake.open(folder / "lake") as opened:
        opened.ingest(
            write(folder / "monday.json"),
            write(folder / "tuesday.json", slower(STEP, 0, 1.02)),
            write(folder / "wednesday.json", slower(STEP, 0, 1.5)),
        )
        opened.set("wednesday", run="midweek")
    return folder / "lake"


def test_two_traces_are_measures_and_a_waterfall(run):
    code, out, err = run("compare", "monday", "wednesday")
    assert code == 0
    assert "step, median" in out
    assert "slower_work_ms" in out
    assert "matched is 100.0 % of the work's time before, 100.0 % after." in err


class EveryThirdLonger(tuple):
    """A step whose first product takes 30 µs more in every third step that is written."""

    def __iter__(self):
        self.nth = getattr(self, "nth", -1) + 1
        return iter(slower(STEP, 0, 1 if self.nth % 3 else 1.3))


def test_where_the_median_step_is_the_same_and_the_mean_one_slower_a_sentence_says_why(run, tmp_path):
    paths = write(tmp_path / "even.json", steps=60), write(tmp_path / "odd.json", EveryThirdLonger(STEP), steps=60)
    code, out, err = run("compare", *paths)
    # 20 of 60 steps are 30 µs longer.
    rows = [line.split() for line in out.splitlines()]
    verdicts = [row[-1] for row in rows if row[:2] == ["step,", "median"] or row[1:2] == ["step"]]
    assert (code, verdicts) == (0, ["same", "slower"])
    said = "step, median is of the median step (same), the waterfall of the mean one (slower): some long steps move"
    assert said in err
    assert "median step" not in run("compare", "monday", "wednesday")[2]


def test_where_all_steps_are_longer_the_sentence_speaks_of_no_long_steps(run, tmp_path):
    for name, steps in (("three", (1000, 1003, 998)), ("longer", (1012, 1015, 1009))):
        trace = Trace()
        for nth, took in enumerate(steps):
            start = 2000 * nth
            trace.mark(f"ProfilerStep#{nth}", start, took).run(start + 3, took - 5, start + 1)
        trace.write(tmp_path / f"{name}.json")
    _, _, err = run("compare", tmp_path / "three.json", tmp_path / "longer.json")
    assert "of the median step (noise), the waterfall of the mean one (slower): each has noise of its own." in err


@pytest.mark.parametrize("words", [["trace=mon*", "wednesday"], ["monday", "run=mid*"], ["trace=mon*", "midweek"]])
@pytest.mark.parametrize("more", [[], ["--families"], ["--gate"]])
def test_runs_and_filters_of_one_trace_are_compared_as_traces(run, words, more):
    code, out, err = run("compare", *words, *more, "--format", "json")
    # The first kernel of 100 µs takes half as long again: 50 of 440 µs are more than the gate allows.
    assert code == (1 if "--gate" in more else 0), err
    rows = json.loads(out)
    change = rows[0]["change_us" if "--families" in more else "change"]
    assert change == pytest.approx(100 * 50 / 440 if "--gate" in more else 50)


def test_an_answer_for_scripts_comes_with_what_is_before(run):
    code, out, err = run("compare", "wednesday", "monday", "tuesday", "--by", "run", "--baseline", "midweek")
    assert (code, out) == (2, "")
    assert "2 of 3 traces are left out, without run: monday, tuesday." in err
    code, out, err = run("compare", "wednesday", "monday", "--by", "trace", "--format", "json")
    assert "before: wednesday, after: monday; times in µs" in err
    # The first kernel of 100 µs took half as long again.
    assert (code, json.loads(out)[0]["change"]) == (0, pytest.approx(-50))


def test_terms_are_rows_for_scripts(run):
    code, out, _ = run("compare", "monday", "wednesday", "--terms", "--format", "json")
    assert code == 0
    rows = json.loads(out)
    # The first kernel of 100 µs takes half as long again.
    assert {row["level"]: row["change_ns"] for row in rows if row["change_ns"]} == dict.fromkeys(
        ["step", "part", "category", "module", "operator"], 50_000
    )
    columns = (
        "side baseline parent term before_ns after_ns more_work_ns slower_work_ns ci_low_ns ci_high_ns matched_pct"
    )
    assert {*columns.split(), "verdict"} <= set(rows[0])


def test_more_sides_are_a_row_each_beside_the_baseline(run):
    code, out, _ = run("compare", "monday", "tuesday", "wednesday", "--baseline", "wednesday", "--format", "json")
    assert code == 0
    assert [(row["side"], row["change_ns"], row["verdict"]) for row in json.loads(out)] == [
        ("monday", -50_000, "faster"), ("tuesday", -48_000, "faster"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["monday"], "needs two sides or more, and there is one, monday"),
        ([], "name two sides or more"),
        (["monday", "tuesday", "wednesday", "--ops"], "are about two traces"),
        (["monday", "tuesday", "--terms", "--gate"], "exclude each other"),
        (["--by", "runn"], "runn: no trace has it"),
        (["monday", "monday", "--strict"], "both are the same trace"),
        (["monday", "monday", "--strict", "--terms"], "the trace monday is in both"),
        (["monday", "trace=mon*", "--strict", "--work"], "the trace monday is in both"),
        (["midweek", "wednesday", "--strict", "-o", "comparison.html"], "the trace wednesday is in both"),
        (["monday", "tuesday", "trace=*day", "--strict"], "monday and trace=*day cannot be compared: the trace monday"),
    ],
)
def test_what_cannot_be_compared_is_named(run, words, message):
    code, out, err = run("compare", *words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(("of", "code", "verdicts"), [("tuesday", 0, ["pass"]), ("wednesday", 1, ["fail"])])
def test_a_budget_passes_or_fails(run, tmp_path, of, code, verdicts):
    budgets = tmp_path / "team.toml"
    budgets.write_text(STEP_TIME)
    words = ["check", budgets, "--of", of, "--baseline", "monday", "--format", "json"]
    found, out, _ = run(*words)
    assert (found, [row["verdict"] for row in json.loads(out)]) == (code, verdicts)


@pytest.mark.parametrize("end", [" -- all sides", "; -- all sides", " /* all */ ; ; /* ; */"])
def test_a_budget_may_end_with_a_comment(run, tmp_path, end):
    budgets = tmp_path / "team.toml"
    budgets.write_text(STEP_TIME.replace("FROM comparisons", f"FROM comparisons{end}"))
    assert run("check", budgets, "--of", "tuesday", "--baseline", "monday")[0] == 0


def test_a_baseline_given_by_its_path_is_one_of_the_sides(run, lake):
    folder = lake.parent
    code, out, err = run(
        "compare", folder / "monday.json", folder / "tuesday.json", "--baseline", folder / "tuesday.json",
        "--terms", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    assert {(row["side"], row["baseline"]) for row in json.loads(out)} == {("monday.json", "tuesday.json")}


def test_what_cannot_be_judged_is_no_pass_unless_allowed(run, tmp_path):
    budgets = tmp_path / "team.toml"
    budgets.write_text(NOTHING)
    code, out, err = run("check", budgets, "--format", "markdown")
    assert (code, "cannot judge" in out) == (1, True)
    assert "pass: 0, fail: 0, cannot judge: 1." in err
    assert run("check", budgets, "--allow-unknown")[0] == 0
    assert "nothing: cannot judge: No trace is of no run. The query gave no row." in " ".join(err.split())
    # Without a baseline there is no change.
    budgets.write_text(STEP_TIME)
    code, out, _ = run("check", budgets, "--of", "tuesday", "--format", "json")
    [row] = json.loads(out)
    assert (code, row["verdict"]) == (1, "cannot judge")
    assert row["sentence"].endswith(" No baseline is set: give one with --baseline SIDE.")


def test_junit_has_a_suite_per_file_and_a_case_per_row(run, tmp_path):
    budgets = tmp_path / "team.toml"
    budgets.write_text(STEP_TIME + NOTHING)
    target = tmp_path / "budgets.xml"
    code, _, _ = run("check", budgets, "--of", "wednesday", "--baseline", "monday", "--format", "junit", "-o", target)
    assert code == 1
    [suite] = ElementTree.parse(target).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "1")
    assert [case.get("name") for case in suite] == ["wednesday", "nothing"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[budget]\n", "not TOML"),
        ("budget = 3\n", "expected [[budget]] tables"),
        ("[limits]\nstep = 3\n", "expected [[budget]] tables, found limits"),
        ('[[budget]]\nname = "a"\nquery = "SELECT 1 AS value"\n', "budget a lacks sentence"),
        (STEP_TIME + "treshold = 3\n", "has treshold, which is no key of a budget"),
        (STEP_TIME.replace("after_ns", "aftr_ns"), "budget step_time: "),
        (STEP_TIME.replace("AS value", "AS worth"), "gives no column value"),
        (STEP_TIME + 'threshold = "3"\n', "threshold must be a number"),
        (STEP_TIME + STEP_TIME, "two budgets have the name step_time"),
        (STEP_TIME.replace("SELECT side", "DROP TABLE x; SELECT side"), "budget step_time: "),
        *(
            (STEP_TIME.replace("after_ns / 1e6 AS", f"{value} AS"), f"team.toml: budget step_time: {why}")
            for value, why in {
                "'abc'": "Conversion Error: Could not convert string 'abc' to DOUBLE",
                "[after_ns]": "Conversion Error: Unimplemented type for cast (BIGINT[] -> DOUBLE)",
                "INTERVAL 1 DAY": "Conversion Error: Unimplemented type for cast (INTERVAL -> DOUBLE)",
                "CAST(side AS INTEGER)": "Conversion Error: Could not convert string 'tuesday' to INT32",
                "error('boom')": "Invalid Input Error: boom",
                "1 AS value; SELECT 2": "a query is one statement, and these are 2",
            }.items()
        ),
    ],
)
def test_an_unusable_file_of_budgets_exits_with_3(run, tmp_path, text, message):
    budgets = tmp_path / "team.toml"
    budgets.write_text(text)
    code, out, err = run("check", budgets, "--of", "tuesday", "--baseline", "monday")
    assert (code, out) == (3, "")
    assert message in err
    assert "Traceback" not in err
    # What is made around a budget's query is not shown.
    assert "_budget_verdict" not in err
    assert "LINE" not in err


def test_the_shipped_budgets_are_answered(run):
    code, out, _ = run(
        "check", ROOT / "docs/examples/budgets.toml", "--of", "wednesday", "--baseline", "monday", "--format", "json"
    )
    found = {(row["budget"], row["verdict"]) for row in json.loads(out)}
    assert code == 1
    assert {("step_time", "fail"), ("no_category_slower", "fail")} <= found


def test_a_name_or_a_filter_with_a_slash_is_found_at_any_place(run, lake, tmp_path):
    words = ["--format", "json"]
    with tracelake.open(lake) as opened:
        opened.ingest(write(tmp_path / "c.json", slower(STEP, 0, 1.25)), trace="team/c", run="team/nightly")

    def steps(*sides):
        code, out, err = run("compare", *sides, "--terms", *words)
        assert code == 0, err
        return [(row["before_ns"], row["after_ns"]) for row in json.loads(out) if row["level"] == "step"]

    for word in ("team/c", "run=team/*", "trace=team/c"):
        [(before, after)] = steps("monday", word)
        # The first kernel of 100 µs takes a quarter longer.
        assert after - before == 25_000
        assert steps(word, "monday") == [(after, before)]
    assert run("kernels", "team/c", *words)[0] == 0
    for lost in ("team/d", "c.json"):
        code, _, err = run("compare", lost, "monday")
        assert (code, f"{lost}: no such file." in err) == (3, True)
    assert "runn: no trace has it" in run("compare", "runn=team/c", "monday")[2]
