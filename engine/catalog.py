"""The catalog: which traces are in the lake, their settings, and which batches computed their answers.

Two Delta tables, written by appending: for each trace the latest row of `traces` applies, for each setting that of
`settings`. A row names the batches that hold the trace's rows of stored relations; rows of other batches are ignored.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .aside import warn_once
from .connection import database, have_read
from .damage import DamagedError, Found, fault, is_fatal
from .schema import CATALOG_COLUMNS, SETTING_COLUMNS, STATE_COLUMNS, column_list
from .settings import changes_answers
from .sql.modules import quoted
from .storage.objects import fetch
from .storage.paths import TRACE_ID, Place, pattern
from .storage.tables import DataFile, Tables

if TYPE_CHECKING:
    import duckdb

_log = logging.getLogger("tracelake")
_NO_FAULTS: Mapping[str, str] = MappingProxyType({})
TRACES, SETTINGS = "traces", "settings"
_COLUMNS = CATALOG_COLUMNS | STATE_COLUMNS
_WHAT = {TRACES: "Entries", SETTINGS: "Settings"}
#: Superseded batches, which may still have rows in files.
_FORMER = """
SELECT DISTINCT r.{batch} FROM _entry_rows AS r
ANTI JOIN _entries AS e ON e.trace_id = r.trace_id AND e.{batch} = r.{batch}
WHERE r.{batch} IS NOT NULL
"""


class State(NamedTuple):
    """The catalog's state of a trace's answers. A command makes one per trace, up to ten thousand: no dataclass.

    Attributes:
        batch_id: the batch that computed them; empty before the first.
        linked_batch_id: the batch that computed those that depend on other traces as well.
        links: these traces, each with its batch.
        rules: the fingerprint of the rules and settings that computed them.
        relations: the stored relations with rows of these batches, separated and enclosed by commas.
        faults: relations that cannot be computed, and why.
        event_files: in an object store the files of its events, see `layout.listing`.
    """

    batch_id: str = ""
    linked_batch_id: str = ""
    links: str = ""
    rules: str = ""
    relations: str = ""
    faults: Mapping[str, str] = _NO_FAULTS
    event_files: str | None = None


def new_id(after: Iterable[str] = ()) -> str:
    """Return the id of a batch or catalog row; it sorts after the given ids even if the clock went back."""
    last = max((int(one[:19]) for one in after if one), default=0)
    return f"{max(time.time_ns(), last + 1):019d}-{uuid.uuid4().hex[:8]}"


def create_tables(connection: duckdb.DuckDBPyConnection, *, temporary: bool = False) -> None:
    """Create the tables that `load` fills, `_entries` and `_settings`, and the view `_catalog` for the SQL modules."""
    create = "CREATE TEMP" if temporary else "CREATE"
    connection.execute(
        f"{create} TABLE _entries ({column_list(_COLUMNS)});{create} TABLE _settings ({column_list(SETTING_COLUMNS)})"
    )
    show(connection, temporary=temporary)


def show(connection: duckdb.DuckDBPyConnection, trace_ids: str = "VARCHAR", *, temporary: bool = False) -> None:
    """Create the view `_catalog` of the entries, with the trace ids cast to a type."""
    shown = ", ".join(f'"{name}"' for name in CATALOG_COLUMNS if name != "trace_id")
    connection.execute(
        f"CREATE OR REPLACE {'TEMP ' if temporary else ''}VIEW _catalog AS "
        f"SELECT CAST(trace_id AS {trace_ids}) AS trace_id, {shown} FROM _entries"
    )


def put(connection: duckdb.DuckDBPyConnection, entries: Iterable[Mapping[str, Any]], gone: Iterable[str] = ()) -> None:
    """Insert or replace entries of some traces in a connection's catalog, and delete those of `gone`."""
    rows = [[entry.get(name) for name in _COLUMNS] for entry in entries]
    gone = set(gone)
    away = [*gone, *(row[0] for row in rows)]
    connection.execute("DELETE FROM _entries WHERE list_contains($1, trace_id)", [away])
    if rows := [row for row in rows if row[0] not in gone]:
        connection.executemany(f"INSERT INTO _entries VALUES ({', '.join('?' for _ in _COLUMNS)})", rows)


def fill(
    connection: duckdb.DuckDBPyConnection,
    entries: Iterable[Mapping[str, Any]],
    settings: Iterable[tuple[str, str, str]],
) -> None:
    """Replace a connection's catalog by the entries and settings of some traces."""
    connection.execute("DELETE FROM _entries; DELETE FROM _settings")
    put(connection, entries)
    if rows := list(settings):
        connection.executemany("INSERT INTO _settings VALUES (?, ?, ?)", rows)


