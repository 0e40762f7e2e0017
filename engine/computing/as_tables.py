"""Which relations become tables when answers are computed in memory, and which are known to have no rows.

Tables are the stored relations and every view that several relations read, so queries are planned down to the next
table only.
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

#: Views that never become tables although several relations read them: a table of all events would take too much
#: memory, and in most traces kernels with their model are the same rows as those without.
NEVER_TABLES = frozenset({"events", "_kernel_series", "_seated_kernels"})
#: Tables that only `Store.give` fills, which has all relations that depend on them recomputed.
_GIVEN = frozenset({"given_configs", "given_sides", "model_configs"})
#: Cache: column types of helper relations that were found empty before.
_helper_columns: dict[str, dict[str, str]] = {}
#: The type of a batch's trace ids, as DuckDB describes it.
_TRACE_ID = re.compile(r"ENUM\('[^)]*'\)")


def as_tables(order: Sequence[modules.Module], given: Collection[str] = ()) -> set[str]:
    """Return the relations that become tables.

    Args:
        order: the relations that are needed.
        given: those of them that exist already.
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
    """Return the relations to create, in order, and for each that becomes a table the tables it needs.

    Args:
        names: the wanted relations; they are not among `given`.
        given: stored relations that are read from files.
    """
    order = modules.in_order(modules.closure(names, lambda entry: entry.name in given))
    tables = as_tables(order, given)

    def needs(table: str) -> set[str]:
        read = modules.closure([table], lambda entry: entry.name in given or (entry.name in tables - {table}))
        return (read & tables) - {table}

    return order, {entry.name: needs(entry.name) for entry in order if entry.name in tables}


@functools.cache
def _unshipped() -> frozenset[str]:
    """Return the lookup tables without shipped rows, which a connection fills, such as scenarios."""
    tables = (entry.name for entry in modules.relations() if entry.kind == "TABLE")
    return frozenset(name for name in tables if not modules.csv_file(name).exists())


@functools.cache
def follows_changes(name: str) -> bool:
    """Whether a relation is recomputed when its sources change.

    Only cached relations learn of changes to tables without shipped rows, such as scenarios. `Store.give`
    notifies all; but a model's config is tried before it is given, on relations that depend on it and on no trace.
    """
    silent = modules.sources(name) & _unshipped()
    return not (silent - _GIVEN if "traces" in modules.sources(name) else silent)


def known_columns(entry: modules.Module) -> dict[str, str] | None:
    """Return the columns of a relation with their types, if these are known without its sources."""
    columns = {column.name: column.type for column in entry.columns}
    # The headers do not list the fields of a STRUCT.
    is_whole = columns and not any(kind.startswith(("STRUCT", "MAP")) for kind in columns.values())
    return columns if is_whole else _helper_columns.get(entry.name)


def empty_view(entry: modules.Module, connection: duckdb.DuckDBPyConnection, trace_ids: str = "VARCHAR") -> str:
    """Return the statement that replaces a relation by a view without rows, which DuckDB prunes from its readers.

    Args:
        entry: the relation.
        connection: a connection with its sources, used if its columns are unknown.
        trace_ids: the type of the trace ids there.
    """
    columns = known_columns(entry)
    if columns is None:
        # A helper has no columns in its header: they come from its query.
        described = connection.execute(f"DESCRIBE {entry.query}").fetchall()
        columns = {name: _TRACE_ID.sub("VARCHAR", kind) for name, kind, *_ in described}
        _helper_columns[entry.name] = columns
    rows = empty_select({name: trace_ids if name.endswith("trace_id") else kind for name, kind in columns.items()})
    return f"CREATE OR REPLACE VIEW {entry.name} WITH (DEFER_BINDING) AS {rows}"


class Emptiness:
    """Which relations of a connection are known to have no rows, from its traces and the tables they read.

    Attributes:
        rows: the row count of each existing table.
    """

    def __init__(self, is_view: Callable[[str], bool], formats: Callable[[], Collection[str]]) -> None:
        """Start without tables.

        Args:
            is_view: whether a relation of this connection is the view of its module.
            formats: returns the formats of the current traces.
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
        """Forget conclusions about views, since tables that they read are recreated."""
        self._views.clear()

    def of_no_trace(self, entry: modules.Module) -> bool:
        """Whether a relation covers only a trace format that no current trace has."""
        return entry.only_format is not None and entry.only_format not in self._formats()

    def reads_nothing(self, entry: modules.Module) -> bool:
        """Whether a relation is known to be empty because its sources are."""
        return self.of_no_trace(entry) or all(any(map(self._is_empty, needed)) for needed in entry.rows_from)

    def _is_empty(self, name: str) -> bool:
        if name in self.rows:
            return self.rows[name] == 0
        if name not in self._views:
            entry = modules.module(name)
            self._views[name] = entry is not None and self._is_view(name) and self.reads_nothing(entry)
        return self._views[name]
