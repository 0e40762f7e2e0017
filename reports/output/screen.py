"""The terminal that an answer goes to: its width, its colours, which columns matter most."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...engine.store import Store

#: A terminal that reports no width, or too little for a table, is taken to have this width.
_LEAST_WIDTH = 40


@dataclass(frozen=True)
class Look:
    """How a column is displayed, a row of the table screen_columns.

    Attributes:
        priority: from 1; columns with the highest numbers are left out first, those of 1 never.
        kind: id (never cut), name (cut in the middle), prose (wrapped), share (percent of a whole, with a bar), size
            (a bar up to the largest), state (a word with a colour), mixed (numbers of different units), or nothing.
    """

    priority: int = 5
    kind: str = ""


@dataclass(frozen=True)
class Screen:
    """A terminal, or a file.

    Attributes:
        width: characters of a line; None for unlimited.
        colour: whether colours are shown.
        looks: how columns are displayed, by name.
    """

    width: int | None = None
    colour: bool = False
    looks: Mapping[str, Look] = field(default_factory=dict)

    def look(self, column: str) -> Look:
        """Return how a column is displayed."""
        return self.looks.get(column, Look())


#: A file or a pipe: everything in full, without colours.
PLAIN = Screen()


def screen_of(store: Store | None, *, wide: bool = False, colour: str = "auto") -> Screen:
    """Return the properties of the terminal that stdout is.

    Args:
        store: the lake, whose table screen_columns applies.
        wide: lines may be longer than the terminal.
        colour: auto, always or never; auto follows the terminal and NO_COLOR.
    """
    terminal = sys.stdout.isatty()
    if not terminal or wide:
        return Screen(None, _coloured(terminal, colour), looks(store) if colour == "always" or wide else {})
    width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH)
    return Screen(width, _coloured(terminal, colour), looks(store))


def _coloured(terminal: bool, colour: str) -> bool:
    if colour != "auto":
        return colour == "always"
    # no-color.org: present and not empty.
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def looks(store: Store | None) -> dict[str, Look]:
    """Return how columns are displayed, by name: the lake's table screen_columns."""
    if store is None:
        return {}
    rows = store.rows("SELECT \"column\", priority, coalesce(kind, '') FROM screen_columns")
    return {column: Look(priority, kind) for column, priority, kind in rows}


#: Colours by meaning. Each is beside a word, so nothing is lost without them.
_COLOURS = {
    "bold": "1", "dim": "2", "bar": "36",
    "error": "31", "fail": "31", "FAIL": "31", "worse": "31",
    "warning": "33", "warn": "33", "WARN": "33", "unknown": "33",
    "ok": "32", "pass": "32", "PASS": "32", "better": "32",
    "compute": "32", "communication alone": "35", "copies alone": "34", "no launch": "31", "idle": "2",
}  # fmt: skip


def painted(text: str, meaning: str, screen: Screen) -> str:
    """Return a text in the colour of a meaning; unchanged if there is none, or the screen shows no colours."""
    code = _COLOURS.get(meaning)
    return f"\x1b[{code}m{text}\x1b[0m" if code and screen.colour and text.strip() else text
