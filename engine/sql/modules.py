"""The SQL modules: their properties, their dependencies, and the statements that create them.

A module is one relation created by a file of `sql/**`: the one with the file's name, which comes last, or a private one
before it that only this file uses. The header comment says what a row is and, for the file's own relation, what each
column means; the loader turns it into `COMMENT ON`, so that DESCRIBE, a BI tool and `tracelake schema` show it. Lookup
tables are modules of the folder `lookup`: the file creates the table, the CSV file of the same name beside it fills it,
and a CSV file of that name in the lake adds rows or replaces those with the same key.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .row_sources import ANYWHERE, Sources

SQL_ROOT = Path(__file__).resolve().parents[2] / "sql"

#: Tables with a function that returns all matching rules of a text.
MATCHED = ("ascend_marks", "direction_rules", "family_rules", "kernel_marks", "op_name_rules", "step_rules")
#: Functions compiled from a table's rules, and the table; see `rules`.
RULE_FUNCTIONS = {
    **{f"_matching_{table}": table for table in MATCHED},
    "_category_rule": "category_rules",
    "_op_category_rule": "op_category_rules",
    "_trace_op_rule": "trace_op_rules",
    "_display_name": "name_rules",
    "_is_gap_marker": "gap_markers",
}
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_QUALIFIED = re.compile(r"[a-z_]+\.[a-z_][a-z0-9_]*")


class Column(NamedTuple):
    """One documented column: name, DuckDB type, meaning with unit."""

    name: str
    type: str
    text: str


@dataclass(frozen=True)
class Module:
    """A relation of a SQL file, its documentation, and the relations it uses.

    Attributes:
        folder: its folder in `sql`; relations in its subfolders see each other's private
            relations.
        kept: where its rows are stored: per trace, in memory, meanwhile (while answers are computed from them), or
            empty if nowhere.
        only_format: the only trace format that it can have rows of.
        others: relations with the columns `trace_id` and `other_trace_id`: for the rows of a trace it also reads rows
            of these other traces.
        of_all: it is stored, and a query about one trace reads its rows of all traces.
        key: the columns of its key; for a lookup table the primary key.
        optional: those of the key that may be NULL, which then counts as a value.
        instead_of: the relation, with its schema, that it replaces there; see `twins`.
        is_twin: it is a copy of another relation in a schema; see `twins`.
        rows_from: for a view, which relations must have rows for it to have any; see `row_sources`.
        digest: of its SQL, and of a lookup table's shipped rows.
        is_stored: a lake stores its rows, see `stored`.
    """

    name: str
    folder: str
    path: Path
    kind: str
    doc: str
    columns: tuple[Column, ...]
    sql: str
    uses: frozenset[str]
    kept: str
    only_format: str | None = None
    others: frozenset[str] = frozenset()
    of_all: bool = False
    key: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()
    instead_of: str = ""
    is_twin: bool = False
    rows_from: Sources = ANYWHERE
    digest: str = ""
    is_stored: bool = False

    @property
    def materialised(self) -> bool:
        """Whether its rows are stored as Parquet, computed per trace."""
        return self.kept == "per trace"

    @property
    def in_memory(self) -> bool:
        """Whether its rows are computed once, by the first query that needs them, and again when the lake changes."""
        return self.kept == "in memory"

    @property
    def public(self) -> bool:
        """Whether the relation is part of the public interface."""
        return not self.name.startswith("_") and not self.is_twin

    @property
    def query(self) -> str:
        """The SELECT of a view, without its CREATE."""
        return self.sql.split(" AS\n", 1)[1].rstrip().rstrip(";")


@functools.cache
def modules() -> tuple[Module, ...]:
    """Return every module, in dependency order."""
    return tuple(entry for entry in relations() if not entry.is_twin)


@functools.cache
def relations() -> tuple[Module, ...]:
    """Return every module and its twins in schemas, in dependency order."""
    from . import index

    code = (Path(__file__).with_name(f"{name}.py") for name in ("modules", "module_files", "row_sources", "twins"))
    return index.cached(SQL_ROOT, code, _read)


def _read() -> tuple[Module, ...]:
    from . import module_files

    return module_files.with_twins()


@functools.cache
def _by_name() -> dict[str, Module]:
    return {entry.name: entry for entry in relations()}


def in_order(names: Collection[str]) -> list[Module]:
    """Return relations by name, in dependency order."""
    return [entry for entry in relations() if entry.name in names]


def module(name: str) -> Module | None:
    """Return the module of a relation, or None if there is none."""
    return _by_name().get(name)


def known(name: str) -> Module:
    """Return the module of a relation that is one of ours."""
    return _by_name()[name]


def names_in(query: str) -> set[str]:
    """Return the relations that a query may name; any word with such a spelling counts."""
    text = query.lower().replace('"', "")
    return {*_WORD.findall(text), *_QUALIFIED.findall(text)} & _by_name().keys()


@functools.cache
def schemas() -> frozenset[str]:
    """Return the schemas with twins of relations."""
    return frozenset(entry.name.partition(".")[0] for entry in relations() if entry.is_twin)


def within(schema: str, name: str) -> str:
    """Return a relation's name in a schema, or its plain name if it has no twin there."""
    return twin if module(twin := f"{schema}.{name}") else name


