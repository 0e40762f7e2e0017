"""A lake, opened: its DuckDB connection with every relation in place."""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import duckdb

from . import marts, modules
from .catalog import CatalogReader, read_settings
from .errors import InputError, UsageError
from .files import exclusive, publish_bytes, remove_dead_staging, remove_folder
from .layout import Layout, open_layout
from .paths import TRACE_ID, is_plain_file, pattern
from .rules import create_rule_function
from .schema import CATALOG_COLUMNS, EVENT_COLUMNS, column_list, empty_select

#: Words of a question about the relations themselves.
_CATALOG = re.compile(
    r"\b(show|describe|summarize|duckdb_\w+|information_schema|pg_catalog|sqlite_master)\b", re.IGNORECASE
)
_MISSING = re.compile(r"with name (?P<name>\w+) does not exist")
_EVENT_ROW_COLUMNS = EVENT_COLUMNS | {"trace_id": "VARCHAR", "lane": "VARCHAR"}
#: The events with trace and lane, which the folders say. DuckDB's own reading of `key=value` leaves files alone that a
#: join does not want (4 of 110 opened where the other way opens all), but it takes every folder's name for a key, those
#: above the lake among them, and the first of a name wins. So it reads only where the lake's own are the only ones.
_BY_KEY = """
SELECT * FROM read_parquet(
    getvariable('event_files'), hive_partitioning = true, hive_types = {'trace_id': VARCHAR, 'lane': VARCHAR}
)
"""
_BY_FOLDER = rf"""
SELECT
    * EXCLUDE (filename),
    regexp_extract(filename, 'trace_id=({TRACE_ID.pattern})/lane=[a-z]+/[^/]+$', 1) AS trace_id,
    regexp_extract(filename, '/lane=([a-z]+)/[^/]+$', 1) AS lane
FROM read_parquet(getvariable('event_files'), hive_partitioning = false, filename = true)
"""


class Store:
    """A lake on disk and the connection that answers questions about it.

    The connection is an in-memory DuckDB: the Parquet files are the truth and nothing in DuckDB outlives the process.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True, memory_limit: str | None = None) -> None:
        """Open the lake at `path`, making an empty one where nothing is.

        Raises:
            UsageError: no lake is there and `create` is false, or the folder holds other things.
            InputError: the lake is of a newer format, or cannot be read.
        """
        self.layout: Layout = open_layout(Path(path), create=create)
        self._memory_limit = memory_limit
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
        """The DuckDB connection, with all relations created, commented, and those that are materialised up to date."""
        connection = self._ready(entry.name for entry in modules.modules())
        plain = [entry for entry in modules.modules() if entry.name not in self._commented]
        connection.execute("\n".join(modules.comments(entry, entry.name) for entry in plain))
        self._commented.update(entry.name for entry in plain)
        return connection

    def sql(self, query: str, **parameters: Any) -> duckdb.DuckDBPyRelation:
        """Return the answer to an SQL question as a DuckDB relation (`.pl()`, `.arrow()`, `.df()`, `.fetchall()`).

        Args:
            query: DuckDB SQL over the lake's relations.
            parameters: values of `$name` parameters in the query.

        Raises:
            UsageError: the query cannot be parsed or names an unknown relation or column.
        """
        if _CATALOG.search(query):
            return self._asked_of_all(query, parameters)
        try:
            return self._ready(modules.names_in(query)).sql(query, params=parameters or None)
        except duckdb.CatalogException as error:
            raise UsageError(_near(str(error))) from error
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

    def _asked_of_all(self, query: str, parameters: dict[str, Any]) -> duckdb.DuckDBPyRelation:
        try:
            return self.connection.sql(query, params=parameters or None)
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
            raise UsageError(str(error)) from error

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a small question."""
        return self._ready(modules.names_in(query)).execute(query, parameters or []).fetchall()

    def prepare(self, query: str) -> None:
        """Have what a question names ready, for one that is asked of an answer and not of the lake."""
        self._ready(modules.names_in(query))

    def refresh(self) -> None:
        """See what other processes, or an ingest of this one, have published or removed since the last look."""
        if self._connection is None:
            # Nobody has looked yet: the first question will.
            return
        connection = self._connection
        if not self._catalog.load(connection):
            return
        files = [file for trace_id in self._catalog.stamps for file in self.layout.event_files(trace_id)]
        _set_event_files(connection, files)
        self._materialised.clear()
        self._pairs.clear()
        self._recompute(entry.name for entry in modules.modules())

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
        with exclusive(self.layout.lock):
            kept = read_settings(path) if is_plain_file(path) else {}
            kept.update(settings)
            kept = {key: value for key, value in kept.items() if value is not None}
            publish_bytes(path, (json.dumps(kept, indent=1, sort_keys=True) + "\n").encode())

    def remove(self, trace: str) -> str:
        """Remove a trace from the lake and return its id. Its source file is not touched."""
        trace_id = self.resolve(trace)
        with exclusive(self.layout.lock):
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
                    marts.refresh(connection, self.layout, entry, self._origins(entry, stamps))
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
        config: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": True,
            # What does not fit memory goes there; without a word DuckDB would take the folder one stands in.
            "temp_directory": str(Path(tempfile.gettempdir()) / f"tracelake-{os.getpid()}"),
            # Takes a third of the time to plan our deepest views, and their plans are no faster with it.
            "disabled_optimizers": "projection_pullup",
        }
        if self._memory_limit:
            config["memory_limit"] = self._memory_limit
        if threads := os.environ.get("TRACELAKE_THREADS"):
            if not threads.isdecimal() or not 1 <= int(threads) <= 1024:
                raise UsageError(f"TRACELAKE_THREADS={threads}: expected a number of threads, 1 to 1024.")
            config["threads"] = int(threads)
        connection = duckdb.connect(config=config)
        connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        # A row that makes no sense has no answer, and others keep theirs.
        connection.execute("SET error_on_division_by_zero = false")
        # Where an estimate says a few rows, DuckDB would compare each with all: ours are far off below deep views.
        connection.execute("SET asof_loop_join_threshold = 0")
        connection.execute(f"CREATE TABLE _catalog ({column_list(CATALOG_COLUMNS)})")
        connection.execute("CREATE TABLE _settings (trace_id VARCHAR, key VARCHAR, value VARCHAR)")
        _set_event_files(connection, [])
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


def _near(message: str) -> str:
    """Return what DuckDB says of a relation that is not there, with the names of ours that are spelled alike."""
    missing = _MISSING.search(message)
    if missing is None:
        return message
    known = [entry.name for entry in modules.modules() if entry.public]
    near = difflib.get_close_matches(missing["name"].lower(), known, n=3, cutoff=0.5)
    first = message.partition("\n")[0]
    guess = f" Near: {', '.join(near)}." if near else ""
    return f"{first}{guess} `tracelake schema` lists the relations."


def _set_event_files(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """Point the rows of all events at a list of files, or at nothing."""
    source = empty_select(_EVENT_ROW_COLUMNS)
    if files:
        connection.execute("SET VARIABLE event_files = $1", [[pattern(file) for file in files]])
        source = _BY_FOLDER if "=" in str(files[0].parents[2].absolute()) else _BY_KEY
    connection.execute(f"CREATE OR REPLACE VIEW _event_rows AS {source}")
