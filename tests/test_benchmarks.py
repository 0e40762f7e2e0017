"""Benchmarks run for hours and so in no test: what they import, and what their programs in strings import, is there."""

import ast
import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


def imported(code: str) -> Iterator[tuple[str, str]]:
    """Yield what a program takes from the package, module and name, and what programs in its strings take."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tracelake"):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\nimport " in node.value:
            # Text with an import in a line of its own may be no program.
            with contextlib.suppress(SyntaxError):
                yield from imported(node.value)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_what_a_benchmark_imports_is_there(path):
    for module, name in imported(path.read_text(encoding="utf-8")):
        assert hasattr(importlib.import_module(module), name), f"{name} of {module}"


def test_programs_in_strings_are_looked_into():
    assert ("tracelake.ingest.land", "ingest_one") in set(imported((FOLDER / "run.py").read_text(encoding="utf-8")))
