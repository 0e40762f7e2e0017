"""Computes the stored relations of some traces, each once: as tables in memory, then as Parquet files.

A relation reads the tables of the relations it depends on, so queries are planned down to the next table only: tables
are the stored relations and every view that several read. Planning dominates for small traces and costs the same for
one or many, so they are computed together. If a query fails, each half of the traces is tried separately, down to
the single trace that fails: for it, the relation and all that depend on it have no rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

import duckdb

from .. import aside
from ..catalog import create_tables, fill, show
from ..connection import connect, hold_events, release_events, set_event_files
from ..damage import DamagedError, find, is_fatal, may_be_damage, reason_of
from ..schema import cast, with_trace_ids
from ..sql import modules, parsed
from ..sql.lookups import LookupTables
from ..storage.layout import Layout
from ..storage.paths import file_literal, parquet_rows
from ..storage.table_types import statistics, stored_type
from .as_tables import NEVER_TABLES, Emptiness, empty_view, known_columns, plan
from .jobs import Job
from .jobs import do as jobs_done
from .memory import Memory, give_back
from .work import Answers, Work

#: Tables with more rows are not sorted by their key.
_SORTED = 100_000
#: Up to this many rows, starting zstd takes longer than it saves.
_FEW = 1000
#: Most tables computed concurrently: for few rows, planning takes longer than computing.
_AT_ONCE = 4
#: From this many device and host events on, a trace's tables are computed one at a time: two would share the memory.
#: Python events, nine of ten where stacks were recorded, are read by few tables that need little memory.
_LARGE = 250_000
_MAKE_TABLES = ("lane=device", "lane=host")
#: The type of a batch's trace ids.
_TRACE_IDS = "trace_ids"
#: Errors caused by a trace's data, and not by memory, the disk or an interrupt.
_OF_A_TRACE = (duckdb.DataError, duckdb.InvalidInputException, UnicodeDecodeError)


class _FailedTogetherError(Exception):
    """A query over several traces failed."""


class Worker:
    """A connection that computes batches: the lookup tables stay, everything else belongs to one batch."""

    def __init__(self, layout: Layout, memory_limit: str | None = None) -> None:
        """Open an in-memory database; without a limit, `Memory` sets one."""
        self.connection = connect(memory_limit)
        self._memory = Memory(self.connection) if memory_limit is None else None
        [(self._threads,)] = self.connection.execute("SELECT current_setting('threads')").fetchall()
        self.lookups = LookupTables(layout)
        #: The type of the trace ids.
        self._trace_ids = "VARCHAR"
        #: The existing relations: VIEW, MACRO or TABLE, and whether they belong to the current batch only.
        self._there: dict[str, tuple[str, bool]] = {}
        #: The formats of the current batch's traces.
        self._formats: set[str] = set()
        #: The tables of the current batch and the relations given to it; the same plus the views created so far.
        self._fixed: frozenset[str] = frozenset()
        self._ready: set[str] = set()
        self._making_views = threading.Lock()
        #: Which relations of the current batch have no rows.
        self._emptiness = Emptiness(lambda name: name not in self._fixed, lambda: self._formats)
        create_tables(self.connection)
        aside.create_table(self.connection)
        self.connection.execute("".join(f"CREATE SCHEMA {schema};" for schema in modules.schemas()))

    def compute(self, work: Work) -> Answers:
        """Compute relations of some traces.

        Raises:
            DamagedError: event files cannot be read.
            InputError: a user's lookup rows cannot be read.
            duckdb.Error: the cause is not in the traces but memory, the disk or an interrupt.
        """
        fill(self.connection, work.entries, work.settings)
        answers = Answers()
        try:
            self._number_traces({*work.events, *(entry["trace_id"] for entry in work.entries)})
            self._attempt(work, list(work.traces), answers)
        finally:
            self.clear()
        return answers

    def read(self, names: Iterable[str], given: Mapping[str, str]) -> None:
        """Make relations ready for a query on the connection.

        Args:
            names: the relations.
            given: for stored relations the SELECT that reads their rows.
        """
        self.lookups.reread(self.connection)
        for entry in plan(names, given.keys())[0]:
            if entry.in_memory:
                self._make_table(entry, self.connection)
            else:
                self._make(entry, given)

    def clear(self) -> None:
        """Drop what belongs to the current batch only."""
        for name in [name for name, (_, passing) in self._there.items() if passing]:
            self._drop(name)
        if self._trace_ids != "VARCHAR":
            self._trace_ids = "VARCHAR"
            release_events(self.connection)
            show(self.connection)
            self.connection.execute(f"DROP TYPE {_TRACE_IDS}")

    def _number_traces(self, traces: Collection[str]) -> None:
        """Store the trace ids of a batch as an ENUM: DuckDB sorts and joins by its numbers in half the time."""
        listed = ", ".join(map(modules.quoted, sorted(traces)))
        self.connection.execute(f"CREATE TYPE {_TRACE_IDS} AS ENUM ({listed})")
        self._trace_ids = _TRACE_IDS
        show(self.connection, _TRACE_IDS)

    def _attempt(self, work: Work, traces: list[str], answers: Answers) -> None:
        try:
            self._chain(work, traces, answers)
        except _FailedTogetherError:
            middle = len(traces) // 2
            self._attempt(work, traces[:middle], answers)
            self._attempt(work, traces[middle:], answers)

    def _chain(self, work: Work, traces: list[str], answers: Answers) -> None:
        """Compute everything wanted for some traces, and write it."""
        self.lookups.reread(self.connection)
        self._emptiness.clear()
        self._emptiness.rows["_settings"] = len(work.settings)
        read = [*traces, *(one for one in work.events if one not in work.traces)]
        set_event_files(self.connection, [file for one in read for file in work.events[one]], self._trace_ids)
        hold_events(self.connection, sum(entry["event_count"] for entry in work.entries))
        self._formats = {entry["format"] for entry in work.entries}
        order, needs = plan(work.relations, work.given.keys())
        self._fixed = frozenset({*needs, *work.given})
        self._ready = set(self._fixed)
        for entry in order:
            if entry.name not in needs and (entry.kind != "VIEW" or entry.name in work.given):
                self._make(entry, work.given)
        failed: dict[str, str] = {}

        def make(entry: modules.Module, connection: duckdb.DuckDBPyConnection) -> None:
            self._try_table(work, entry, traces, failed, connection)

        def write(name: str, connection: duckdb.DuckDBPyConnection) -> None:
            self._fit(partial(self._write, work, name, traces, answers, connection))

        tables = [Job(entry.name, needs[entry.name], partial(make, entry)) for entry in order if entry.name in needs]
        # The rows of several traces are written when all tables exist, since one of them may fail.
        files = [
            Job(f"{name}.parquet", needs if len(traces) > 1 else needs.keys() & {name}, partial(write, name))
            for name in sorted(work.relations)
        ]
        unread = {name: {reader for reader in needs if name in needs[reader]} for name in needs.keys() - work.relations}
        large = self._is_large(work)
        for done in self._done([*tables, *files], 1 if large else min(_AT_ONCE, self._threads)):
            if large:
                give_back()
            for name in needs.get(done, ()) & unread.keys():
                unread[name].discard(done)
                if not unread[name]:
                    self._drop(name)
        if failed:
            answers.faults[traces[0]] = failed

    def _is_large(self, work: Work) -> bool:
        """Whether the tables of some traces are large in total."""
        if sum(entry["event_count"] for entry in work.entries) < _LARGE:
            return False
        files = [file for one in work.events.values() for file in one if file.parent.name in _MAKE_TABLES]
        if not files:
            return False
        try:
            [(rows,)] = self.connection.execute(f"SELECT count(*) FROM {parquet_rows(files)}").fetchall()
        except duckdb.Error:  # if a file is damaged, the tables that read it report it
            return True
        return bool(rows >= _LARGE)

    def _try_table(
        self,
        work: Work,
        entry: modules.Module,
        traces: Sequence[str],
        failed: dict[str, str],
        connection: duckdb.DuckDBPyConnection,
    ) -> None:
        """Create a table of a batch, without rows if it fails for the only trace; if it has none, only when read."""
        reads_nothing = self._emptiness.reads_nothing(entry)
        if reads_nothing and known_columns(entry):
            # Created when another relation reads it, if any does.
            self._ready.discard(entry.name)
            self._emptiness.rows[entry.name] = 0
            return
        is_empty = reads_nothing or bool(failed.keys() & modules.sources(entry.name))
        try:
            if not (is_empty and known_columns(entry)):
                with self._making_views:
                    self._make_views(entry, connection)
            if is_empty:
                self._put_empty(entry, connection)
            else:
                self._make_fitting(entry, connection)
        except (duckdb.Error, UnicodeDecodeError) as error:
            if may_be_damage(error) and (found := find(work.events, (), error)):
                raise DamagedError(found) from error
            if not isinstance(error, _OF_A_TRACE) or is_fatal(error):
                raise
            if len(traces) > 1:
                raise _FailedTogetherError from error
            failed[entry.name] = reason_of(error)
            self._put_empty(entry, connection)

    def _make_fitting(self, entry: modules.Module, connection: duckdb.DuckDBPyConnection) -> None:
        """Create a table of a batch; if memory does not suffice, compute it in parts, and only then with more memory.

        DuckDB holds the build sides of all joins of a query at once; the parts are views that only this query reads.
        """

        def make() -> None:
            self._make_table(entry, connection)

        try:
            self._fit(make, last=0)
        except duckdb.OutOfMemoryException:
            parts = [
                part
                for part in modules.direct(entry)
                if self._there.get(part.name) == ("VIEW", False) and part.name not in NEVER_TABLES
                if not part.is_twin and not self._emptiness.reads_nothing(part)
            ]
            for part in parts:
                self._make_fitting(part, connection)
            self._fit(make, first=0 if parts else 1)
            for part in parts:
                self._drop(part.name, connection)

    def _fit(self, work: Callable[[], None], first: int = 0, last: int | None = None) -> None:
        """Run some work, with more memory if it needs more, unless the user has set the limit."""
        if self._memory:
            self._memory.fit(work, first, last)
        else:
            work()

    def _done(self, jobs: Sequence[Job], at_once: int) -> Iterator[str]:
        """Run jobs on this connection with all threads, or several at once on cursors with a thread each.

        Queries over few rows do not divide their work among threads, and waking those costs a tenth of their time.
        """
        if at_once == 1:
            yield from jobs_done(jobs, [self.connection])
            return
        [read] = self.connection.execute("SELECT getvariable('event_files')").fetchall()
        with ExitStack() as stack:
            self.connection.execute("SET GLOBAL threads = 1")
            stack.callback(self.connection.execute, f"SET GLOBAL threads = {self._threads}")
            cursors = [stack.enter_context(self.connection.cursor()) for _ in range(at_once)]
            for cursor in cursors:
                cursor.execute("SET VARIABLE event_files = $1", read)
            yield from jobs_done(jobs, cursors)

    def _make(
        self, entry: modules.Module, given: Mapping[str, str], connection: duckdb.DuckDBPyConnection | None = None
    ) -> None:
        """Create a relation that is not a table of a batch; an existing one that does not belong to a batch stays."""
        name, connection = entry.name, connection or self.connection
        passing = name in given
        if not passing and self._there.get(name) == (entry.kind, False):
            return
        self._drop(name, connection)
        if passing:
            connection.execute(f"CREATE VIEW {name} AS {with_trace_ids(given[name], self._trace_ids)}")
        elif entry.kind == "TABLE":
            self.lookups.create(connection, entry)
        else:
            parsed.execute(connection, modules.create_statement(entry))
        self._there[name] = entry.kind, passing

    def _make_views(self, entry: modules.Module, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the views that a relation reads; views known to be empty are created without their sources.

        Planning those would take as long as if there were rows.
        """
        for part in modules.direct(entry):
            if part.kind == "TABLE" or part.name in self._ready:
                continue
            self._ready.add(part.name)
            is_empty = part.kind == "VIEW" and self._emptiness.reads_nothing(part)
            if not (is_empty and known_columns(part)):
                self._make_views(part, connection)
            if is_empty:
                self._put_empty(part, connection)
            elif part.kind == "VIEW":
                self._make(part, {}, connection)

    def _make_table(self, entry: modules.Module, connection: duckdb.DuckDBPyConnection) -> None:
        """Create a table of a batch."""
        self._drop(entry.name, connection)
        [(self._emptiness.rows[entry.name],)] = parsed.execute(
            connection, f"CREATE TABLE {entry.name} AS {entry.query}"
        ).fetchall()
        self._there[entry.name] = "TABLE", True

    def _put_empty(self, entry: modules.Module, connection: duckdb.DuckDBPyConnection) -> None:
        """Create an empty view for a relation of a batch without rows."""
        if self._there.get(entry.name, ("VIEW",))[0] != "VIEW":
            self._drop(entry.name, connection)
        parsed.execute(connection, empty_view(entry, connection, self._trace_ids))
        self._there[entry.name] = "VIEW", True
        self._emptiness.rows[entry.name] = 0

    def _drop(self, name: str, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        if name in self._there:
            kind, _ = self._there.pop(name)
            parsed.execute(connection or self.connection, f"DROP {kind} {name}")

    def _write(
        self,
        work: Work,
        name: str,
        traces: Sequence[str],
        answers: Answers,
        connection: duckdb.DuckDBPyConnection,
    ) -> None:
        """Write the rows of a relation to a file, if there are any."""
        if name not in work.given and not self._emptiness.rows[name]:
            return
        entry = modules.known(name)
        listed = ", ".join(map(modules.quoted, traces))
        # A query's types may be wider than the declared ones: sums are HUGEINT.
        shown = ", ".join(cast(column.name, stored_type(column.type)) for column in entry.columns)
        query = (
            # First, since a table's log has statistics of the first columns only.
            f"SELECT {modules.quoted(work.batch_id)} AS batch_id, {shown} FROM {name} WHERE trace_id IN ({listed})"
        )
        path = work.folder / f"{name}.{len(answers.files.get(name, ()))}.parquet"
        # Few rows are sorted in the order that people expect without ORDER BY; many rows of one trace are not sorted.
        few = self._emptiness.rows.get(name, _SORTED + 1) <= _SORTED
        keys = dict.fromkeys(("trace_id", *entry.key) if few else ("trace_id",) if len(traces) > 1 else ())
        order = f"ORDER BY {', '.join(keys)}" if keys else ""
        codec = "snappy" if self._emptiness.rows.get(name, _SORTED) <= _FEW else "zstd"
        [(rows,)] = connection.execute(
            f"COPY ({query} {order}) TO {file_literal(path)} (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION v2)"
        ).fetchall()
        if not rows:
            return
        having = list(traces)
        if len(traces) > 1:
            query = f"SELECT DISTINCT trace_id FROM {name} WHERE trace_id IN ({listed})"
            having = [one for (one,) in connection.execute(query).fetchall()]
        answers.files.setdefault(name, []).append((path, statistics(rows, having, [work.batch_id])))
        answers.traces.setdefault(name, set()).update(having)
