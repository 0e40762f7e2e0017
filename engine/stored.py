"""The stored answers of a lake as seen by one connection: which files to read, and which are stale or lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .catalog import Catalog, State
from .current import Rules, current_rows
from .damage import DamagedError, Found
from .sql import modules
from .storage.here import Here
from .storage.layout import Layout
from .storage.paths import Place, pattern
from .storage.scratch import scratch
from .storage.tables import DataFile, Tables

if TYPE_CHECKING:
    import duckdb

#: The run derived from file names; a run setting takes precedence.
_RUN = "metadata ->> '$.places.run.value'"
#: A table of a connection: the batches of every trace's answers, including traces outside the focus.
BATCHES = "_batches"


class Stored:
    """The tables and the catalog of a lake, and the views of a connection that read them."""

    def __init__(self, layout: Layout) -> None:
        """Initialise without reading."""
        self._layout = layout
        self.tables: Tables = Tables(layout.tables)
        self.catalog = Catalog(self.tables)
        #: Relations whose views match the loaded catalog.
        self.pointed: set[str] = set()
        #: The traces that queries are restricted to; None for all.
        self.focus: frozenset[str] | None = None
        #: Cached stale traces, after what they were derived from: the states, and the rules and focus.
        self._stale: tuple[dict[str, State], object, list[str]] | None = None

    @property
    def is_here(self) -> bool:
        """Whether computed answers are visible to this connection only."""
        return isinstance(self.tables, Here)

    def see_here(self) -> None:
        """Keep answers computed from now on visible to this connection only; the catalog must be loaded again."""
        self.tables = Here(self._layout.tables, scratch())
        self.catalog = Catalog(self.tables)

    def load(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Load a connection's catalog, restricted to the focus; return whether anything had changed."""
        if not self.catalog.load(connection):
            return False
        columns = "trace_id, batch_id, linked_batch_id"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {BATCHES} AS SELECT {columns} FROM _entries")
        self.see(connection)
        return True

    def see(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Restrict a connection's catalog to the focus, and have all views defined again."""
        self.pointed.clear()
        if self.focus is not None:
            self.catalog.leave(connection, self.focus)

    def widen(self) -> None:
        """Remove the focus; the next load restores the connection's catalog."""
        if self.focus is not None:
            self.focus = None
            self.catalog.forget()

    def stale(self, among: Iterable[str] | None = None) -> list[str]:
        """Return the traces without answers, or with answers computed by other rules or settings than the current ones.

        Args:
            among: check these traces only; default: all in focus.
        """
        rules, asked = Rules(self._layout), self._asked()
        if among is not None:
            return self._stale_of(rules, {one: asked[one] for one in among if one in asked})
        seen = rules.digest, self.focus
        # The catalog replaces its states on each load.
        if self._stale is None or self._stale[0] is not self.catalog.states or self._stale[1] != seen:
            self._stale = self.catalog.states, seen, self._stale_of(rules, asked)
        return self._stale[2]

    def _stale_of(self, rules: Rules, states: Mapping[str, State]) -> list[str]:
        return [one for one, state in states.items() if state.rules != rules.of(self.catalog.relevant(one))]

    def related(self, connection: duckdb.DuckDBPyConnection, traces: Iterable[str]) -> frozenset[str]:
        """Return traces and all that their answers may depend on: of their runs, captures, and what names their ranks.

        Args:
            connection: one with the whole catalog.
            traces: the traces.
        """
        found = set(traces)
        given = {one: settings["run"] for one, settings in self.catalog.settings.items() if "run" in settings}
        rows = connection.execute(
            f"SELECT trace_id, {_RUN} FROM _catalog WHERE trace_id IN $1", [sorted(found)]
        ).fetchall()
        for run in {given.get(one, by_names) for one, by_names in rows} - {None}:
            found |= {one for one, its in given.items() if its == run}
            # Metadata may be long: it is parsed only if it contains the name.
            named = f"CASE WHEN contains(metadata, $1) THEN {_RUN} END = $2"
            words = [json.dumps(run, ensure_ascii=False), run]
            of_run = connection.execute(f"SELECT trace_id FROM _catalog WHERE {named}", words).fetchall()
            found |= {one for (one,) in of_run} - given.keys()
        states = (self.catalog.states[one] for one in traces)
        linked = (link.partition(":")[0] for state in states for link in state.links.split(",") if link)
        return frozenset(found.union(linked))

    def _asked(self, entry: modules.Module | None = None) -> dict[str, State]:
        """Return the states of the traces whose rows are read, of a relation if given."""
        states, focus = self.catalog.states, None if entry and entry.of_all else self.focus
        return states if focus is None else {one: states[one] for one in focus & states.keys()}

    def without_rows(self, entry: modules.Module) -> set[str]:
        """Return the traces with rows of a stored relation according to the catalog, but no readable file."""
        files = self.files(entry)[0]
        batches = {file.batches[0] for file in files if file.batches[0] == file.batches[1]}
        merged = [file.batches for file in files if file.batches[0] != file.batches[1]]
        return {
            one
            for one, state in self._asked().items()
            if f",{entry.name}," in state.relations
            and (batch := batch_of(entry.name, state)) not in batches
            and not any(first <= batch <= last for first, last in merged)
        }

    def files(self, entry: modules.Module) -> tuple[list[DataFile], bool]:
        """Return the files of a stored relation with current rows, and whether they also hold superseded ones."""
        linked = entry.name in modules.linked()
        former = self.catalog.former[linked]
        if linked:
            # Rows computed with a trace's own answers, and again before publishing: other rows are current here.
            states = self.catalog.states.values()
            former |= {state.batch_id for state in states if state.batch_id != state.linked_batch_id}
        current = {batch_of(entry.name, state) for state in self._asked(entry).values()}
        files = [
            file
            for file in self.tables.files(entry.name)
            if file.batches[0] < file.batches[1] or file.batches[0] in current
            if self.focus is None or entry.of_all or any(map(file.may_have, self.focus))
        ]
        return files, any(file.batches[0] <= batch <= file.batches[1] for file in files for batch in former)

    def point(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Define the view of a stored relation over the files with current rows.

        Raises:
            DamagedError: files are missing, truncated, or replaced by others.
        """
        files, mixed = self.files(entry)
        # In an object store, each would be one more request: what is wrong there is an error of the query.
        damaged: list[Place] = [file.path for file in files if isinstance(file.path, Path) and file.fault()]
        if damaged:
            raise DamagedError(Found(stored=damaged))
        source = f"read_parquet(getvariable('table_{entry.name}'), hive_partitioning = false)" if files else ""
        connection.execute(f"SET VARIABLE table_{entry.name} = $1", [[pattern(file.path) for file in files]])
        rows = current_rows(entry, source, mixed=mixed, entries=BATCHES if entry.of_all else "_entries")
        if self.focus is not None and not entry.of_all:
            rows = f"SELECT * FROM ({rows}) WHERE trace_id IN ({', '.join(map(modules.quoted, sorted(self.focus)))})"
        # DuckDB opens the first file to bind a view, and again to bind each query of it.
        connection.execute(f"CREATE OR REPLACE VIEW {entry.name} WITH (DEFER_BINDING) AS {rows}")
        self.pointed.add(entry.name)


def batch_of(relation: str, state: State) -> str:
    """Return the batch that computed the rows of a relation for a trace."""
    return state.linked_batch_id if relation in modules.linked() else state.batch_id
