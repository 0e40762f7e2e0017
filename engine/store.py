"""A lake, opened: its DuckDB connection with every relation in place."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import duckdb

from . import aside, guard, marts, modules
from .catalog import CatalogReader, read_settings
from .connection import connect, set_event_files
from .errors import InputError, UsageError
from .files import changing, exclusive, publish_bytes, remove_dead_staging, remove_folder, unbroken
from .layout import Layout, open_layout
from .paths import is_plain_file, pattern, readable
from .rules import create_rule_function
from .schema import CATALOG_COLUMNS, column_list

#: Words of a question about the relations themselves.
_CATALOG = re.compile(
    r"\b(show|describe|summarize|duckdb_\w+|information_schema|pg_catalog|sqlite_master)\b", re.IGNORECASE
)


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
        self._created: set[str] = set()
        self._commented: set[str] = set()
        self._materialised: set[str] = set()
        #: Rows of the relations that tell which other traces those of a trace rest on.
        self._pairs: dict[str, list[tuple[Any, ...]]] = {}
        #: Tables with rows that were told to this connection and are in no file.
        self._told: set[str] = set()
        #: Reference tables, each with the time of the lake's own file that its rows are from.
        self._own_files: dict[str, int] = {}

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
        connection = self._ready(entry.name for entry in modules.modules())
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
        of_all = _CATALOG.search(query) is not None
        connection = self._everything() if of_all else self._ready(modules.names_in(query))
        try:
            with guard.refusals():
                return connection.sql(query, params=parameters or None)
        except duckdb.CatalogException as error:
            raise UsageError(str(error) if of_all else modules.near(str(error))) from error
        except (duckdb.ParserException, duckdb.BinderException) as error:
            raise UsageError(str(error)) from error

    def kept(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the answer to a question that takes long to plan, computed once and held for this connection.

        Of a relation that `sql` returns every step (a filter, a projection, its rows) plans the whole question again.
        """
        # One table for each question, however often it is asked: it takes the place of its last answer.
        name = f"kept_{hashlib.sha256(query.encode()).hexdigest()[:16]}"
        self.rows(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        return self.sql(f"FROM {name}")

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a small question."""
        return self._ready(modules.names_in(query)).execute(query, parameters or []).fetchall()

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
        connection = self._connection
        if not self._catalog.load(connection):
            return
        aside.create_table(connection)
        self._point_at_events(connection)
        self._materialised.clear()
        self._pairs.clear()
        self._recompute(entry.name for entry in modules.modules())

    def _point_at_events(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Have the events of all traces read but of those that are set aside: a file of theirs may be no Parquet."""
        left = self._catalog.stamps.keys() - aside.set_aside(connection)
        set_event_files(connection, [file for one in sorted(left) for file in self.layout.event_files(one)])

    def _recompute(self, names: Iterable[str]) -> None:
        """Compute those relations anew that are held in memory, of some names that are there.

        Those that rest on files of other relations wait for the next question, which brings these up to date.
        """
        wanted = self._created.intersection(names)
        for entry in modules.modules():
            if not entry.in_memory or entry.name not in wanted or self._connection is None:
                continue
            if any(self._is_kept(other) for other in modules.modules() if other.name in modules.sources(entry.name)):
                self._created.remove(entry.name)
                self._commented.discard(entry.name)
            else:
                self._connection.execute(f"DELETE FROM {entry.name}; INSERT INTO {entry.name} {entry.query}")

    def resolve(self, trace: str) -> str:
        """Return the id of the trace that `trace` names: a name, an id, or the beginning of an id.

        Raises:
            UsageError: no trace, or more than one, is so named.
        """
        trace = readable(trace)
        rows = self.rows(
            "SELECT trace_id, trace FROM traces WHERE trace = $1 OR trace_id = $1 ORDER BY trace_id", [trace]
        )
        if not rows and len(trace) >= 2:
            rows = self.rows(
                "SELECT trace_id, trace FROM traces WHERE starts_with(trace_id, $1) OR starts_with(trace, $1)"
                " ORDER BY trace_id",
                [trace],
            )
        if len(rows) == 1:
            return str(rows[0][0])
        if rows:
            listed = ", ".join(f"{name} ({trace_id})" for trace_id, name in rows[:5])
            raise UsageError(f"{trace}: names {len(rows)} traces: {listed}. Give the id.")
        known = [name for (name,) in self.rows("SELECT trace FROM traces ORDER BY ALL LIMIT 6")]
        raise UsageError(
            f"{trace}: no such trace or file. "
            + (f"In the lake {self.path}: {', '.join(known)}." if known else f"The lake {self.path} is empty.")
        )

    def locate(self, trace: str) -> str:
        """Return the id of a trace."""
        return self.resolve(trace)

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
        trace_id = self.resolve(trace)
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
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._created.clear()
            self._commented.clear()
            self._materialised.clear()
            self._pairs.clear()
            self._told.clear()
            self._own_files.clear()

    def _ready(self, names: Iterable[str]) -> duckdb.DuckDBPyConnection:
        """Return the connection, with these relations created and what they rest on materialised."""
        if self._connection is None:
            self._connection = self._connect()
            self.refresh()
        connection = self._connection
        self._reread(connection)
        stamps = self._catalog.stamps

        @functools.cache
        def is_there(entry: modules.Module) -> bool:
            return self._is_kept(entry) and (
                entry.name in self._materialised
                or marts.is_fresh(connection, self.layout, entry, self._origins(entry, stamps))
            )

        # What kept rows were made from is not needed to read them, and to create it takes longer than that.
        used = modules.closure(names, is_there)
        for entry in modules.modules():
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
        """Whether a relation's rows are files: not where they rest on what was told to this connection alone."""
        return entry.materialised and self._told.isdisjoint(modules.sources(entry.name))

    def _tell(self, table: str, *row: str) -> None:
        """Put a row into a reference table, in the place of one of its key, for as long as the lake is open."""
        marks = ", ".join("?" for _ in row)
        self._ready([table]).execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)
        self._told.add(table)
        self._ready(self._renew_above(table))

    def _reread(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Read those reference tables again whose file in the lake has changed: files are kept for what it holds now.

        Raises:
            InputError: a file cannot be read; its table stays as it was.
        """
        times = {table: path.stat().st_mtime_ns for table, path in self.layout.reference_files().items()}
        for table, seen in list(self._own_files.items()):
            if times.get(table, 0) == seen or table in self._told:
                continue
            connection.begin()
            try:
                connection.execute(f"DELETE FROM {table}")
                self._fill(connection, table)
            except InputError:
                connection.rollback()
                raise
            connection.commit()
            self._renew_above(table)

    def _renew_above(self, table: str) -> set[str]:
        """Have all that is made from a reference table see its rows; return what waits for the next question."""
        above = {entry.name for entry in modules.modules() if table in modules.sources(entry.name)}
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
        set_event_files(connection, [])
        if not self._unsafe:
            guard.lock(connection, (*self.layout.tables, self.layout.staging, modules.REFERENCE_ROOT))
        return connection

    def _create(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Create a relation whose rows are not in files of its own.

        Only what a question needs: DuckDB binds a view when it is created, and to bind all takes a second.
        """
        if entry.folder == "reference":
            connection.execute(entry.sql)
            try:
                self._fill(connection, entry.name)
            except InputError:
                connection.execute(f"DROP TABLE {entry.name}")
                raise
        elif entry.in_memory:
            connection.execute(f"CREATE OR REPLACE TABLE {entry.name} AS {entry.query}")
        else:
            connection.execute(entry.sql.replace("CREATE", "CREATE OR REPLACE", 1))

    def _fill(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        """Fill a reference table from the shipped CSV file, then from the lake's own.

        Raises:
            InputError: the lake's own file cannot be read as such rows.
        """
        own = self.layout.reference_files().get(table)
        seen = own.stat().st_mtime_ns if own else 0
        for path in (modules.csv_file(table), own):
            if path is not None:
                try:
                    connection.execute(
                        f"INSERT OR REPLACE INTO {table} BY NAME "
                        "SELECT * FROM read_csv($1, header = true, all_varchar = true, quote = '\"', escape = '\"', "
                        "hive_partitioning = false)",
                        [pattern(path)],
                    )
                except duckdb.Error as error:
                    raise InputError(f"{path}: cannot be read as rows of {table}: {error}") from error
        if table in modules.RULE_FUNCTIONS.values():
            create_rule_function(connection, table)
        self._own_files[table] = seen
