"""What the folders promise: who imports whom, how large a module grows, what ships."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
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


def test_no_folder_of_sql_exceeds_25_relations():
    sizes = Counter(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "sql").rglob("*.sql"))
    assert sizes, "no relation found"
    assert {folder: relations for folder, relations in sizes.items() if relations > 25} == {}


def test_sql_is_data_and_holds_no_python():
    assert [*(ROOT / "sql").rglob("*.py*")] == []


#: Files whose strings may still join and group; a file leaves the list when its queries have moved to sql/.
JOINS_IN_PYTHON = {
    "analysis/sweeps.py", "demo.py", "reports/compat/mfu.py",
    "reports/compat/summary.py", "reports/output/columns.py",
}  # fmt: skip


def joins(path: Path) -> list[str]:
    """What a file's strings, its docstrings aside, have of SQL that belongs into sql/."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    return [
        found
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        for found in re.findall(r"\b(?:GROUP BY|JOIN|WITH [a-z_]+ AS)\b", node.value)
    ]


def test_what_joins_and_groups_is_sql_and_no_string_in_python():
    inside = {ROOT / name for name in ("engine", "ingest", "synthetic", "benchmarks", "docs")}
    found = {path.relative_to(ROOT).as_posix() for path in modules() if inside.isdisjoint(path.parents) and joins(path)}
    assert found == JOINS_IN_PYTHON


def test_the_lake_has_no_parents_and_its_methods_only_call():
    tree = ast.parse((ROOT / "lake.py").read_text(encoding="utf-8"))
    [lake] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert lake.bases == []
    for method in lake.body:
        if isinstance(method, ast.FunctionDef):
            kinds = [type(node) for node in method.body if not isinstance(node, ast.ImportFrom)]
            named = kinds if method.name in ("__enter__", "__exit__") else kinds[1:]
            assert len(named) == 1, method.name


def test_every_folder_of_the_package_is_listed_for_the_wheel():
    folders = {path.parent.relative_to(ROOT).parts for path in modules() if path.parent != ROOT}
    packages = {".".join(("tracelake", *parts)) for parts in folders if parts[0] not in {"benchmarks", "docs"}}
    assert packages | {"tracelake"} == set(PROJECT["tool"]["setuptools"]["packages"])


def test_the_version_is_said_once():
    assert tracelake.__version__ == PROJECT["project"]["version"]
