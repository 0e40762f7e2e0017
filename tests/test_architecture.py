"""What the folders promise: who imports whom, how large a module grows, what ships."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracelake

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NOT_OURS = {"build", "dist", "__pycache__"}


def modules(folder: Path = ROOT) -> Iterator[Path]:
    """Python files of the checkout, tests and generated folders left out."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            ours = path.name not in NOT_OURS and not path.name.startswith(".") and path != ROOT / "tests"
            yield from modules(path) if ours else ()
        elif path.suffix == ".py":
            yield path


def test_the_package_under_test_is_this_checkout():
    assert Path(tracelake.__file__).resolve() == ROOT / "__init__.py"


def test_dependencies_point_one_way(tmp_path):
    # Run from a folder where the package's name leads to this checkout, whatever the checkout is called.
    (tmp_path / "tracelake").symlink_to(ROOT)
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--config", ROOT / "pyproject.toml", "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_inside_the_package_imports_are_relative():
    # Not ruff's ban of a module: that takes `from . import x` for the package's name where the checkout is called so.
    scripts = {ROOT / "benchmarks", ROOT / "docs"}
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        if scripts.isdisjoint(path.parents)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if name.split(".")[0] == "tracelake" and not getattr(node, "level", 0)
    ]
    assert named == []


@pytest.mark.parametrize("folder", ["tracelake", "another-name"])
def test_the_style_holds_whatever_the_checkout_is_called(tmp_path, folder):
    checkout = tmp_path / folder
    for path in (*modules(), *(ROOT / "tests").rglob("*.py"), ROOT / "pyproject.toml"):
        copy = checkout / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    ruff = Path(sys.executable).with_name("ruff")
    for command in (["check", "--output-format", "concise"], ["format", "--check"]):
        run = subprocess.run(
            [ruff, *command, "--quiet", "--no-cache", "."], cwd=checkout, capture_output=True, text=True, check=False
        )
        assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_no_module_exceeds_400_lines():
    sizes = {path.relative_to(ROOT).as_posix(): path.read_bytes().count(b"\n") for path in modules()}
    assert sizes, "no module found"
    assert {path: lines for path, lines in sizes.items() if lines > 400} == {}


def test_sql_is_data_and_holds_no_python():
    assert [*(ROOT / "sql").rglob("*.py*")] == []


def test_every_folder_of_the_package_is_listed_for_the_wheel():
    folders = {path.parent.relative_to(ROOT).parts for path in modules() if path.parent != ROOT}
    packages = {".".join(("tracelake", *parts)) for parts in folders if parts[0] not in {"benchmarks", "docs"}}
    assert packages | {"tracelake"} == set(PROJECT["tool"]["setuptools"]["packages"])


def test_the_version_is_said_once():
    assert tracelake.__version__ == PROJECT["project"]["version"]
