"""The workflow for GitHub that the documentation ships: its own commands run, on traces that are made here."""

import subprocess
import sys
from pathlib import Path

import pytest

from tracelake.synthetic.steps import STEP, slower, write_steps

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "tracelake-gate.yml"


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.5, 1)])
def test_the_workflow_passes_what_is_no_slower_and_fails_what_is(tmp_path, factor, code):
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["budgets"]["steps"]
    scripts = {step["name"]: step["run"] for step in steps if "name" in step}
    assert list(scripts) == ["Profile the base", "Profile the pull request", "Ingest", "Check"]
    write_steps(tmp_path / "base.json.gz", noise=0.002, seed=1)
    write_steps(tmp_path / "head.json.gz", slower(STEP, 0, factor), noise=0.002, seed=2)
    budgets = (ROOT / "docs" / "examples" / "budgets.toml").read_text()
    # A made-up training step is no serving trace: what is left of the budgets is about changes.
    (tmp_path / "budgets.toml").write_text(budgets.partition('[[budget]]\nname = "exposed_communication"')[0])
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path),
                   "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}  # fmt: skip
    for name in ("Ingest", "Check"):
        run = subprocess.run(
            ["bash", "-e", "-c", scripts[name]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == code, run.stdout + run.stderr
    assert "<testsuites>" in (tmp_path / "budgets.xml").read_text()
    summary = (tmp_path / "summary.md").read_text()
    assert ("fail" in summary, "step_time" in summary) == (bool(code), True)
