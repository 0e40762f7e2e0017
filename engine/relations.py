"""The relations of a connection that are no views over stored rows: lookup tables, rows in memory, views and macros."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from . import modules, parsed
from .lookups import LookupTables
from .schema import empty_select
from .stored import Stored

if TYPE_CHECKING:
    import duckdb


#: What is no module, and is filled from the catalog.
BASE = frozenset({"_entries", "_catalog", "_settings", "_set_aside", "_event_rows"})
#: Words of a query about all relations, of one that may show comments, and of one about all unless it names some.
_CATALOG = re.compile(r"\b(tables|duckdb_\w+|information_schema|pg_catalog|sqlite_master)\b", re.IGNORECASE)
_COMMENTED = re.compile(r"\b(duckdb_\w+|information_schema|pg_catalog)\b", re.IGNORECASE)
_DESCRIPTION = re.compile(r"\b(show|describe|summarize)\b", re.IGNORECASE)


def named(query: str) -> set[str]:
    """Return the relations, what the catalog fills and the tables of rules' functions, that a query may name."""
    functions = modules.RULE_FUNCTIONS.items()
    tables = {table for function, table in functions if function in query}
    return modules.names_in(query) | tables | {name for name in BASE if name in query}


def shows_comments(query: str) -> bool:
    """Return whether a query may show comments, which take seconds to make: SHOW and DESCRIBE do not."""
    return _COMMENTED.search(query) is not None


def is_of_all(query: str, names: Collection[str]) -> bool:
    """Return whether a query is about all relations, given those that it may name."""
    return bool(_CATALOG.search(query) or (not names and _DESCRIPTION.search(query)))


class Relations:
    """Which relations a connection has, and whether they are still what they rest on."""

    def __init__(self, lookups: LookupTables, answers: Stored, *, stored: bool) -> None:
        """Create nothing yet.

        Args:
            lookups: the lookup tables of the connection.
            answers: the stored answers that it reads.
            stored: whether it reads them; without, what would be stored is held in memory.
        """
        self._lookups = lookups
        self._answers = answers
        self._stored = stored
        #: The relations that are there, and those of them that have their comments.
        self.created: set[str] = set()
        self.commented: set[str] = set()

    def clear(self) -> None:
        """Forget a connection that was closed."""
        self.created.clear()
        self.commented.clear()

    def is_stored(self, entry: modules.Module) -> bool:
        """Whether a relation's rows are files: not where they rest on what was given to this connection alone."""
        return (
            self._stored
            and entry.name in modules.stored()
            and not (self._lookups.given and self._lookups.given & modules.sources(entry.name))
        )

    def _is_table(self, entry: modules.Module) -> bool:
        """Whether a relation's rows are held in memory."""
        return entry.in_memory or (entry.materialised and not self._stored)

    def recompute(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Compute those relations anew that are held in memory, of some names that are there.

        Those that rest on files of other relations wait for the next question, which brings these up to date.
        """
        wanted = self.created.intersection(names)
        for entry in modules.relations():
            if not self._is_table(entry) or entry.name not in wanted:
                continue
            if not entry.in_memory or any(
                self.is_stored(other) for other in modules.relations() if other.name in modules.sources(entry.name)
            ):
                self.created.remove(entry.name)
                self.commented.discard(entry.name)
            else:
                connection.execute(f"DELETE FROM {entry.name}; INSERT INTO {entry.name} {entry.query}")

    def expire(self, names: Iterable[str]) -> None:
        """Have relations that are held in memory computed again by the next query that needs them."""
        for known in (self.created, self.commented):
            known.difference_update(names)

    def renew_above(self, connection: duckdb.DuckDBPyConnection, table: str) -> set[str]:
        """Have all that is made from a lookup table see its rows; return what waits for the next question."""
        above = {entry.name for entry in modules.relations() if table in modules.sources(entry.name)}
        self.recompute(connection, above)
        stored = above & self._answers.pointed
        for names in (self._answers.pointed, self.created, self.commented):
            names.difference_update(stored)
        return stored

    def uncommented(self) -> list[modules.Module]:
        """Return the public relations without their comments: of a column each takes as long as to plan its view."""
        return [entry for entry in modules.modules() if entry.public and entry.name not in self.commented]

    def comment(self, connection: duckdb.DuckDBPyConnection, entries: Collection[modules.Module]) -> None:
        """Have relations that are there, and their columns, show what they mean."""
        from .comments import statements

        if entries:
            connection.execute("\n".join(statements(entry, entry.name) for entry in entries))
        self.commented.update(entry.name for entry in entries)

    def create(self, connection: duckdb.DuckDBPyConnection, entry: modules.Module) -> None:
        """Create a relation whose rows are not in files of its own; a view is bound where a question names it."""
        if entry.kind == "TABLE":
            self._lookups.create(connection, entry)
        elif self._is_table(entry):
            query = entry.query
            if entry.only_format is not None and entry.only_format not in self._answers.catalog.formats:
                query = empty_select({column.name: column.type for column in entry.columns})
            parsed.execute(connection, f"CREATE OR REPLACE TABLE {entry.name} AS {query}")
        else:
            parsed.execute(connection, modules.create_statement(entry))
