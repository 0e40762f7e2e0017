"""Budgets judge all that they are to judge, or report what they could not."""

import json

import pytest

import tracelake
from tracelake.synthetic.steps import STEP, slower
from tracelake.synthetic.steps import write_steps as write

from ..kernel_traces import GEMM, Trace

STEP_TIME = """
[[budget]]
name = "step_time"
sentence = "A step takes at most 3 % longer than the baseline's."
query = "SELECT side AS item, after_ns / 1e6 AS value, 1.03 * before_ns / 1e6 AS threshold FROM comparisons"
"""
CHECKED = """
[[budget]]
name = "checked"
sentence = "A trace has a name."
query = "SELECT trace AS item, len(trace) AS value FROM checked_traces ORDER BY trace"
threshold = 100
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    without_steps = Trace()
    without_steps.kernel(GEMM, 2, 100, 100)
    without_work = Trace()
    without_work.op("aten::mm", 1, 30, [[64, 64], [64, 64]])
    files = [
        write(folder / "monday.json", steps=4),
        write(folder / "tuesday.json", slower(STEP, 0, 1.02), steps=4),
        without_steps.write(folder / "whole.json"),
        without_work.write(folder / "host.json"),
    ]
    with tracelake.Lake(folder / "lake", stored=False) as opened:
        opened.ingest(*files, events_only=True)
    return folder / "lake"


@pytest.fixture
def check(lake, call, tmp_path):
    """Return what sets baselines, checks a budget and returns exit status, verdicts by item, and messages."""

    def checked(*words, baselines=(), budget=STEP_TIME):
        (tmp_path / "team.toml").write_text(budget)
        with tracelake.Lake(lake, stored=False) as opened:
            for trace, baseline in {"tuesday": None, "whole": None, "host": None, **dict(baselines)}.items():
                opened.set(trace, baseline=baseline)
        code, out, err = call("--lake", lake, "check", tmp_path / "team.toml", *words, "--format", "json")
        return code, {row["item"]: (row["verdict"], row["sentence"]) for row in json.loads(out or "[]")}, err

    return checked


@pytest.mark.parametrize("words", [[], ["--of", "whole"], ["--of", "whole", "--baseline", "monday"]])
def test_what_is_measured_in_different_ways_is_compared_on_request_alone(check, words):
    code, verdicts, err = check(*words, baselines={"whole": "monday"})
    assert (code, verdicts) == (2, {})
    assert "monday and whole are measured in different ways (steady step (profiler step) before, whole trace" in err
    code, verdicts, _ = check(*words, "--anyway", baselines={"whole": "monday"})
    # One kernel of 100 µs, beside steps of 440 µs.
    assert (code, verdicts["whole"][0]) == (0, "pass")
    if not words:
        assert check(baselines={"whole": "monday"}, budget=CHECKED)[0] == 0


def test_a_side_without_device_work_is_not_judged(check):
    code, verdicts, err = check("--of", "tuesday", "--of", "host", "--baseline", "monday")
    assert code == 1
    assert {item: verdict for item, (verdict, _) in verdicts.items()} == {"tuesday": "pass", "host": "cannot judge"}
    assert verdicts["host"][1] == "host has no device operation that takes time."
    assert "pass: 1, fail: 0, cannot judge: 1." in err
    assert check("--of", "tuesday", "--of", "host", "--baseline", "monday", "--allow-unknown")[0] == 0


@pytest.mark.parametrize(
    ("side", "baseline", "reason"),
    [
        ("host", "monday", "host has no device operation that takes time."),
        ("monday", "host", "monday has the baseline host, which has no device operation that takes time."),
    ],
)
def test_a_comparison_without_any_device_work_on_one_side_is_not_judged_and_no_error(check, side, baseline, reason):
    code, verdicts, err = check("--of", side, "--baseline", baseline)
    assert (code, verdicts) == (1, {side: ("cannot judge", reason)})
    assert "pass: 0, fail: 0, cannot judge: 1." in err


@pytest.mark.parametrize(
    ("baselines", "reason"),
    [
        ({"host": "typo"}, "host has the baseline typo, which is no trace or run of the lake."),
        ({"host": "monday"}, "host has no device operation that takes time."),
        ({"whole": "host"}, "whole has the baseline host, which has no device operation that takes time."),
        ({"whole": "whole"}, "whole is its own baseline."),
    ],
)
def test_in_the_whole_lake_what_cannot_be_compared_is_not_judged(check, baselines, reason):
    code, verdicts, _ = check(baselines={"tuesday": "monday", **baselines})
    [name] = baselines
    assert (code, verdicts["tuesday"][0], verdicts[name]) == (1, "pass", ("cannot judge", reason))
    # A budget that compares nothing needs no baseline.
    code, verdicts, _ = check(baselines=baselines, budget=CHECKED)
    assert (code, {*verdicts}) == (0, {"monday", "tuesday", "whole", "host"})


@pytest.mark.parametrize(
    ("words", "baselines", "reason"),
    [
        (["whole", "tuesday"], {"tuesday": "monday"}, "whole: no baseline is set, but monday is for the others"),
        (["whole", "tuesday"], {"tuesday": "monday", "whole": "host"}, "several baselines (host, monday)"),
        (["tuesday"], {"tuesday": "tuesday"}, "tuesday is its own baseline: give another one with --baseline."),
    ],
)
def test_sides_are_judged_by_their_own_baseline_alone(check, words, baselines, reason):
    code, verdicts, err = check(*(word for name in words for word in ("--of", name)), baselines=baselines)
    assert (code, verdicts) == (2, {})
    assert reason in err
