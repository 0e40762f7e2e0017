"""The prose of a model report: Markdown files with a heading for each section, facts in braces."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from ...analysis.formulas import Formulas
from ...engine import replicas

#: The name of a rule.
_RULE = re.compile(r"^## (.*)$", re.MULTILINE)
_HEADING = re.compile(r"^#{2,4} ([\d.]+)\. (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Prose:
    """The beginning of a section: its heading, paragraphs, and the items of a list below them."""

    title: str
    paragraphs: tuple[str, ...]
    items: tuple[str, ...]


def prose(formulas: Formulas) -> dict[str, Prose]:
    """Return the prose of each section by its number, in order; a set of formulas may replace some."""
    found = dict(_read(Path(__file__).with_name("prose.md")))
    others = replicas.of("reports")
    if others is not None and formulas.name in others.PROSE:
        for number, other in _read(others.PROSE[formulas.name]).items():
            found[number] = Prose(found[number].title, other.paragraphs, found[number].items)
    return found


@functools.cache
def sentences() -> dict[str, str]:
    """Return the sentence of each rule of the table report_rules."""
    _, *parts = _RULE.split(Path(__file__).with_name("advice.md").read_text(encoding="utf-8"))
    return {rule: _one_line(text) for rule, text in zip(parts[::2], parts[1::2], strict=True)}


@functools.cache
def _read(path: Path) -> dict[str, Prose]:
    # Text before the first heading, then a number, a title and a text for each.
    _, *parts = _HEADING.split(path.read_text(encoding="utf-8"))
    found = {}
    for number, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        blocks = text.strip().split("\n\n")
        paragraphs = tuple(_one_line(block) for block in blocks if not block.startswith("- "))
        lists = [block.removeprefix("- ").split("\n- ") for block in blocks if block.startswith("- ")]
        found[number] = Prose(title, paragraphs, tuple(_one_line(item) for items in lists for item in items))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())
