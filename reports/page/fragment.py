"""Answers as HTML fragments for notebooks: as on a terminal, with bars, in the notebook's colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...engine.sql import modules
from ..output.grid import Field, cut_middle, fitted, share_of, with_bar
from ..summary.headline import Headline
from .page import environment

#: Maximum characters of all columns of a table together, and of one cell.
_WIDTH, _LONGEST_CELL = 130, 60
#: Words of states, and the CSS class that colours them.
_MOODS = {
    "error": "bad", "fail": "bad", "FAIL": "bad", "worse": "bad", "warning": "warn", "warn": "warn", "WARN": "warn",
    "unknown": "warn", "ok": "good", "pass": "good", "PASS": "good", "better": "good",
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A cell: its text, its full text if cut, its classes, and the length of its bar in percent."""

    text: str
    whole: str
    css: str
    pct: float


@dataclass(frozen=True)
class Shown:
    """A column, and its meaning."""

    field: Field
    meaning: str

    def cell(self, row: int) -> Cell:
        """Return the cell of a row."""
        whole, kind = self.field.cells[row], self.field.look.kind
        text = whole if kind == "prose" else cut_middle(whole, _LONGEST_CELL)
        mood = _MOODS.get(whole, "") if kind == "state" else ""
        css = "number" if self.field.right else "prose" if kind == "prose" else mood
        return Cell(text, whole if text != whole else "", css, 100 * share_of(self.field, whole))


@dataclass(frozen=True)
class Part:
    """A fragment: a title, five lines, text, and a table with notes below it."""

    title: str = ""
    opening: Headline | None = None
    lines: tuple[str, ...] = ()
    plain: str = ""
    columns: tuple[Shown, ...] = ()
    rows: int = 0
    notes: tuple[str, ...] = ()


def table(title: str, fields: Sequence[Field], rows: int, notes: Sequence[str] = (), relation: str = "") -> Part:
    """Return a table, without the columns for which a screen would have no room: they are named below it.

    Args:
        title: what it shows.
        fields: all columns.
        rows: how many rows it has.
        notes: sentences below it.
        relation: the relation that documents the columns; empty if there is none.
    """
    if not rows:
        return Part(title, notes=("No rows.", *notes))
    fit = fitted(list(fields), rows, _WIDTH)
    # If it is too wide even at its narrowest, it is scrolled.
    shown = fit.fields if fit.shown is None else fit.shown
    bars = with_bar(shown)
    left_out = (f"Not shown: {', '.join(fit.left_out)}; .columns has all.",) if fit.left_out else ()
    entry = modules.module(relation) if relation else None
    meanings = {} if entry is None else {column.name: column.text for column in entry.columns}
    columns = tuple(Shown(replace(one, bar=one is bars), meanings.get(one.name, "")) for one in shown)
    return Part(title, columns=columns, rows=rows, notes=(*notes, *fit.notes, *left_out))


def as_html(*parts: Part) -> str:
    """Return fragments as one piece of HTML; names in them are escaped."""
    return environment().get_template("fragment.html.j2").render(parts=parts)
