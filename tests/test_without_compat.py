"""The product without the replicas of other tools' figures: nothing else reads them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tracelake.synthetic.gpu import write_gpu

ROOT = Path(__file__).resolve().parents[1]
REPLICAS = ("sql/compat", "analysis/compat", "reports/compat", "commands/compat.py")
#: Asks one question after the other, and prints what is answered or why not.
SCRIPT = """
import sys
from tracelake import cli
for words in {questions!r}:
    try:
        cli.cli(["--lake", "lake", *words], standalone_mode=False)
    except Exception as error:
        print(type(error).__name__, error)
print(sorted(name for name in sys.modules if "compat" in name and name.startswith("tracelake")))
"""
QUESTIONS = [
    ["ingest", "trace.json", "--num-layers", "6"],
    ["layers", "trace"],
    ["summary", "trace"],
    ["model", "roofline", "qwen3-8b", "--batch", "8", "--kv-len", "1024", "--hardware", "h200", "--format", "csv"],
    ["model", "report", "qwen3-8b", "--hardware", "h200"],
]


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """A copy of the package, the replicas left out."""
    folder = tmp_path_factory.mktemp("without")
    left_out = {ROOT / path for path in REPLICAS}
    package = folder / "tracelake"
    package.mkdir()
    for name in ("analysis", "commands", "engine", "ingest", "reports", "sql", "synthetic"):
        shutil.copytree(
            ROOT / name, package / name,
            ignore=lambda at, names: [one for one in names if Path(at) / one in left_out or one == "__pycache__"],
        )  # fmt: skip
    for path in ROOT.glob("*.py"):
        shutil.copyfile(path, package / path.name)
    assert not [path for path in REPLICAS if (package / path).exists()]
    return folder


def started(package, folder, questions):
    """Start a process that asks, whose package is the one in a folder."""
    folder.mkdir()
    write_gpu(folder / "trace.json")
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(questions=questions)], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(package)},
    )  # fmt: skip


def answered(process):
    """Return the lines that a process answers, when and where left out, which replicas it loaded, and its words."""
    out, said = process.communicate()
    assert process.returncode == 0, said
    out = re.sub(r"/\S*/trace\.json", "trace.json", out)
    *answers, loaded = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\dZ)?", "now", out).splitlines()
    return answers, loaded, said


def test_what_it_answers_is_the_same_to_the_byte(without, tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "tracelake").symlink_to(ROOT)
    both = started(without, tmp_path / "a", QUESTIONS), started(tmp_path / "whole", tmp_path / "b", QUESTIONS)
    (here, loaded, said), (there, _, said_there) = map(answered, both)
    assert loaded == "[]"
    assert len(here) > 500
    assert here == there
    assert said == said_there


def test_who_asks_for_them_is_told(without, tmp_path):
    model = ["qwen3-8b", "--hardware", "h200"]
    questions = [
        ["ingest", "trace.json"],
        ["model", "report", *model, "--formulas", "compat"],
        ["model", "sweep", *model, "--formulas", "compat"],
        ["model", "mfu", "qwen3-8b", "--formulas", "compat"],
        ["summary", "trace.json", "--compat"],
        ["kernels", "trace.json", "--layer", "0", "--format", "compat-json"],
        ["sql", "SELECT * FROM compat.phase_roofline"],
    ]
    answers, *_ = answered(started(without, tmp_path / "c", questions))
    assert answers[:2] == ["UsageError formulas=compat: unknown. Known: physical."] * 2
    assert answers[2].startswith("NoSuchOption No such option '--formulas'")
    assert answers[3].startswith("NoSuchOption No such option '--compat'")
    assert answers[4].startswith("BadParameter 'compat-json' is not one of")
    assert "compat" in answers[5]
    assert len(answers) == len(questions) - 1
