"""Which relations are made as tables where answers are computed in memory, and which of them surely have no rows.

What is stored, and every view that several relations read: so no query is planned deeper than to the next table.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from . import modules
from .schema import empty_select

if TYPE_CHECKING:
    import duckdb

#: Views that several read, and few of them much of: all events, in tables of their own, would take the memory. What
#: kernels are of which model differs from what is there in few traces alone.
NEVER_TABLES = frozenset({"events", "_kernel_series", "_seated_kernels"})
#: Columns, with their types, of helpers that were empty before.
_helper_columns: dict[str, dict[str, str]] = {}


def as_tables(order: Sequence[modules.Module], given: Collection[str] = ()) -> set[str]:
    """Return the relations to make as tables.

    Args:
        order: the relations that are needed.
        given: those of them that are there already.
    """
    made = [entry for entry in order if entry.name not in given]
    readers = Counter(used for entry in made for used in entry.uses)
    return {
        entry.name
        for entry in made
        if entry.kind == "VIEW" and entry.name not in NEVER_TABLES
        if entry.kept or (readers[entry.name] > 1 and not entry.is_twin)
    }


@functools.cache
def unshipped() -> frozenset[str]:
    """Return the tables without rows of their own: those that a connection is given, scenarios among them."""
    tables = (entry.name for entry in modules.relations() if entry.kind == "TABLE")
    return frozenset(name for name in tables if not modules.csv_file(name).exists())


def no_rows(entry: modules.Module, connection: duckdb.DuckDBPyConnection, trace_ids: str = "VARCHAR") -> str:
    """Return a SELECT with a relation's columns and no rows, which DuckDB prunes from what reads it.

    Args:
        entry: the relation.
        connection: a connection to what it reads.
        trace_ids: the type of the traces' ids there.
    """
    columns = {column.name: column.type for column in entry.columns} or _helper_columns.get(entry.name)
    if not columns:
        # A helper's columns are not written down: they are its query's.
        described = connection.execute(f"DESCRIBE {entry.query}").fetchall()
        columns = {name: "VARCHAR" if kind.startswith("ENUM") else kind for name, kind, *_ in described}
        _helper_columns[entry.name] = columns
    return empty_select({name: trace_ids if name.endswith("trace_id") else kind for name, kind in columns.items()})


class Emptiness:
    """Which relations of a connection surely have no rows, by the tables that they are made from.

    Attributes:
        rows: of each table that is there how many rows it has.
    """

    def __init__(self, is_view: Callable[[str], bool]) -> None:
        """Know of no table.

        Args:
            is_view: whether a relation is the view of its name's module in this connection.
        """
        self.rows: dict[str, int] = {}
        self._is_view = is_view
        self._views: dict[str, bool] = {}

    def clear(self) -> None:
        """Forget all tables."""
        self.rows.clear()
        self._views.clear()

    def changed(self) -> None:
        """Look at views again: tables that they are made from are made anew."""
        self._views.clear()

    def reads_nothing(self, entry: modules.Module) -> bool:
        """Whether a relation is surely empty, since what it reads is."""
        return all(any(map(self._is_empty, needed)) for needed in entry.rows_from)

    def _is_empty(self, name: str) -> bool:
        if name in self.rows:
            return self.rows[name] == 0
        if name not in self._views:
            entry = modules.module(name)
            self._views[name] = entry is not None and self._is_view(name) and self.reads_nothing(entry)
        return self._views[name]
