"""A table for people: rows, the decimals of their numbers, and their units."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column: text, or numbers with a fixed number of decimals; None: as many as needed."""

    name: str
    decimals: int | None = None
    numeric: bool = True


def text(name: str) -> Column:
    """Return a column of text."""
    return Column(name, numeric=False)


@dataclass(frozen=True)
class Table:
    """Rows under a title.

    Attributes:
        columns: the columns.
        rows: the values, with numbers unrounded.
        title: what the table shows.
        unit: the unit of its numbers, as text.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    unit: str = ""

    def cells(self) -> list[list[str]]:
        """Return the rows as text."""
        return [[shown(value, column.decimals) for value, column in self._pairs(row)] for row in self.rows]

    def objects(self) -> list[dict[str, Any]]:
        """Return the rows as one object each, with numbers unrounded."""
        return [{column.name: value for value, column in self._pairs(row)} for row in self.rows]

    def _pairs(self, row: tuple[Any, ...]) -> Iterable[tuple[Any, Column]]:
        return zip(row, self.columns, strict=True)


def shown(value: Any, decimals: int | None = None) -> str:
    """Return a value in readable form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return decimal(value) if decimals is None else f"{value:z.{decimals}f}"
    return str(value)


def decimal(value: float) -> str:
    """Return a number with three decimals, below 0.1 with three significant digits, without zeros at its end or -0."""
    if 0 < abs(value) < 0.1:
        return f"{value:.3g}"
    return f"{value:.6g}" if abs(value) >= 1e15 else f"{value:z.3f}".rstrip("0").rstrip(".")


def cut(name: str, length: int) -> str:
    """Shorten a name to a length, with three dots at its end."""
    return name if len(name) <= length else name[: length - 3] + "..."


def which(numbers: Sequence[int]) -> str:
    """Return ascending numbers in compact form: 0-35, or 0,2…22, or 0-2,7."""
    steps = {after - before for before, after in itertools.pairwise(numbers)}
    if len(numbers) > 3 and len(steps) == 1 and steps != {1}:
        return f"{numbers[0]},{numbers[1]}…{numbers[-1]}"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return ",".join(parts) if len(parts) <= 8 else ",".join([*parts[:7], f"…{numbers[-1]}"])
