"""A lake, opened: its DuckDB connection with every relation in place."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb

from . import aside, damage, guard, marts, modules, naming
from .catalog import CatalogReader, read_settings
from .connection import connect, set_event_files
from .errors import UsageError
from .event_files import EVENTS, EventFiles
from .files import changing, exclusive, publish_bytes, remove_dead_staging, remove_folder, unbroken
from .layout import Layout, open_layout
from .lookups import LookupTables
from .paths import is_plain_file
from .schema import CATALOG_COLUMNS, column_list

T = TypeVar("T")
#: Words of a question about all relations, and of one about all unless it names some.
_CATALOG = re.compile(r"\b(tables|duckdb_\w+|information_schema|pg_catalog|sqlite_master)\b", re.IGNORECASE)
_DESCRIPTION = re.compile(r"\b(show|describe|summarize)\b", re.IGNORECASE)


class Store:
    """A lake on disk and the connection that answers questions about it.

    The connection is an in-memory DuckDB: the Parquet files are the truth and nothing in DuckDB outlives the process.
    It reaches no file but the lake's, see `guard`, unless `unsafe` is set.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        memory_limit: str | None = None,
        unsafe: bool = False,
    ) -> None:
        """Open the lake at `path`, making an empty one where nothing is.

        Args:
            path: the lake's folder.
            create: make one where nothing is.
            memory_limit: DuckDB's, as in "4GB".
            unsafe: questions may do all that DuckDB can: read and write any file, attach databases, change settings.

        Raises:
            UsageError: no lake is there and `create` is false, or the folder holds other things.
            InputError: the lake is of a newer format, or cannot be read.
        """
        self.layout: Layout = open_layout(Path(path), create=create)
        self._memory_limit = memory_limit
        self._unsafe = unsafe
        #: The same lake without the guard, where it was asked for.
        self._door: Store | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._catalog = CatalogReader(self.layout)
        self._event_files = EventFiles(self.layout)
        #: Relations are being made ready: what fails there is tried again there.
        self._making = False
        self._created: set[str] = set()
        self._commented: set[str] = set()
        self._materialised: set[str] = set()
        #: Rows of the relations that name the other traces that those of a trace rest on.
        self._pairs: dict[str, list[tuple[Any, ...]]] = {}
        self.lookups = LookupTables(self.layout)

    @property
    def path(self) -> Path:
        """The lake's folder."""
        return self.layout.root

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection that may do all that DuckDB can, with all relations created, commented and up to date.

        The open door: unlike `sql` it reads and writes any file (`COPY`, `ATTACH`, `read_csv`), changes settings, loads
        extensions. It is a connection of its own: what is created there is not seen by `sql`, unless the lake was
        opened with `unsafe=True`.
        """
        return self._everything() if self._unsafe else self.unguarded.connection

    @property
    def unguarded(self) -> Store:
        """The same lake opened with `unsafe=True`."""
        if self._unsafe:
            return self
        if self._door is None:
            self._door = Store(self.path, create=False, memory_limit=self._memory_limit, unsafe=True)
        return self._door

    def _everything(self) -> duckdb.DuckDBPyConnection:
        """Return the connection, with all relations created, commented, and those that are materialised up to date."""
        connection = self._ready(entry.name for entry in modules.relations())
        # The schema of twins has no readers but our views; a comment on a column has DuckDB bind the whole view.
        plain = [entry for entry in modules.modules() if entry.name not in self._commented]
        connection.execute("\n".join(modules.comments(entry, entry.name) for entry in plain))
        self._commented.update(entry.name for entry in plain)
        return connection

    def sql(self, query: str, **parameters: Any) -> duckdb.DuckDBPyRelation:
        """Return the answer to an SQL question as a DuckDB relation (`.pl()`, `.arrow()`, `.df()`, `.fetchall()`).

        A question reads the lake and nothing else: it is a SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN), and reaches
        no file but the lake's. `connection` is for all else, as is a lake opened with `unsafe=True`.

        Args:
            query: DuckDB SQL over the lake's relations.
            parameters: values of `$name` parameters in the query.

        Raises:
            UsageError: the query cannot be parsed, names an unknown relation or column, or does more than read.
        """
        if not self._unsafe:
            guard.check(self._ready(()), query)
        named = modules.names_in(query)
        of_all = bool(_CATALOG.search(query) or (not named and _DESCRIPTION.search(query)))
        connection = self._everything() if of_all else self._ready(named)
        try:
            with guard.refusals():
                return connection.sql(query, params=parameters or None)
        except duckdb.CatalogException as error:
            raise UsageError(str(error) if of_all else modules.near(str(error))) from error
        except (duckdb.ParserException, duckdb.BinderException) as error:
            raise UsageError(str(error)) from error
        except duckdb.Error as error:
            if self.recover(error):
                return self.sql(query, **parameters)
            raise

    def kept(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the answer to a question that takes long to plan, computed once and held for this connection.

        Of a relation that `sql` returns every step (a filter, a projection, its rows) plans the whole question again.
        """
        # One table for each question, however often it is asked: it takes the place of its last answer.
        name = f"kept_{hashlib.sha256(query.encode()).hexdigest()[:16]}"
        self.rows(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        return self.sql(f"FROM {name}")

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a small question; files that turn out to be damaged are left out, see `recover`."""
        while True:
            try:
                return self._ready(modules.names_in(query)).execute(query, parameters or []).fetchall()
            except duckdb.Error as error:
                if not self.recover(error):
                    raise

    def prepare(self, query: str) -> duckdb.DuckDBPyConnection:
        """Have what a question names ready, for one that is asked of an answer or of the connection returned."""
        return self._ready(modules.names_in(query))

    def refresh(self) -> None:
        """See what other processes, or an ingest of this one, have published or removed since the last look."""
        if self._door is not None:
            self._door.refresh()
        if self._connection is None:
            # Nobody has looked yet: the first question will.
            return
        self._until_whole(self._refresh)

    def _refresh(self) -> None:
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        if not self._catalog.load(connection):
            return
        aside.create_table(connection)
        for trace_id, reason in self._catalog.damaged.items():
            aside.put(connection, self.layout, trace_id, "traces", reason)
        self._point_at_events(connection)
        self._materialised.clear()
        self._pairs.clear()
        self._recompute(entry.name for entry in modules.relations())

    def _point_at_events(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Have the events of all traces read but of those that are set aside: a file of theirs may be no Parquet."""
        for trace_id, reason in self._event_files.point(connection).items():
            aside.put(connection, self.layout, trace_id, EVENTS, reason)

    def recover(self, error: Exception) -> bool:
        """Find the damaged files that a question failed of, and leave them out; return whether to ask again.

        Rows that are stored are removed, to be computed again. A trace whose events cannot be read is set aside.

        Raises:
            DamagedError: relations are being made ready: the question is not to be asked again here.
        """
        if not damage.may_be_damage(error) or self._connection is None or not self.lookups.in_files:
            return self._door is not None and self._door.recover(error)
        if not self._catalog.is_current():
            # Another process took away what was to be read, or replaced it.
            found = damage.Found(fatal=damage.is_fatal(error))
        elif not (found := damage.find(self.layout, self._catalog.stamps, self._materialised, error)):
            return self._door is not None and self._door.recover(error)
        if self._making:
            raise damage.DamagedError(found) from error
        self._take_away(found)
        return True

    def _take_away(self, found: damage.Found) -> None:
        damage.remove_stored(found)
        for trace_id, reason in found.events.items():
            self._event_files.condemn(trace_id, reason)
        if found.fatal:
            self._disconnect()
        self._catalog.forget()

    def _until_whole(self, step: Callable[[], T]) -> T:
        """Take a step, and again without the damaged files that it meets."""
        if self._making:
            return step()
        while True:
            self._making = True
            try:
                return step()
            except damage.DamagedError as met:
                if met.found.fatal and not self.lookups.in_files:
                    raise met.__cause__ or met from None
                self._take_away(met.found)
            finally:
                self._making = False

    def _recompute(self, names: Iterable[str]) -> None:
        """Compute those relations anew that are held in memory, of some names that are there.

        Those that rest on files of other relations wait for the next question, which brings these up to date.
        """
        wanted = self._created.intersection(names)
        for entry in modules.relations():
            if not entry.in_memory or entry.name not in wanted or self._connection is None:
                continue
            if any(self._is_kept(other) for other in modules.relations() if other.name in modules.sources(entry.name)):
                self._created.remove(entry.name)
                self._commented.discard(entry.name)
            else:
                self._connection.execute(f"DELETE FROM {entry.name}; INSERT INTO {entry.name} {entry.query}")

    def resolve(self, trace: str) -> str:
        """Return the id of the trace that `trace` names: a name, an id, or the beginning of an id.

        Raises:
            UsageError: no trace, or more than one, is so named.
        """
        return naming.resolve(self.rows, self.path, trace)

    def check_answerable(self, trace_id: str, relation: str) -> None:
        """Check that a relation has an answer about a trace.

        Raises:
            InputError: the trace is set aside.
        """
        rows = self.rows("SELECT relation, reason FROM _set_aside WHERE trace_id = $1", [trace_id])
        naming.check_answerable([row for row in rows if row[0] in modules.sources(relation)], trace_id)

    def write_settings(self, trace_id: str, settings: dict[str, str | None]) -> None:
        """Merge settings into those kept of a trace; what was computed with the old ones is stale from then on."""
        if not settings:
            return
        path = self.layout.settings_file(trace_id)
        with changing(self.path), exclusive(self.layout.lock), unbroken:
            kept = read_settings(path) if is_plain_file(path) else {}
            kept.update(settings)
            kept = {key: value for key, value in kept.items() if value is not None}
            publish_bytes(path, (json.dumps(kept, indent=1, sort_keys=True) + "\n").encode())

    def remove(self, trace: str) -> str:
        """Remove a trace from the lake and return its id. Its source file is not touched."""
        self._ready(())
        trace_id = naming.damaged_one(trace, self._catalog.damaged) or self.resolve(trace)
        with changing(self.path), exclusive(self.layout.lock), unbroken:
            # The catalog row first: without it the rest is invisible, and swept up by the next ingest of it.
            self.layout.catalog_file(trace_id).unlink(missing_ok=True)
            marts.forget(self.layout, trace_id)
            remove_folder(self.layout.event_dir(trace_id))
            self.layout.settings_file(trace_id).unlink(missing_ok=True)
        self.refresh()
        return trace_id

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
            self._catalog.forget()
            for known in (self._created, self._commented, self._materialised, self._pairs, self.lookups):
                known.clear()

    def _ready(self, names: Iterable[str]) -> duckdb.DuckDBPyConnection:
        """Return the connection, with these relations created and what they rest on materialised."""
        wanted = set(names)
        return self._until_whole(lambda: self._make_ready(wanted))

    def _make_ready(self, names: Iterable[str]) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = self._connect()
        if not self._catalog.loaded:
            self._refresh()
        connection = self._connection
        for table in self.lookups.reread(connection):
            self._renew_above(table)
        stamps = self._catalog.stamps

        @functools.cache
        def is_there(entry: modules.Module) -> bool:
            return self._is_kept(entry) and (
                entry.name in self._materialised
                or marts.is_fresh(connection, self.layout, entry, self._origins(entry, stamps))
            )

        # What kept rows were made from is not needed to read them, and to create it takes longer than that.
        used = modules.closure(names, is_there)
        for entry in modules.relations():
            if entry.name not in used:
                continue
            if self._is_kept(entry):
                if entry.name not in self._materialised:
                    if marts.refresh(connection, self.layout, entry, self._origins(entry, stamps)):
                        self._point_at_events(connection)
                    self._materialised.add(entry.name)
                    self._commented.discard(entry.name)
            elif entry.name not in self._created:
                self._create(connection, entry)
            self._created.add(entry.name)
        return connection

    def _origins(self, entry: modules.Module, stamps: Mapping[str, int]) -> marts.Origins:
        """Return what the rows of a materialised relation are computed from."""
        names = modules.others(entry.name)
        for name in names - self._pairs.keys():
            self._pairs[name] = self.rows(f"SELECT DISTINCT trace_id, other_trace_id FROM {name}")
        return marts.Origins.of(stamps, [pair for name in names for pair in self._pairs[name]])

    def _is_kept(self, entry: modules.Module) -> bool:
        """Whether a relation's rows are files: not where they rest on what was given to this connection alone."""
        return entry.materialised and self.lookups.given.isdisjoint(modules.sources(entry.name))

    def expire(self, names: Iterable[str]) -> None:
        """Have relations that are held in memory computed again by the next query that needs them."""
        for known in (self._created, self._commented):
            known.difference_update(names)

    def give(self, table: str, *row: str) -> None:
        """Put a row into a lookup table, in the place of one of its key, for as long as the lake is open."""
        self.lookups.give(self._ready([table]), table, row)
        self._ready(self._renew_above(table))

    def _renew_above(self, table: str) -> set[str]:
        """Have all that is made from a lookup table see its rows; return what waits for the next question."""
        above = {entry.name for entry in modules.relations() if table in modules.sources(entry.name)}
        self._recompute(above)
        self._pairs.clear()
        kept = above & self._materialised
        for names in (self._materialised, self._created, self._commented):
            names.difference_update(kept)
        return kept

    def _connect(self) -> duckdb.DuckDBPyConnection:
        remove_dead_staging(self.layout.staging)
        connection = connect(self._memory_limit)
        connection.execute(f"CREATE TABLE _catalog ({column_list(CATALOG_COLUMNS)})")
        aside.create_table(connection)
        connection.execute("CREATE TABLE _settings (trace_id VARCHAR, key VARCHAR, value VARCHAR)")
        connection.execute("".join(f"CREATE SCHEMA {schema};" for schema in modules.schemas()))
        set_event_files(connection, [])
        if not self._unsafe:
            guard.lock(connection, (*self.layout.tables, self.layout.staging, modules.SQL_ROOT))
        return connection

    def _create(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Create a relation whose rows are not in files of its own; a view is bound where a question names it."""
        if entry.kind == "TABLE":
            self.lookups.create(connection, entry)
        elif entry.in_memory:
            connection.execute(f"CREATE OR REPLACE TABLE {entry.name} AS {entry.query}")
        else:
            deferred = " WITH (DEFER_BINDING) AS\n" if entry.kind == "VIEW" else " AS\n"
            connection.execute(entry.sql.replace("CREATE", "CREATE OR REPLACE", 1).replace(" AS\n", deferred, 1))
