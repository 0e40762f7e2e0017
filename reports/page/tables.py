"""Rows of the lake in the form pages need: objects for charts, tables for folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..output.grid import aligned
from ..output.render import plain
from ..output.table import Column, Table, text

if TYPE_CHECKING:
    import duckdb

    from ...engine.store import Store

Row = dict[str, Any]
#: As wide as a figure, and not left out at the end of a cell.
_FIGURE_SPACE = "\u2007"


def objects(store: Store, query: str, **parameters: Any) -> list[Row]:
    """Return the rows of a query with parameters `$name`, as one object each."""
    return [{name: plain(value) for name, value in row.items()} for row in store.objects(query, **parameters)]


def of_relation(relation: duckdb.DuckDBPyRelation) -> list[Row]:
    """Return the rows of an answer as one object each."""
    names = relation.columns
    return [dict(zip(names, map(plain, row), strict=True)) for row in relation.fetchall()]


def table(rows: Sequence[Mapping[str, Any]], names: Sequence[str], title: str, unit: str = "") -> Table:
    """Return columns of rows as a table; unit: the unit of its numbers, as text."""
    columns = tuple(
        Column(name) if all(isinstance(row[name], int | float | None) for row in rows) else text(name) for name in names
    )
    return Table(columns, tuple(tuple(row[name] for name in names) for row in rows), title, unit)


def aligned_cells(table: Table) -> list[list[str]]:
    """Return the rows of a table as text, with equal decimals in a column; see `aligned`."""
    if not table.rows:
        return []
    rows = table.cells()
    columns = [
        aligned(cells, _FIGURE_SPACE) if column.numeric else cells
        for column, cells in zip(table.columns, zip(*rows, strict=True), strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]
