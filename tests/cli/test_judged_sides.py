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
    # A budget that compares nothing needs no baseline.
    if not words:
        assert check(baselines={"whole": "monday"}, budget=CHECKED)[0] == 0
