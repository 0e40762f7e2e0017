"""An open lake: its DuckDB connection with every relation in place."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, Self, TypeVar

import duckdb

from . import aside, damage, event_files, naming
from .catalog import Catalog, create_tables
from .connection import connect, have_read, set_event_files
from .errors import InputError, UsageError
from .event_files import EVENTS
from .relations import BASE, Relations, is_of_all, named, shows_comments
from .sql import glossary, guard, lookups, modules
from .storage.files import remove_dead_staging
from .storage.layout import Layout, open_layout
from .storage.paths import Place, readable
from .stored import Stored

T = TypeVar("T")
#: Default of `stored`.
STORED = True
#: The most stale traces that a query over all of them renews before it answers.
RENEWED_AT_ONCE = 16


class Store:
    """A lake on disk and the connection that answers questions about it.

    The connection is an in-memory DuckDB: the Parquet files are the truth, and nothing in DuckDB outlives the process.
    It can only read the lake's files, see `guard`, unless `unsafe` is set.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Place,
        *,
        create: bool = True,
        memory_limit: str | None = None,
        unsafe: bool = False,
        stored: bool | None = None,
    ) -> None:
        """Open the lake at `path`, creating an empty one if missing.

        Args:
            path: the lake's folder, or its address in an object store.
            create: create a missing lake.
            memory_limit: DuckDB's, as in "4GB".
            unsafe: queries may do all that DuckDB can: read and write any file, attach databases, change settings.
            stored: read the stored answers, and store missing ones. If false, each query computes all it needs from the
                events of all traces, in memory and for this connection only.

        Raises:
            UsageError: there is no lake and `create` is false, or the folder holds other things.
            InputError: the lake is of a newer format, or cannot be read.
        """
        self.layout: Layout = open_layout(path, create=create)
        self.memory_limit = memory_limit
        self._unsafe = unsafe
        self.stored = STORED if stored is None else stored
        #: The same lake without the guard, once requested.
        self._door: Store | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        self.answers = Stored(self.layout)
        #: Whether the events view matches the loaded catalog.
        self._events_pointed = False
        self.lookups = lookups.LookupTables(self.layout)
        self.relations = Relations(self.lookups, self.answers, stored=self.stored)

    @property
    def path(self) -> Place:
        """The lake's location."""
        return self.layout.root

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection that may do all that DuckDB can, with all relations created and up to date.

        Unlike `sql`, it reads and writes any file (`COPY`, `ATTACH`, `read_csv`), changes settings and loads
        extensions. It is a separate connection: what is created there is not visible to `sql`, unless the lake was
        opened with `unsafe=True`.
        """
        return self._everything() if self._unsafe else self.unguarded.connection

    @property
    def unguarded(self) -> Store:
        """The same lake opened with `unsafe=True`."""
        if self._unsafe:
            return self
        if self._door is None:
            self._door = Store(self.path, create=False, memory_limit=self.memory_limit, unsafe=True, stored=self.stored)
        return self._door

    def _everything(self, *, comments: bool = True) -> duckdb.DuckDBPyConnection:
        """Return the connection with all relations created and up to date, the public ones with comments."""
        return self._ready({*BASE, *(entry.name for entry in modules.relations())}, comments=comments)

    def sql(self, query: str, **parameters: Any) -> duckdb.DuckDBPyRelation:
        """Return the result of a SQL query as a DuckDB relation (`.pl()`, `.to_arrow_table()`, `.df()`, `.fetchall()`).

        A query only reads the lake: it is a SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN), and can access no file but
        the lake's. For anything else use `connection`, or open the lake with `unsafe=True`.

        Rows are read when they are fetched. If a file turns out to be damaged only then, DuckDB's error is raised;
        `rows` leaves the file out and says so, and from then on `sql` does too.

        Args:
            query: DuckDB SQL over the lake's relations.
            parameters: values of `$name` parameters in the query.

        Raises:
            UsageError: the query cannot be parsed, names an unknown relation or column, or does more than read.
        """
        if not self._unsafe:
            guard.check(self._ready(()), query)
        names = named(query)
        of_all = is_of_all(query, names)

        def answer() -> duckdb.DuckDBPyRelation:
            connection = self._everything(comments=shows_comments(query)) if of_all else self._make_ready(names)
            with guard.refusals():
                return connection.sql(guard.without_end(query), params=parameters or None)

        try:
            return self._until_whole(answer)
        except duckdb.CatalogException as error:
            raise UsageError(str(error) if of_all else modules.near(str(error))) from error
        except (duckdb.ParserException, duckdb.BinderException) as error:
            raise UsageError(glossary.explained(str(error))) from error

    def kept(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query that is slow to plan, computed once and held until the query is run again.

        Each step on a relation from `sql` (a filter, a projection, fetching rows) plans the whole query again.
        """
        name = f"kept_{hashlib.sha256(query.encode()).hexdigest()[:16]}"
        self.rows(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        return self.sql(f"FROM {name}")

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a small query; files that turn out to be damaged are left out, see `recover`."""
        return self._fetched(query, parameters or [])[1]

    def objects(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return all rows of a small query as dicts; `sql` would plan it twice, for its columns and its rows."""
        columns, rows = self._fetched(query, parameters or [])
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def _fetched(self, query: str, parameters: object) -> tuple[list[str], list[tuple[Any, ...]]]:
        def fetch() -> tuple[list[str], list[tuple[Any, ...]]]:
            answer = self._make_ready(named(query)).execute(query, parameters)
            return [column for column, *_ in answer.description], answer.fetchall()

        return self._until_whole(fetch)

    def prepare(self, query: str) -> duckdb.DuckDBPyConnection:
        """Return the connection with the relations of a query ready, to run it there or on an existing result."""
        return self._ready(named(query))

    def refresh(self) -> None:
        """Pick up what other processes, or an ingest in this one, have published or removed."""
        if self._door is not None:
            self._door.refresh()
        if self._connection is not None:
            self._until_whole(self._refresh)

    def _refresh(self) -> duckdb.DuckDBPyConnection:
        """Return the connection with the latest catalog loaded."""
        if self.answers.load(connection := self._opened()):
            self._see_catalog(connection)
        return connection

    def focus(self, *trace_ids: str) -> None:
        """Restrict queries to these traces: only their files and those of traces they depend on are read."""
        self.answers.widen()
        connection = self.catalog_connection
        self.answers.focus = self.answers.related(connection, trace_ids)
        self.answers.see(connection)
        self._see_catalog(connection)

    def _see_catalog(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._events_pointed = False
        aside.fill(connection, self.layout, self.answers.catalog)
        self.relations.recompute(connection, (entry.name for entry in modules.relations()))

    def _point_at_events(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Define the events view without excluded traces, whose files may not be Parquet."""
        for trace_id, reason in event_files.point(self.layout, connection, for_many=not self.stored).items():
            aside.put(connection, self.layout, trace_id, EVENTS, reason)
        self._events_pointed = True

    def recover(self, error: Exception) -> bool:
        """Find the damaged files that made a query fail, and exclude them; return whether to retry.

        Stored rows are recomputed. A trace whose events cannot be read is excluded.

        Raises:
            InputError, UsageError: the object store or the connection cannot be used.
        """
        damage.check_usable(error)
        # Rows given to the connection would be lost with it.
        keeps_given = not self.lookups.given or not damage.is_fatal(error)
        if damage.may_be_damage(error) and self._connection is not None and keeps_given:
            is_replaced = self.answers.catalog.loaded and not self.answers.catalog.is_current()
            # If another process has removed or replaced what the query read, nothing is damaged.
            found = damage.Found(fatal=damage.is_fatal(error)) if is_replaced else self._find_damage(error)
            if is_replaced or found:
                self._take_away(found)
                return True
        return self._door is not None and self._door.recover(error)

    def _find_damage(self, error: Exception) -> damage.Found:
        states = self.answers.catalog.states if self._events_pointed else {}
        events = {one: self.layout.event_files(one, state.event_files) for one, state in states.items()}
        entries = map(modules.known, self.answers.pointed)
        stored = [(entry, file.path) for entry in entries for file in self.answers.files(entry)[0]]
        return damage.find(events, stored, error)

    def _take_away(self, found: damage.Found) -> None:
        self.answers.tables.lost.update(found.stored)
        for trace_id, reason in found.events.items():
            listed = self.answers.catalog.states[trace_id].event_files
            event_files.condemn(self.layout, trace_id, reason, listed)
        if found.fatal:
            self._disconnect()
        self.answers.catalog.forget()

    def _until_whole(self, step: Callable[[], T]) -> T:
        """Run a step, and retry it without the damaged files that it meets."""
        while True:
            try:
                return step()
            except damage.DamagedError as met:
                if met.found.fatal and self.lookups.given:
                    raise met.__cause__ or met from None
                self._take_away(met.found)
            except duckdb.Error as error:
                if not self.recover(error):
                    raise

    def resolve(self, trace: str) -> str:
        """Return the id of the trace that `trace` names: a name, an id, or a prefix of either.

        Raises:
            UsageError: it matches no trace, or more than one.
        """
        named = self.catalog.named
        if trace not in named:
            named[trace] = naming.resolve(self, readable(trace))
        return named[trace]

    def check_answerable(self, trace_id: str, relation: str) -> None:
        """Check that a relation can be computed for a trace.

        Raises:
            InputError: the trace is excluded.
        """
        rows = self.rows("SELECT relation, reason FROM _set_aside WHERE trace_id = $1", [trace_id])
        for missing, reason in rows:
            if missing in modules.sources(relation):
                raise InputError(
                    f"{trace_id}: excluded: {missing} cannot be computed: {reason}\n"
                    f"  Remove it with: tracelake remove {trace_id}\n  and ingest its file again."
                )

    @property
    def catalog(self) -> Catalog:
        """The loaded catalog."""
        self._ready(["_catalog"])
        return self.answers.catalog

    @property
    def catalog_connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, with the catalog loaded."""
        return self._ready(["_catalog"])

    def renew(self, traces: Iterable[str]) -> None:
        """Recompute the answers of those of the traces that are stale.

        Raises:
            DamagedError: event files cannot be read.
            InputError: a user's lookup rows cannot be read.
        """
        if self.stored and self.catalog.loaded and (stale := {*self.answers.stale(traces)}):
            self._until_whole(lambda: self._renew(stale))

    def _renew(self, stale: Set[str], lost: Set[str] = frozenset()) -> None:
        """Recompute answers that are stale or lost."""
        # Few queries compute, and importing what does takes milliseconds.
        from .computing.renew import bring

        bring(self.layout, self.answers, self._refresh, stale, lost, self.memory_limit)
        self.answers.catalog.forget()
        self._refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._door is not None:
            self._door.close()
            self._door = None
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self.answers.catalog.forget()
            self._events_pointed = False
            for known in (self.relations, self.answers.pointed, self.lookups):
                known.clear()

    def _ready(self, names: Iterable[str], *, comments: bool = False) -> duckdb.DuckDBPyConnection:
        """Return the connection with these relations created and their dependencies up to date."""
        wanted = set(names)
        return self._until_whole(lambda: self._make_ready(wanted, comments=comments))

    def _make_ready(self, names: set[str], *, comments: bool = False) -> duckdb.DuckDBPyConnection:
        connection = self._opened()
        for table in self.lookups.reread(connection):
            self.relations.renew_above(connection, table)
        # Reading stored rows does not need the relations they were computed from, and creating those takes longer.
        order = modules.in_order(modules.closure(names, self.relations.is_stored))
        base = names.union(*(entry.uses for entry in order if not self.relations.is_stored(entry))) & BASE
        stored = [entry for entry in order if self.relations.is_stored(entry)]
        if (base or stored) and not self.answers.catalog.loaded:
            connection = self._refresh()
        if stored:
            self.answers.tables.look(entry.name for entry in stored)
            self._bring_up_to_date([entry for entry in stored if entry.name not in self.answers.pointed])
            connection = self._opened()
        self.relations.choose_tables(connection, order)
        uncommented = self.relations.uncommented() if comments else []
        if self.stored and uncommented:
            # Commenting a view binds it, and binding a view of events would open all their files.
            set_event_files(connection, [])
            self._events_pointed = False
        elif "_event_rows" in base and not self._events_pointed:
            self._point_at_events(connection)
        for entry in order:
            if self.relations.is_stored(entry):
                if entry.name not in self.answers.pointed:
                    self.answers.point(connection, entry)
                    self.relations.commented.discard(entry.name)
            elif entry.name not in self.relations.created:
                self.relations.create(connection, entry)
            self.relations.created.add(entry.name)
        self.relations.comment(connection, uncommented)
        if "_event_rows" in base and not self._events_pointed:
            self._point_at_events(connection)
        return connection

    def _bring_up_to_date(self, entries: Iterable[modules.Module]) -> None:
        """Renew stale answers if they are few, and lost rows of some relations; warn of what is not renewed."""
        stale, lost = {*self.answers.stale()}, set[str]().union(*map(self.answers.without_rows, entries))
        if len(stale) > RENEWED_AT_ONCE:
            aside.warn_stale(self.path, len(stale), len(self.answers.catalog.states))
            stale = set()
        if stale or lost:
            self._renew(stale, lost)

    def give(self, table: str, rows: Sequence[Sequence[object]], *, alone: bool = False) -> None:
        """Add rows to a lookup table for as long as the lake is open, see `LookupTables.give`."""
        connection = self._ready([table])
        self.lookups.give(connection, table, rows, alone=alone)
        self._ready(self.relations.renew_above(connection, table))

    def _opened(self) -> duckdb.DuckDBPyConnection:
        if self._connection is not None:
            return self._connection
        remove_dead_staging(self.layout.staging)
        self._connection = connection = connect(self.memory_limit)
        have_read(connection, self.layout.root)
        create_tables(connection)
        aside.create_table(connection)
        connection.execute("".join(f"CREATE SCHEMA {schema};" for schema in modules.schemas()))
        set_event_files(connection, [])
        if not self._unsafe:
            guard.lock(connection, (*self.layout.read, self.layout.staging, modules.SQL_ROOT))
        return connection