@contextlib.contextmanager
def reading(tables: Tables, root: Place) -> Iterator[tuple[Catalog, duckdb.DuckDBPyConnection]]:
    """Lend a connection with the catalog of a lake loaded.

    Raises:
        InputError: the log of a table cannot be read.
    """
    with database(1) as connection:
        have_read(connection, root)
        create_tables(connection, temporary=True)
        catalog = Catalog(tables)
        catalog.load(connection)
        yield catalog, connection


class Catalog:
    """The catalog as of its last load."""

    def __init__(self, tables: Tables) -> None:
        """Initialise without loading."""
        self._tables = tables
        self._seen: tuple[int, ...] | None = None
        #: Files that cannot be read, each with its table and the reason.
        self._lost: dict[DataFile, tuple[str, str]] = {}
        self._last: str = ""
        #: The state of each trace's answers.
        self.states: dict[str, State] = {}
        #: The formats of the traces.
        self.formats: frozenset[str] = frozenset()
        #: The settings of each trace that has any.
        self.settings: dict[str, dict[str, str]] = {}
        #: Cache of resolved names: what the user wrote -> trace id; valid for the loaded catalog.
        self.named: dict[str, str] = {}
        #: Batches with superseded rows: of answers of a single trace, and of linked ones.
        self.former: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    @property
    def loaded(self) -> bool:
        """Whether the catalog was loaded since the last `forget`."""
        return self._seen is not None

    @property
    def version(self) -> int:
        """The loaded version of the table `traces`; -1 before the first load."""
        return self._seen[0] if self._seen else -1

    @property
    def is_damaged(self) -> bool:
        """Whether any file of the catalog cannot be read."""
        return bool(self._lost)

    @property
    def damaged(self) -> dict[str, str]:
        """The traces whose entry or settings are in an unreadable file of their own, with the reason."""
        return {
            file.traces[0]: reason
            for file, (table, reason) in self._lost.items()
            if file.traces[0] == file.traces[1] and (table == SETTINGS or file.traces[0] not in self.states)
        }

    def mend(self, traces: Container[str]) -> None:
        """Drop unreadable files from the tables if they hold a single trace, one of `traces`."""
        for file, (table, _) in tuple(self._lost.items()):
            if file.traces[0] == file.traces[1] and file.traces[0] in traces:
                self._tables.drop(table, [file])
                del self._lost[file]

    def forget(self) -> None:
        """Make the next load read the tables again."""
        self._seen = None

    def is_current(self) -> bool:
        """Whether the loaded catalog is the lake's latest version."""
        return self._seen == self._versions()

    def load(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Fill a connection's catalog; return whether anything had changed.

        Raises:
            InputError: the log of a table cannot be read.
            DamagedError: an unreadable file broke the connection; the next load skips the file.
        """
        seen = self._versions()
        if seen == self._seen:
            return False
        self._tables.look_again()
        connection.execute("DELETE FROM _entries")
        self._insert(connection, TRACES, "_entries", _COLUMNS)
        # Paths are built from ids, and the lake may be untrusted.
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE _entry_rows AS "
            "SELECT trace_id, row_id, removed, batch_id, linked_batch_id, rowid AS nth FROM _entries "
            f"WHERE regexp_full_match(trace_id, {quoted(TRACE_ID.pattern)});"
            "DELETE FROM _entries WHERE removed OR rowid NOT IN "
            "(SELECT arg_max(nth, row_id) FROM _entry_rows GROUP BY trace_id)"
        )
        rows = connection.execute(
            "SELECT trace_id, ifnull(batch_id, ''), ifnull(linked_batch_id, ''), ifnull(links, ''), ifnull(rules, ''), "
            "ifnull(relations, ''), ifnull(faults, ''), event_files, format FROM _entries ORDER BY trace_id"
        ).fetchall()
        [(last, entries)] = connection.execute("SELECT max(row_id), count(*) FROM _entry_rows").fetchall()
        self.former = (frozenset(), frozenset())
        if entries > len(rows):
            self.former = tuple(  # type: ignore[assignment]
                frozenset(batch for (batch,) in connection.execute(_FORMER.format(batch=batch)).fetchall())
                for batch in ("batch_id", "linked_batch_id")
            )
        self.states = {
            trace_id: State(
                batch, linked, links, rules, names, json.loads(faults) if len(faults) > 2 else _NO_FAULTS, listed
            )
            for trace_id, batch, linked, links, rules, names, faults, listed, _ in rows
        }
        self.formats = frozenset(row[-1] for row in rows)
        self._load_settings(connection)
        connection.execute("DROP TABLE _entry_rows")
        self._last = max(self._last, last or "")
        self.named = {}
        self._seen = seen
        return True

    def leave(self, connection: duckdb.DuckDBPyConnection, traces: Iterable[str]) -> None:
        """Delete all traces but the given ones from a loaded connection."""
        for table in ("_entries", "_settings"):
            connection.execute(f"DELETE FROM {table} WHERE NOT list_contains($1, trace_id)", [sorted(traces)])

    def entries(self, connection: duckdb.DuckDBPyConnection, traces: Iterable[str]) -> list[dict[str, Any]]:
        """Return the entries of some traces, in the form `append` takes."""
        found = connection.execute("SELECT * FROM _entries WHERE list_contains($1, trace_id)", [list(traces)])
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def append(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Append entries; they are later than all others, and therefore current.

        Raises:
            OvertakenError: in an object store, another writer has appended entries since these were loaded.
        """
        if entries:
            row_id = self._last = new_id([self._last])
            after = self.version if self._tables.is_remote else None
            # Omit the column if no entry has a value, so that local lakes do not get it.
            listed = any(entry.get("event_files") for entry in entries)
            columns = {name: kind for name, kind in _COLUMNS.items() if listed or name != "event_files"}
            self._tables.insert(TRACES, [{**entry, "row_id": row_id} for entry in entries], columns, after)

    def append_settings(self, settings: Mapping[str, Mapping[str, str | None]]) -> None:
        """Append settings that differ from the loaded ones; None removes a setting."""
        row_id = new_id([self._last])
        rows = [
            {"trace_id": trace_id, "key": key, "value": value, "row_id": row_id}
            for trace_id, given in settings.items()
            for key, value in given.items()
            if self.settings.get(trace_id, {}).get(key) != value
        ]
        if rows:
            self._last = row_id
            self._tables.insert(SETTINGS, rows, SETTING_COLUMNS | {"row_id": "VARCHAR"})

    def relevant(self, trace_id: str) -> dict[str, str]:
        """Return the settings of a trace that its answers depend on."""
        return {key: value for key, value in self.settings.get(trace_id, {}).items() if changes_answers(key)}

    def _versions(self) -> tuple[int, ...]:
        return self._tables.version(TRACES), self._tables.version(SETTINGS)

    def _load_settings(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.settings = {}
        if not self._tables.files(SETTINGS):
            if not self._tables.is_remote and self._tables.has_lost_log(SETTINGS):
                folder = self._tables.path(SETTINGS)
                warn_once(folder, f"{folder}: files but no log: settings are missing.")
            connection.execute("DELETE FROM _settings")
            return
        columns = SETTING_COLUMNS | {"row_id": "VARCHAR"}
        connection.execute(f"CREATE OR REPLACE TEMP TABLE _setting_rows ({column_list(columns)})")
        self._insert(connection, SETTINGS, "_setting_rows", columns)
        connection.execute(
            "DELETE FROM _settings; INSERT INTO _settings SELECT trace_id, key, value FROM ("
            "  FROM _setting_rows QUALIFY row_number() OVER (PARTITION BY trace_id, key ORDER BY row_id DESC) = 1"
            ") AS s SEMI JOIN _entries AS e ON e.trace_id = s.trace_id "
            # A trace ingested again after its removal does not get its earlier settings back.
            "ANTI JOIN _entry_rows AS r ON r.trace_id = s.trace_id AND r.removed AND r.row_id > s.row_id "
            "WHERE value IS NOT NULL"
        )
        [(last,)] = connection.execute("SELECT max(row_id) FROM _setting_rows").fetchall()
        self._last = max(self._last, last or "")
        connection.execute("DROP TABLE _setting_rows")
        for trace_id, key, value in connection.execute("FROM _settings").fetchall():
            self.settings.setdefault(trace_id, {})[key] = value

    def _insert(self, connection: duckdb.DuckDBPyConnection, table: str, into: str, columns: Mapping[str, str]) -> None:
        """Insert the rows of a table's readable files."""
        import duckdb

        files = [file for file in self._tables.files(table) if file not in self._lost]
        if not files:
            return
        fetch(file.path for file in files)
        # Columns of a later version are ignored; columns missing in an earlier one are NULL.
        named = ", ".join(f"'{name}'" for name in columns)
        try:
            connection.execute(
                f"INSERT INTO {into} BY NAME SELECT COLUMNS(lambda name: name IN ({named})) "
                "FROM read_parquet($1, union_by_name = true, hive_partitioning = false) "
                "WHERE ifnull(row_id, error('a file has no ids of rows')) IS NOT NULL",
                [[pattern(file.path) for file in files]],
            )
        except duckdb.Error as error:
            if isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException):
                raise
            key = ("trace_id", "row_id")
            faults = ((file, fault([file.path], whole=True, columns=key)) for file in files)
            found = {file: (table, why) for file, why in faults if why}
            if not found:
                raise
            self._lost |= found
            for file, (_, why) in found.items():
                if file.traces[0] != file.traces[1]:
                    _log.warning("%s\n  %s of several traces are missing.", why, _WHAT[table])
            if is_fatal(error):
                raise DamagedError(Found(fatal=True)) from error
            self._insert(connection, table, into, columns)
