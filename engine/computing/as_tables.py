"""Which relations are made as tables where answers are computed in memory, and which of them surely have no rows.

What is stored, and every view that several relations read: so no query is planned deeper than to the next table.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ..schema import empty_select
from ..sql import modules

if TYPE_CHECKING:
    import duckdb

#: Views that several relations read and that are no tables for it: all events would take the memory, and kernels with
#: their model are in most traces the same rows as those without.
NEVER_TABLES = frozenset({"events", "_kernel_series", "_seated_kernels"})
#: Tables that only `Store.give` fills, which has everything that rests on them computed again.
_GIVEN = frozenset({"given_configs", "given_sides", "model_configs"})
#: Columns, with their types, of helpers that were empty before.
_helper_columns: dict[str, dict[str, str]] = {}
#: The type of traces' ids of a batch, as DuckDB describes it.
_TRACE_ID = re.compile(r"ENUM\('[^)]*'\)")


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


def plan(names: Iterable[str], given: Collection[str]) -> tuple[list[modules.Module], dict[str, set[str]]]:
    """Return the relations to make in order, and of those that are made as tables which of these each needs.

    Args:
        names: the relations that are wanted; they are not among those that have been read.
        given: stored relations that are read from files.
    """
    needed = modules.closure(names, lambda entry: entry.name in given)
    order = [entry for entry in modules.relations() if entry.name in needed]
    tables = as_tables(order, given)

    def needs(table: str) -> set[str]:
        read = modules.closure([table], lambda entry: entry.name in given or (entry.name in tables - {table}))
        return (read & tables) - {table}

    return order, {entry.name: needs(entry.name) for entry in order if entry.name in tables}


@functools.cache
def _unshipped() -> frozenset[str]:
    """Return the tables without rows of their own: those that a connection is given, scenarios among them."""
    tables = (entry.name for entry in modules.relations() if entry.kind == "TABLE")
    return frozenset(name for name in tables if not modules.csv_file(name).exists())


@functools.cache
def follows_changes(name: str) -> bool:
    """Whether a relation is computed again when what it is made from changes.

    Tables without shipped rows, such as scenarios, change without notice to any but cached relations. `Store.give`
    notifies all; but a model's config is tried before it is given, on relations that rest on it and on no trace.
    """
    silent = modules.sources(name) & _unshipped()
    return not (silent - _GIVEN if "traces" in modules.sources(name) else silent)


def known_columns(entry: modules.Module) -> dict[str, str] | None:
    """Return the columns of a relation with their types, if these are known without what it reads."""
    columns = {column.name: column.type for column in entry.columns}
    # Of a structure no fields are written down.
    is_whole = columns and not any(kind.startswith(("STRUCT", "MAP")) for kind in columns.values())
    return columns if is_whole else _helper_columns.get(entry.name)


def empty_view(entry: modules.Module, connection: duckdb.DuckDBPyConnection, trace_ids: str = "VARCHAR") -> str:
    """Return the statement that has a view of no rows stand for a relation; DuckDB prunes it from what reads it.

    Args:
        entry: the relation.
        connection: a connection to what it reads, if its columns are not known.
        trace_ids: the type of the traces' ids there.
    """
    columns = known_columns(entry)
    if columns is None:
        # A helper's columns are not written down: they are its query's.
        described = connection.execute(f"DESCRIBE {entry.query}").fetchall()
        columns = {name: _TRACE_ID.sub("VARCHAR", kind) for name, kind, *_ in described}
        _helper_columns[entry.name] = columns
    rows = empty_select({name: trace_ids if name.endswith("trace_id") else kind for name, kind in columns.items()})
    return f"CREATE OR REPLACE VIEW {entry.name} WITH (DEFER_BINDING) AS {rows}"


class Emptiness:
    """Which relations of a connection surely have no rows, by the traces and the tables that they are made from.

    Attributes:
        rows: of each table that is there how many rows it has.
    """

    def __init__(self, is_view: Callable[[str], bool], formats: Callable[[], Collection[str]]) -> None:
        """Know of no table.

        Args:
            is_view: whether a relation is the view of its name's module in this connection.
            formats: the formats of the traces that there are.
        """
        self.rows: dict[str, int] = {}
        self._is_view = is_view
        self._formats = formats
        self._views: dict[str, bool] = {}

    def clear(self) -> None:
        """Forget all tables."""
        self.rows.clear()
        self._views.clear()

    def changed(self) -> None:
        """Look at views again: tables that they are made from are made anew."""
        self._views.clear()

    def of_no_trace(self, entry: modules.Module) -> bool:
        """Whether a relation is about traces of a format that there are none of."""
        return entry.only_format is not None and entry.only_format not in self._formats()

    def reads_nothing(self, entry: modules.Module) -> bool:
        """Whether a relation is surely empty, since what it reads is."""
        return self.of_no_trace(entry) or all(any(map(self._is_empty, needed)) for needed in entry.rows_from)

    def _is_empty(self, name: str) -> bool:
        if name in self.rows:
            return self.rows[name] == 0
        if name not in self._views:
            entry = modules.module(name)
            self._views[name] = entry is not None and self._is_view(name) and self.reads_nothing(entry)
        return self._views[name]
