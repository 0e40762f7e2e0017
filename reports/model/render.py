"""A model report as Markdown, with its charts as SVG beside it, or as one HTML page that needs no network."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.text import markdown_prose, printable
from ..charts.diagrams import Diagram
from ..charts.vega import Chart, scripts
from .blocks import Block, Items
from .sections import Section
from .tables import Table

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).resolve().parent / "templates"
_KINDS: tuple[tuple[type, str], ...] = ((Table, "table"), (Items, "items"), (Chart, "chart"), (Diagram, "diagram"))


@dataclass(frozen=True)
class Report:
    """A report: its title, the text below it, and its sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]

    @property
    def charts(self) -> list[Chart]:
        """The charts, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Chart)]


def as_markdown(report: Report, files: Mapping[str, str]) -> str:
    """Return a report as Markdown; `files` has the path of each chart's file, by its name."""
    text = _environment().get_template("report.md.j2").render(
        title=report.title, subtitle=report.subtitle, sections=report.sections, files=files
    )  # fmt: skip
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def as_html(report: Report) -> str:
    """Return a report as a page."""
    return _environment().get_template("report.html.j2").render(
        title=report.title, subtitle=report.subtitle, sections=report.sections,
        specs={chart.name: chart.spec for chart in report.charts}, scripts=scripts().replace("</script", "<\\/script"),
    )  # fmt: skip


def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=lambda name: bool(name and name.endswith(".html.j2")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "kind": _kind,
        "markdown_table": _markdown_table,
        "inline": _inline,
        "prose": markdown_prose,
    }
    return environment


def _kind(block: Block) -> str:
    return next((name for type_, name in _KINDS if isinstance(block, type_)), "remark")


def _markdown_table(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_prose(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    marks = ["---:" if numeric else "---" for numeric in table.numeric]
    return "\n".join([line(table.headings), line(marks), *(line(row) for row in table.rows)])


def _inline(text: str) -> object:
    """Return a text with its code and its emphasis as HTML."""
    import markupsafe

    marked = html.escape(printable(str(text)), quote=False)
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", marked)
    marked = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", marked)
    return markupsafe.Markup(marked)
