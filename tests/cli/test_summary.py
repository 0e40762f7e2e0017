"""`tracelake summary` and `tracelake compare`."""

import json

import pytest

from tracelake.lake import Lake

from .. import summary_cases as cases


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake with two traces of five steps, and one of the host's steps."""
    folder = tmp_path_factory.mktemp("cli")
    for name in ("baseline", "106"):
        cases.write_case(folder / f"{name}.json", cases.CASES_I[name])
    cases.write_case(folder / "G.json", cases.CASE_G)
    with Lake(folder / "lake") as opened:
        opened.ingest(folder / "baseline.json", folder / "106.json", folder / "G.json")
    return folder / "lake"


def test_summary_prints_a_page(run):
    code, out, err = run("summary", "baseline")
    assert code == 0, err
    assert out.startswith("# Profile summary: baseline")
    assert err == ""


def test_the_file_s_suffix_chooses_json(run, tmp_path):
    code, out, _ = run("summary", "baseline", "-o", tmp_path / "s.json")
    assert (code, out) == (0, "")
    assert json.loads((tmp_path / "s.json").read_text())["schema"] == "tracelake.profile_summary.v1"


@pytest.mark.parametrize("name", ["s.csv", "s.json.gz", "s.html"])
def test_an_ending_that_no_summary_has_is_refused(run, tmp_path, name):
    code, out, err = run("summary", "baseline", "-o", tmp_path / name)
    assert (code, out) == (2, "")
    assert "a summary is Markdown (.md) or JSON (.json)" in err
    assert not (tmp_path / name).exists()


def test_options_of_the_reference_need_its_name(run):
    code, out, err = run("summary", "baseline", "--warmup-steps", "2")
    assert code == 2
    assert "--warmup-steps needs --compat" in err
    code, out, err = run("summary", "baseline", "--compat", "reference", "--warmup-steps", "2", "--format", "json")
    assert json.loads(out)["step_time"]["warmup_steps_ignored"] == 2


def test_compare_shows_measures_with_their_noise(run):
    code, out, err = run("compare", "baseline", "106", "--format", "json")
    assert code == 0, err
    [median] = [row for row in json.loads(out) if row["metric"] == "step, median"]
    assert (median["before"], median["after"], median["change_pct"], median["verdict"]) == (100, 106, 6, "worse")
    assert "steady step" in err


def test_compare_refuses_traces_measured_in_different_ways(run):
    code, _, err = run("compare", "baseline", "G")
    assert code == 2
    assert "cannot be compared" in err
    assert "Traceback" not in err


def test_compare_gates_a_change_and_fails_with_one(run):
    code, out, err = run("compare", "baseline", "106", "--gate", "--format", "json")
    assert code == 1
    [median] = [row for row in json.loads(out) if row["metric"] == "step_median"]
    assert (median["change"], median["threshold"], median["verdict"]) == (6, 5, "fail")
    assert err.rstrip().endswith("tracelake: fail")
    # All operations are in the first step, which is warm-up: of steps without work a gate certifies nothing.
    code, out, err = run("compare", "106", "baseline", "--gate")
    assert code == 1
    assert "no work in a step: 3 of 3 steady steps of 106 have no device operation" in err


def test_compare_shows_families(run, call, tmp_path):
    texts = {"before": "fusion.1 0+10; all-reduce.1 10+20", "after": "fusion.1 0+15; all-reduce.1 15+20"}
    paths = [
        cases.write_case(tmp_path / f"{name}.json", [(1, "/device:TPU:0", {"XLA Ops": text})])
        for name, text in texts.items()
    ]
    assert call("--lake", tmp_path / "lake", "ingest", *paths)[0] == 0
    families = ("compare", "before", "after", "--families", "--format", "json")
    code, out, err = call("--lake", tmp_path / "lake", *families)
    assert code == 0, err
    rows = [(row["family"], row["change_us"], row["time_ratio"]) for row in json.loads(out)]
    assert rows == [("fusion", 5, 1.5), ("collective", 0, 1)]
    code, out, err = run("compare", "baseline", "106", "--families", "--ops")
    assert code == 2
    assert "give one" in err


def test_a_trace_beside_itself_is_said_and_strictly_refused(run):
    code, _, err = run("compare", "baseline", "baseline")
    assert code == 0
    assert "both are the same trace" in err
    code, _, err = run("compare", "baseline", "baseline", "--strict")
    assert code == 2
    assert "Give two traces" in err
