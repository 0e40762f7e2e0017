"""Answers computed: the stored relations of some traces, each once, as tables in memory, then as files of Parquet.

A relation that rests on others reads their tables, so that no query is planned deeper than to the next of them: what is
stored, and every view that several read. Planning is what small traces cost, and it is the same for one and for many;
so they are computed together. Where a query fails, each half of the traces is tried by itself, down to the one that
fails alone: of that trace the relation, and all that rest on it, have no rows.
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

#: Rows of a table that are written by its key, not by trace alone.
_SORTED = 100_000
#: Rows of which zstd takes longer to begin than it saves.
_FEW = 1000
#: Tables made at once of a trace by itself: to plan a small one's takes longer than to compute them.
_AT_ONCE = 2
#: Events of devices and the host, of a trace whose tables are made one after the other: two at once would share the
#: memory. Those of Python, nine of ten where stacks were recorded, are read by few tables, and in little memory.
_LARGE = 250_000
_MAKE_TABLES = ("lane=device", "lane=host")
#: The type of the traces' ids of a batch.
_TRACE_IDS = "trace_ids"
#: Rows that are no answers: an error of such a kind is the trace's own, and not memory, the disk or an interrupt.
_OF_A_TRACE = (duckdb.DataError, duckdb.InvalidInputException, UnicodeDecodeError)


class _FailedTogetherError(Exception):
    """A query over several traces failed."""


class Worker:
    """A connection that computes: the lookup tables stay, all else is of one batch after another."""

    def __init__(self, layout: Layout, memory_limit: str | None = None) -> None:
        """Open a database in memory; without a limit it takes what `Memory` gives it."""
        self.connection = connect(memory_limit)
        self._memory = Memory(self.connection) if memory_limit is None else None
        self.lookups = LookupTables(layout)
        #: The type of the traces' ids.
        self._trace_ids = "VARCHAR"
        #: The relations that are there: VIEW, MACRO or TABLE, and whether they are of this batch alone.
        self._there: dict[str, tuple[str, bool]] = {}
        #: The formats of this batch's traces.
        self._formats: set[str] = set()
        #: The tables of this batch and what is given to it; the same with the views made so far.
        self._fixed: frozenset[str] = frozenset()
        self._ready: set[str] = set()
        self._making_views = threading.Lock()
        #: What is known of the rows of this batch.
        self._emptiness = Emptiness(lambda name: name not in self._fixed, lambda: self._formats)
        create_tables(self.connection)
        aside.create_table(self.connection)
        self.connection.execute("".join(f"CREATE SCHEMA {schema};" for schema in modules.schemas()))

    def compute(self, work: Work) -> Answers:
        """Compute relations of some traces.

        Raises:
            DamagedError: files of events cannot be read.
            InputError: rows that a user gave a lookup table cannot be read.
            duckdb.Error: the cause is not in the traces: memory, the disk, an interrupt.
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
        """Make relations ready for a query of the connection.

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
        """Take away what is of this batch alone."""
        for name in [name for name, (_, passing) in self._there.items() if passing]:
            self._drop(name)
        if self._trace_ids != "VARCHAR":
            self._trace_ids = "VARCHAR"
            release_events(self.connection)
            show(self.connection)
            self.connection.execute(f"DROP TYPE {_TRACE_IDS}")

    def _number_traces(self, traces: Collection[str]) -> None:
        """Have the ids of a batch's traces be numbers inside: DuckDB sorts and joins by these in half of the time."""
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
        """Compute all that is wanted of some traces, and write it."""
        self.lookups.reread(self.connection)
        self._emptiness.clear()
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
        # The rows of several traces are written when all tables are there: one of them may fail.
        files = [
            Job(f"{name}.parquet", [name] if name in needs else [], partial(write, name))
            for name in sorted(work.relations)
        ]
        unread = {name: {reader for reader in needs if name in needs[reader]} for name in needs.keys() - work.relations}
        large = self._is_large(work)
        for done in self._done([*tables, *files], _AT_ONCE if len(traces) == 1 and not large else 1):
            if large:
                give_back()
            for name in needs.get(done, ()) & unread.keys():
                unread[name].discard(done)
                if not unread[name]:
                    self._drop(name)
        if failed:
            answers.faults[traces[0]] = failed

    def _is_large(self, work: Work) -> bool:
        """Whether tables of some traces are large together."""
        if sum(entry["event_count"] for entry in work.entries) < _LARGE:
            return False
        files = [file for one in work.events.values() for file in one if file.parent.name in _MAKE_TABLES]
        if not files:
            return False
        try:
            [(rows,)] = self.connection.execute(f"SELECT count(*) FROM {parquet_rows(files)}").fetchall()
        except duckdb.Error:  # where a file is damaged, the tables that read it say so
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
        """Create a table of a batch, without rows where it cannot have any, or fails for the only trace there is."""
        is_empty = self._emptiness.reads_nothing(entry) or bool(failed.keys() & modules.sources(entry.name))
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
        """Create a table of a batch; what does not fit in little memory in parts, and only then in more.

        DuckDB holds what all joins of a query are made from at once: views that only this one reads become tables too.
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
        """Do some work, with more memory where it does not fit what there is, if the limit is not a user's."""
        if self._memory:
            self._memory.fit(work, first, last)
        else:
            work()

    def _done(self, jobs: Sequence[Job], at_once: int) -> Iterator[str]:
        """Do jobs on this connection, or several at once on others to the database, which read the same events."""
        if at_once == 1:
            yield from jobs_done(jobs, [self.connection])
            return
        [read] = self.connection.execute("SELECT getvariable('event_files')").fetchall()
        with ExitStack() as open_cursors:
            cursors = [open_cursors.enter_context(self.connection.cursor()) for _ in range(at_once)]
            for cursor in cursors:
                cursor.execute("SET VARIABLE event_files = $1", read)
            yield from jobs_done(jobs, cursors)

    def _make(
        self, entry: modules.Module, given: Mapping[str, str], connection: duckdb.DuckDBPyConnection | None = None
    ) -> None:
        """Create a relation that is no table of a batch; one that is there and not of a batch alone stays."""
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
        """Create the views that a relation reads; what surely has no rows without all that it is made from.

        To plan that takes as long as if there were rows.
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
        """Create what stands for a relation of a batch without rows."""
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
        """Write the rows of a relation to a file; none where there are no rows."""
        if name not in work.given and not self._emptiness.rows[name]:
            return
        entry = modules.module(name)
        assert entry is not None
        listed = ", ".join(map(modules.quoted, traces))
        # A query's own types may be wider than those that are written down: sums are HUGEINT.
        shown = ", ".join(cast(column.name, stored_type(column.type)) for column in entry.columns)
        query = (
            # First: a table's log has the ranges of its first columns only.
            f"SELECT {modules.quoted(work.batch_id)} AS batch_id, {shown} FROM {name} WHERE trace_id IN ({listed})"
        )
        path = work.folder / f"{name}.{len(answers.files.get(name, ()))}.parquet"
        # Of few rows, in the order that people expect where they ask for none; many of one trace are not sorted.
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
