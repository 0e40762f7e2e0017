"""The relations of a connection that are not views over stored rows: lookup tables, held rows, views, macros."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from .computing.as_tables import Emptiness, as_tables, empty_view, follows_changes
from .sql import modules, parsed
from .sql.lookups import LookupTables
from .stored import Stored

if TYPE_CHECKING:
    import duckdb


#: Relations without a module, filled from the catalog.
BASE = frozenset({"_entries", "_catalog", "_settings", "_set_aside", "_event_rows"})
#: Words of a query about all relations, of one that may show comments, and of one about all if it names none.
_CATALOG = re.compile(r"\b(tables|duckdb_\w+|information_schema|pg_catalog|sqlite_master)\b", re.IGNORECASE)
_COMMENTED = re.compile(r"\b(duckdb_\w+|information_schema|pg_catalog)\b", re.IGNORECASE)
_DESCRIPTION = re.compile(r"\b(show|describe|summarize)\b", re.IGNORECASE)


def named(query: str) -> set[str]:
    """Return the relations, catalog tables and tables of rule functions that a query may name."""
    functions = modules.RULE_FUNCTIONS.items()
    tables = {table for function, table in functions if function in query}
    return modules.names_in(query) | tables | {name for name in BASE if name in query}


def shows_comments(query: str) -> bool:
    """Return whether a query may show comments, which take seconds to create: SHOW and DESCRIBE do not."""
    return _COMMENTED.search(query) is not None


def is_of_all(query: str, names: Collection[str]) -> bool:
    """Return whether a query is about all relations, given those that it may name."""
    return bool(_CATALOG.search(query) or (not names and _DESCRIPTION.search(query)))


class Relations:
    """Which relations a connection has, and whether they are up to date."""

    def __init__(self, lookups: LookupTables, answers: Stored, *, stored: bool) -> None:
        """Initialise without creating any.

        Args:
            lookups: the lookup tables of the connection.
            answers: the stored answers that it reads.
            stored: whether it reads them; if false, what would be stored is held in memory.
        """
        self._lookups = lookups
        self._answers = answers
        self._stored = stored
        #: The relations that exist, and those of them that have comments.
        self.created: set[str] = set()
        self.commented: set[str] = set()
        #: Without stored answers: the relations that are tables.
        self._tables: set[str] = set()
        #: The kind of each relation whose rows were computed: TABLE, or VIEW if it has none.
        self._kinds: dict[str, str] = {}
        self._emptiness = Emptiness(
            lambda name: name in self.created and name not in self._tables, lambda: self._answers.catalog.formats
        )

    def clear(self) -> None:
        """Forget everything about a closed connection."""
        for known in (self.created, self.commented, self._tables, self._kinds, self._emptiness):
            known.clear()

    def is_stored(self, entry: modules.Module) -> bool:
        """Whether a relation's rows are in files: not if they depend on lookup rows given to this connection only."""
        return (
            self._stored
            and entry.name in modules.stored()
            and not (self._lookups.given and self._lookups.given & modules.sources(entry.name))
        )

    def _is_table(self, entry: modules.Module) -> bool:
        """Whether a relation's rows are held in memory."""
        return entry.in_memory or entry.name in self._tables

    def choose_tables(self, connection: duckdb.DuckDBPyConnection, order: Sequence[modules.Module]) -> None:
        """Without stored answers, choose which of the needed relations become tables."""
        if self._stored:
            return
        kept = {entry.name for entry in order if entry.kept}
        chosen = {one for one in as_tables(order) - self._tables if one in kept or follows_changes(one)}
        for name in chosen & self.created:
            connection.execute(f"DROP VIEW {name}")
            self._kinds.pop(name, None)
        self.expire(chosen)
        self._tables |= chosen

    def recompute(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Recompute those of some existing relations whose rows were computed.

        Those that depend on files of other relations wait for the next query, which brings these up to date.
        """
        for entry in modules.in_order(self.created & self._kinds.keys() & set(names)):
            if not self._stored or any(map(self.is_stored, modules.in_order(modules.sources(entry.name)))):
                self.expire([entry.name])
            else:
                connection.execute(f"DELETE FROM {entry.name}; INSERT INTO {entry.name} {entry.query}")

    def expire(self, names: Iterable[str]) -> None:
        """Have relations recomputed by the next query that needs them."""
        for known in (self.created, self.commented):
            known.difference_update(names)
        self._emptiness.changed()

    def renew_above(self, connection: duckdb.DuckDBPyConnection, table: str) -> set[str]:
        """Update what depends on a lookup table; return the stored relations to be made ready again."""
        above = {entry.name for entry in modules.relations() if table in modules.sources(entry.name)}
        self.recompute(connection, above)
        stored = above & self._answers.pointed
        for names in (self._answers.pointed, self.created, self.commented):
            names.difference_update(stored)
        return stored

    def uncommented(self) -> list[modules.Module]:
        """Return the public relations without comments: commenting a column takes as long as planning its view."""
        return [entry for entry in modules.modules() if entry.public and entry.name not in self.commented]

    def comment(self, connection: duckdb.DuckDBPyConnection, entries: Collection[modules.Module]) -> None:
        """Add comments to existing relations and their columns."""
        from .sql.comments import statements

        if entries:
            connection.execute(
                "\n".join(statements(entry, entry.name, self._kinds.get(entry.name)) for entry in entries)
            )
        self.commented.update(entry.name for entry in entries)

    def create(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Create a relation that has no files of its own; a view is bound when a query names it."""
        if entry.kind == "TABLE":
            self._lookups.create(connection, entry)
        elif self._is_table(entry):
            self._create_table(connection, entry)
        elif not self._stored and entry.kind == "VIEW" and self._emptiness.reads_nothing(entry):
            # Planning its sources would take as long as if there were rows.
            parsed.execute(connection, empty_view(entry, connection))
            self._kinds[entry.name] = "VIEW"
        else:
            parsed.execute(connection, modules.create_statement(entry))
            self._kinds.pop(entry.name, None)

    def _create_table(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Create the table of a relation held in memory; if it has no rows, a view instead."""
        if entry.name in self._kinds:
            connection.execute(f"DROP {self._kinds.pop(entry.name)} {entry.name}")
        if self._emptiness.of_no_trace(entry) or (not self._stored and self._emptiness.reads_nothing(entry)):
            parsed.execute(connection, empty_view(entry, connection))
            self._kinds[entry.name], self._emptiness.rows[entry.name] = "VIEW", 0
        else:
            made = parsed.execute(connection, f"CREATE TABLE {entry.name} AS {entry.query}")
            self._kinds[entry.name] = "TABLE"
            [(self._emptiness.rows[entry.name],)] = made.fetchall()
