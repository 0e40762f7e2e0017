"""A page as one HTML file: five lines, sections with a chart and its folded table, and the meaning of columns."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.sql import modules
from ...engine.text import printable
from ..charts.vega import Chart, scripts
from ..output.table import Table, cut
from ..summary.headline import Headline
from .tables import aligned_cells

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).resolve().parent / "templates"
#: Code, between backquotes.
_TYPED = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class Fold:
    """A foldable table.

    Attributes:
        table: the rows, with title and unit.
        relation: the relation that documents its columns; empty if there is none.
        is_open: whether it is initially unfolded.
        longest_cell: maximum characters of a cell; hovering shows all of it.
    """

    table: Table
    relation: str = ""
    is_open: bool = False
    longest_cell: int = 80


@dataclass(frozen=True)
class Card:
    """A finding.

    Attributes:
        title: what was found.
        lines: text.
        mood: high, medium, error, warning or ok: the colour of its edge.
        link: target of the title.
        parts: parts of the time in percent, shown as one bar.
    """

    title: str
    lines: tuple[str, ...]
    mood: str = ""
    link: str = ""
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Attributes:
        key: its anchor in the page.
        title: heading.
        see: a sentence on what to see, or why there is nothing.
        charts: charts.
        cards: findings.
        folds: tables.
    """

    key: str
    title: str
    see: str
    charts: tuple[Chart, ...] = ()
    cards: tuple[Card, ...] = ()
    folds: tuple[Fold, ...] = ()


@dataclass(frozen=True)
class Opening:
    """The five lines of a page about several traces.

    Attributes:
        texts: the lines, each with its label.
        mood: ok, warning or error: the colour of the line of trust.
        parts: empty: a bar belongs to one trace's time.
    """

    texts: tuple[tuple[str, str], ...]
    mood: str
    parts: tuple[tuple[str, float], ...] = ()

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines, each with its label."""
        return list(self.texts)


@dataclass(frozen=True)
class Page:
    """A page: its title, the line below it, the five lines, and its sections."""

    title: str
    subtitle: str
    opening: Headline | Opening | None
    sections: tuple[Section, ...]

    @property
    def charts(self) -> dict[str, object]:
        """The charts' specifications by name; the page's own script sets their colours."""
        return {
            chart.name: {key: spelled(part) for key, part in chart.spec.items() if key != "config"}
            for section in self.sections for chart in section.charts
        }  # fmt: skip


def spelled(part: object) -> object:
    """Return a part of a chart with control characters in names escaped."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, list):
        return [spelled(item) for item in part]
    return {key: spelled(item) for key, item in part.items()} if isinstance(part, dict) else part


def as_html(page: Page) -> str:
    """Return a page as HTML."""
    relations = dict.fromkeys(fold.relation for section in page.sections for fold in section.folds if fold.relation)
    return environment().get_template("page.html.j2").render(
        page=page, charts=page.charts, scripts=scripts().replace("</script", "<\\/script") if page.charts else "",
        definitions=list(_definitions(relations)),
    )  # fmt: skip


def coded(text: str) -> str:
    """Return a text as HTML in which code is marked up: `tracelake doctor`."""
    from markupsafe import Markup, escape

    return Markup(_TYPED.sub(r"<code>\1</code>", str(escape(printable(text)))))


def _definitions(relations: Iterable[str]) -> Iterable[modules.Module]:
    return (entry for name in relations if (entry := modules.module(name)) is not None)


@functools.cache
def _defined(relation: str) -> frozenset[str]:
    entry = modules.module(relation) if relation else None
    return frozenset() if entry is None else frozenset(column.name for column in entry.columns)


def _is_defined(relation: str, column: str) -> bool:
    """Return whether a relation documents a column; one in µs may be documented in ns."""
    return bool({column, column.removesuffix("_us") + "_ns"} & _defined(relation))


@functools.cache
def environment() -> jinja2.Environment:
    """Return the template environment: it escapes everything inserted."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )  # fmt: skip
    environment.filters |= {"short": cut, "coded": coded, "cells": aligned_cells}
    environment.globals["is_defined"] = _is_defined
    return environment
