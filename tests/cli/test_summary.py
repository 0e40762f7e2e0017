"""`tracelake summary` and `tracelake compare`."""

import json

import pytest

from .. import summary_cases as cases
from ..support import run_cli


@pytest.fixture(scope="module")
def lake_path(tmp_path_factory):
    """A lake with two traces of five steps, and one of the host's steps."""
    folder = tmp_path_factory.mktemp("cli")
    for name in ("baseline", "106"):
        cases.write_case(folder / f"{name}.json", cases.CASES_I[name])
    cases.write_case(folder / "G.json", cases.CASE_G)
    done = run_cli("ingest", folder / "baseline.json", folder / "106.json", folder / "G.json", lake=folder / "lake")
    assert done.returncode == 0, done.stderr
    return folder / "lake"


def test_summary_prints_a_page(lake_path):
    done = run_cli("summary", "baseline", lake=lake_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Profile summary: baseline")
    assert done.stderr == ""


def test_the_file_s_suffix_chooses_json(lake_path, tmp_path):
    done = run_cli("summary", "baseline", "-o", tmp_path / "s.json", lake=lake_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "s.json").read_text())["schema"] == "tracelake.profile_summary.v1"


def test_options_of_the_reference_need_its_name(lake_path):
    done = run_cli("summary", "baseline", "--warmup-steps", "2", lake=lake_path)
    assert done.returncode == 2
    assert "--warmup-steps needs --compat" in done.stderr
    done = run_cli("summary", "baseline", "--compat", "reference", "--warmup-steps", "2", "--format", "json",
                   lake=lake_path)  # fmt: skip
    assert json.loads(done.stdout)["step_time"]["warmup_steps_ignored"] == 2


def test_compare_shows_measures_with_their_noise(lake_path):
    done = run_cli("compare", "baseline", "106", "--format", "json", lake=lake_path)
    assert done.returncode == 0, done.stderr
    [median] = [row for row in json.loads(done.stdout) if row["metric"] == "step, median"]
    assert (median["before"], median["after"], median["change_pct"], median["verdict"]) == (100, 106, 6, "worse")
    assert "steady step" in done.stderr


def test_compare_refuses_traces_measured_in_different_ways(lake_path):
    done = run_cli("compare", "baseline", "G", lake=lake_path)
    assert done.returncode == 2
    assert "cannot be compared" in done.stderr
    assert "Traceback" not in done.stderr


def test_compare_gates_a_change_and_fails_with_one(lake_path):
    done = run_cli("compare", "baseline", "106", "--gate", "--format", "json", lake=lake_path)
    assert done.returncode == 1
    [median] = [row for row in json.loads(done.stdout) if row["metric"] == "step_median"]
    assert (median["change"], median["threshold"], median["verdict"]) == (6, 5, "fail")
    assert done.stderr.rstrip().endswith("tracelake: fail")
    # All operations are in the first step, which is warm-up: of steps without work a gate certifies nothing.
    done = run_cli("compare", "106", "baseline", "--gate", lake=lake_path)
    assert done.returncode == 1
    assert "no work in a step: 3 of 3 steady steps of 106 have no device operation" in done.stderr


def test_compare_shows_families(lake_path, tmp_path):
    texts = {"before": "fusion.1 0+10; all-reduce.1 10+20", "after": "fusion.1 0+15; all-reduce.1 15+20"}
    paths = [
        cases.write_case(tmp_path / f"{name}.json", [(1, "/device:TPU:0", {"XLA Ops": text})])
        for name, text in texts.items()
    ]
    assert run_cli("ingest", *paths, lake=tmp_path / "lake").returncode == 0
    done = run_cli("compare", "before", "after", "--families", "--format", "json", lake=tmp_path / "lake")
    assert done.returncode == 0, done.stderr
    rows = [(row["family"], row["change_us"], row["time_ratio"]) for row in json.loads(done.stdout)]
    assert rows == [("fusion", 5, 1.5), ("collective", 0, 1)]
    done = run_cli("compare", "baseline", "106", "--families", "--ops", lake=lake_path)
    assert done.returncode == 2
    assert "give one" in done.stderr


def test_a_trace_beside_itself_is_said_and_strictly_refused(lake_path):
    done = run_cli("compare", "baseline", "baseline", lake=lake_path)
    assert done.returncode == 0
    assert "both are the same trace" in done.stderr
    done = run_cli("compare", "baseline", "baseline", "--strict", lake=lake_path)
    assert done.returncode == 2
    assert "Give two traces" in done.stderr