def closure(names: Iterable[str], ends: Callable[[Module], bool] = lambda entry: False) -> set[str]:
    """Return the relations with all their direct and indirect dependencies.

    Args:
        names: the relations; other words are ignored.
        ends: whether to stop at a relation, without its dependencies.
    """
    known = _by_name()
    return walk((name for name in names if name in known), known, _edges(), ends)


def walk(
    names: Iterable[str],
    known: Mapping[str, Module],
    edges: Mapping[str, Iterable[str]],
    ends: Callable[[Module], bool],
) -> set[str]:
    """Return the relations reachable over edges, stopping where `ends` is true."""
    result: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in result:
            result.add(name)
            if not ends(known[name]):
                stack.extend(edges[name])
    return result


@functools.cache
def sources(name: str) -> frozenset[str]:
    """Return a relation's direct and indirect dependencies, and itself."""
    return frozenset(closure([name]))


@functools.cache
def others(name: str) -> frozenset[str]:
    """Return the relations that link traces to other traces whose rows this one, or a dependency of it, reads."""
    known = _by_name()
    return frozenset().union(*(known[source].others for source in sources(name)))


def direct(entry: Module) -> list[Module]:
    """Return the relations and macros that one names directly."""
    known = _by_name()
    return [known[name] for name in sorted(_edges()[entry.name])]


@functools.cache
def _edges() -> dict[str, frozenset[str]]:
    """Return the direct dependencies of each relation, cached since a query walks them many times."""
    known = _by_name()
    return {name: frozenset(needs(entry, known)) for name, entry in known.items()}


def needs(entry: Module, known: Mapping[str, Module]) -> set[str]:
    """Return the relations that must exist before this one.

    These include the tables behind rule functions, and the relations that link to other traces it reads.
    """
    return ({RULE_FUNCTIONS.get(name, name) for name in entry.uses} | entry.others) & known.keys()


def create_statement(entry: Module) -> str:
    """Return the statement that creates a view or macro; a view is bound when a query names it."""
    deferred = " WITH (DEFER_BINDING) AS\n" if entry.kind == "VIEW" else " AS\n"
    return entry.sql.replace("CREATE", "CREATE OR REPLACE", 1).replace(" AS\n", deferred, 1)


@functools.cache
def stored() -> frozenset[str]:
    """Return the relations whose rows a lake stores: per trace, read by a public one with no stored one between."""
    return frozenset(entry.name for entry in relations() if entry.is_stored)


@functools.cache
def linked() -> frozenset[str]:
    """Return the stored relations whose rows depend on other traces too."""
    return frozenset(name for name in stored() if others(name))


@functools.cache
def links() -> tuple[str, ...]:
    """Return the relations that link a trace to the other traces its rows depend on."""
    return tuple(sorted(frozenset().union(*(others(name) for name in stored()))))


@functools.cache
def fingerprint() -> str:
    """Return a digest of the SQL and the shipped lookup tables that stored rows depend on."""
    used = closure(stored())
    digest = hashlib.sha256()
    for entry in relations():
        if entry.name in used:
            digest.update(entry.digest.encode())
    return digest.hexdigest()[:16]


def csv_file(table: str) -> Path:
    """Return the file of a table's shipped rows, beside its SQL; it may not exist."""
    return known(table).path.with_suffix(".csv")


def quoted(text: str) -> str:
    """Return an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def near(message: str) -> str:
    """Return DuckDB's message about a missing relation, with similar names of ours."""
    from .near import guess

    missing = re.search(r"with name (?P<name>\w+) does not exist", message)
    if missing is None:
        return message
    known = [entry.name for entry in modules() if entry.public]
    first = message.partition("\n")[0]
    return f"{first}{guess(missing['name'], known)} `tracelake schema` lists the relations."
