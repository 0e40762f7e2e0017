"""The SQL modules: find them, read their header comments, order them by what they use, create them.

A module is one relation that a file of `sql/**` creates: the one of the file's name, which comes last, or a private one
above it that only this file uses. The header comment says what a row is and, of the file's own relation, what each
column means; the loader turns it into `COMMENT ON`, so that DESCRIBE, a BI tool and `tracelake schema` show it. Lookup
tables are modules of the folder `lookup`: the file creates the table, the CSV file of the same name beside it fills it,
and a CSV file of that name in the lake adds rows or replaces those with the same key.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from . import index, row_sources, twins
from .near import guess
from .row_sources import ANYWHERE, Sources

SQL_ROOT = Path(__file__).resolve().parent.parent / "sql"

_COLUMN_LINE = re.compile(r"^--\s+([a-z_][a-z0-9_]*)\s{1,}([A-Z][A-Z0-9_]*(?:\(\d+(?:,\s*\d+)?\))?(?:\[\])*)\s+(\S.*)$")
_CREATE = re.compile(r"^CREATE\s+(VIEW|TABLE|MACRO)\s+([a-z_][a-z0-9_]*)", re.MULTILINE)
#: Where rows are stored: `per trace`, `per ascend trace` for traces of that format alone, or `in memory`.
_STORED = re.compile(r"^-- stored: (?:(per)(?: ([a-z]+))? trace|in memory)\n(?:--\n)?", re.MULTILINE)
#: The columns that make a row the only one of its kind; a question mark behind those that may be NULL.
_KEY = re.compile(r"^-- key: ([a-z_?,\n -]+?)\n--\n", re.MULTILINE)
_PRIMARY_KEY = re.compile(r"\bPRIMARY KEY \(([^)]*)\)|^\s*\"?([a-z_]+)\"? .*\bPRIMARY KEY\b", re.MULTILINE)
#: A relation with the pairs of traces whose rows are read together.
_OTHERS = re.compile(r"^-- others: ([a-z_]+)\n(?:--\n)?", re.MULTILINE)
#: Its rows are those of all traces, also where one is asked about.
_OF_ALL = re.compile(r"^-- read: of all traces\n(?:--\n)?", re.MULTILINE)
_LITERAL = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
#: A relation whose place it takes, in a schema; see `twins`.
_INSTEAD = re.compile(r"^-- instead of: ([a-z_]+\.[a-z_]+)\n(?:--\n)?", re.MULTILINE)
_SOURCE = re.compile(r"(?<!DISTINCT )\b(?:FROM|JOIN)\s+((?:[a-z_]+\.)?[a-z_][a-z0-9_]*)\b(?!\s*\()")
_OWN = re.compile(r"\b([a-z_][a-z0-9_]*)\s+AS\s+(?:MATERIALIZED\s+)?\(")
#: Functions made of a table's rules, and the table; see `rules`.
RULE_FUNCTIONS = {
    "_category_rule": "category_rules",
    "_op_category_rule": "op_category_rules",
    "_display_name": "name_rules",
}
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_QUALIFIED = re.compile(r"[a-z_]+\.[a-z_][a-z0-9_]*")
_MISSING = re.compile(r"with name (?P<name>\w+) does not exist")
_CALL = re.compile(r"\b([a-z_][a-z0-9_]*)\(")


class Column(NamedTuple):
    """One documented column: name, DuckDB type, meaning with unit."""

    name: str
    type: str
    text: str


@dataclass(frozen=True)
class Module:
    """One SQL file: a relation, its documentation, and the relations it uses.

    Attributes:
        folder: the folder of `sql` that it is in; folders in that one are rooms of it, and see each other's private
            relations.
        kept: where its rows are stored: per trace, in memory, or empty where they are not.
        only_format: the only format of traces that it can have rows of; the others are not asked.
        others: relations of two columns, `trace_id` and `other_trace_id`: of which other traces it reads rows for
            those of a trace.
        of_all: it is stored, and a question about one trace reads its rows of all traces.
        key: the columns that no two rows agree in; of a lookup table its primary key.
        optional: those of the key that may be NULL, which then is a value like the others.
        instead_of: the relation, after its schema, in whose place it stands there; see `twins`.
        is_twin: it is in a schema, made of another; see `twins`.
        rows_from: of a view, which relations must have rows for it to have any; see `row_sources`.
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

    @property
    def materialised(self) -> bool:
        """Whether its rows are kept as Parquet, a file for each trace."""
        return self.kept == "per trace"

    @property
    def in_memory(self) -> bool:
        """Whether its rows are computed once when the lake is opened."""
        return self.kept == "in memory"

    @property
    def public(self) -> bool:
        """Whether the relation is part of the contract."""
        return not self.name.startswith("_") and not self.is_twin

    @property
    def query(self) -> str:
        """The SELECT of a view, without its CREATE."""
        return self.sql.split(" AS\n", 1)[1].rstrip().rstrip(";")


def parse_file(path: Path, root: Path = SQL_ROOT) -> Iterator[Module]:
    """Read one SQL file: its relation, and above it private ones that only this file uses.

    Raises:
        ValueError: a statement creates nothing.
    """
    for text in statements(path.read_text(encoding="utf-8")):
        yield _parse(path, text, root)


def statements(text: str) -> list[str]:
    """Return the statements of a file, each with the comment above it."""
    return [part + ";\n" for part in text.removesuffix(";\n").split(";\n\n")] if text.endswith(";\n") else [text]


def _parse(path: Path, text: str, root: Path) -> Module:
    created = _CREATE.search(text)
    if created is None:
        raise ValueError(f"{path}: no CREATE VIEW, TABLE or MACRO")
    prose: list[str] = []
    columns: list[Column] = []
    header = text[: created.start()]
    for declared in (_KEY, _STORED, _OTHERS, _OF_ALL, _INSTEAD):
        header = declared.sub("", header)
    for line in header.splitlines():
        match = _COLUMN_LINE.match(line)
        if match:
            columns.append(Column(*match.groups()))
        elif columns and line.startswith("--   "):
            last = columns[-1]
            columns[-1] = Column(last.name, last.type, f"{last.text} {line[2:].strip()}")
        elif line.startswith("--"):
            prose.append(line[2:].strip())
    stored = _STORED.search(text[: created.start()])
    instead = _INSTEAD.search(text[: created.start()])
    key = _key_of(text[: created.start()], text[created.start() :])
    return Module(
        name=created.group(2),
        folder=path.relative_to(root).parts[0] if path.parent != root else "",
        path=path,
        kind=created.group(1),
        doc="\n".join(prose).strip(),
        columns=tuple(columns),
        sql=text[created.start() :],
        uses=_relations_used(text[created.start() :]) - {created.group(2)},
        kept="" if stored is None else "per trace" if stored.group(1) else "in memory",
        only_format=stored.group(2) if stored else None,
        others=frozenset(_OTHERS.findall(text[: created.start()])),
        of_all=_OF_ALL.search(text[: created.start()]) is not None,
        key=tuple(column.rstrip("?") for column in key),
        optional=frozenset(column.rstrip("?") for column in key if column.endswith("?")),
        instead_of=instead.group(1) if instead else "",
    )


def _key_of(header: str, sql: str) -> list[str]:
    """Return the columns of a relation's key, as its header or the table's primary key has them."""
    if named := _KEY.search(header):
        return re.findall(r"[a-z_]+\??", named.group(1))
    primary = _PRIMARY_KEY.search(sql)
    if primary is None:
        return []
    return [column.strip().strip('"') for column in (primary.group(1) or primary.group(2)).split(",")]


def _relations_used(sql: str) -> frozenset[str]:
    """Return the words of a statement that can only name a relation or a function.

    The repository's SQL keeps to `FROM name` and `JOIN name`, so this needs no parser; a test compares it with one
    for every module. Parsing them all would take half of the time that a small question takes.
    """
    text = code(sql)
    read = frozenset(_SOURCE.findall(text)) - frozenset(_OWN.findall(text))
    return read | frozenset(_CALL.findall(text))


def code(sql: str) -> str:
    """Return a statement without its comments and literals."""
    return _LITERAL.sub(" ", sql)


@functools.cache
def modules(root: Path = SQL_ROOT) -> tuple[Module, ...]:
    """Return every module of `root`, each after those it uses.

    Raises:
        ValueError: two files create one relation.
        graphlib.CycleError: relations use each other in a circle.
    """
    if root == SQL_ROOT:
        return tuple(entry for entry in relations() if not entry.is_twin)
    return _parsed(root)


def _parsed(root: Path) -> tuple[Module, ...]:
    found: dict[str, Module] = {}
    for path in sorted(root.rglob("*.sql")):
        for module in parse_file(path, root):
            if module.name in found:
                raise ValueError(f"{path}: {module.name} is created twice")
            found[module.name] = module
    return _in_order(found)


@functools.cache
def relations() -> tuple[Module, ...]:
    """Return every module, and those made of them in schemas, each after those it uses."""
    code_files = (Path(__file__), Path(row_sources.__file__), Path(twins.__file__))
    return index.cached(SQL_ROOT, code_files, _with_twins)


def _with_twins() -> tuple[Module, ...]:
    found = {entry.name: entry for entry in _parsed(SQL_ROOT)}
    all_of_them = _in_order(found | {entry.name: entry for entry in twins.twins(found)})
    return tuple(map(_with_row_sources, all_of_them))


def _with_row_sources(entry: Module) -> Module:
    if entry.kind != "VIEW":
        return entry
    return replace(entry, rows_from=row_sources.row_sources(code(entry.query)))


def _in_order(found: Mapping[str, Module]) -> tuple[Module, ...]:
    # Sorted, so that the order is the same in every process: fingerprints are made of it.
    order = TopologicalSorter({name: sorted(_needs(entry, found)) for name, entry in sorted(found.items())})
    return tuple(found[name] for name in order.static_order())


@functools.cache
def _by_name() -> dict[str, Module]:
    return {entry.name: entry for entry in relations()}


def in_order(names: Iterable[str]) -> list[Module]:
    """Return relations by name, each after those it uses."""
    places, known = _places(), _by_name()
    return [known[name] for name in sorted(names, key=places.__getitem__)]


@functools.cache
def _places() -> dict[str, int]:
    return {entry.name: place for place, entry in enumerate(relations())}


def module(name: str) -> Module | None:
    """Return the module of a relation, or None where there is not one."""
    return _by_name().get(name)


def names_in(query: str) -> set[str]:
    """Return the relations that a query may name; a word of that spelling is enough."""
    text = query.lower().replace('"', "")
    return {*_WORD.findall(text), *_QUALIFIED.findall(text)} & _by_name().keys()


@functools.cache
def schemas() -> frozenset[str]:
    """Return the schemas that have relations a second time."""
    return frozenset(entry.name.partition(".")[0] for entry in relations() if entry.is_twin)


def within(schema: str, name: str) -> str:
    """Return a relation's name in a schema, or by itself where it is there only once."""
    return twin if module(twin := f"{schema}.{name}") else name


def closure(names: Iterable[str], ends: Callable[[Module], bool] = lambda entry: False) -> set[str]:
    """Return the relations with all they use, directly or not.

    Args:
        names: the relations; other words are left out.
        ends: whether what a relation uses does not matter.
    """
    known, edges = _by_name(), _edges()
    result: set[str] = set()
    stack = [name for name in names if name in known]
    while stack:
        name = stack.pop()
        if name not in result:
            result.add(name)
            if not ends(known[name]):
                stack.extend(edges[name])
    return result


@functools.cache
def sources(name: str) -> frozenset[str]:
    """Return the relations that one is made from, directly or not, and itself."""
    return frozenset(closure([name]))


@functools.cache
def others(name: str) -> frozenset[str]:
    """Return the relations that name the other traces of which this one, or what it is made from, reads rows."""
    known = _by_name()
    return frozenset().union(*(known[source].others for source in sources(name)))


def direct(entry: Module) -> list[Module]:
    """Return the relations and macros that one names itself."""
    known = _by_name()
    return [known[name] for name in sorted(_needs(entry, known))]


@functools.cache
def _edges() -> dict[str, frozenset[str]]:
    """Return what each relation needs: a question walks all of them many times."""
    known = _by_name()
    return {name: frozenset(_needs(entry, known)) for name, entry in known.items()}


def _needs(entry: Module, known: Mapping[str, Module]) -> set[str]:
    """Return the relations that must be there before this one.

    Among them are the tables behind functions of rules, and the relations that name the other traces it reads.
    """
    return ({RULE_FUNCTIONS.get(name, name) for name in entry.uses} | entry.others) & known.keys()


def create_statement(entry: Module) -> str:
    """Return the statement that creates a view or macro; a view is bound where a query names it."""
    deferred = " WITH (DEFER_BINDING) AS\n" if entry.kind == "VIEW" else " AS\n"
    return entry.sql.replace("CREATE", "CREATE OR REPLACE", 1).replace(" AS\n", deferred, 1)


@functools.cache
def stored() -> frozenset[str]:
    """Return the relations whose rows a lake stores: computed per trace, and read by a public one with none between."""

    def read_by(public: Module) -> set[str]:
        return closure([public.name], lambda entry: entry.materialised and entry.name != public.name)

    read = set().union(*(read_by(entry) for entry in relations() if entry.public and entry.kind != "MACRO"))
    return frozenset(entry.name for entry in relations() if entry.materialised and entry.name in read)


@functools.cache
def linked() -> frozenset[str]:
    """Return the stored relations whose rows rest on other traces too."""
    return frozenset(name for name in stored() if others(name))


@functools.cache
def links() -> tuple[str, ...]:
    """Return the relations that name the other traces on which rows of a trace rest."""
    return tuple(sorted(frozenset().union(*(others(name) for name in stored()))))


@functools.cache
def fingerprint() -> str:
    """Return a digest of the SQL and the shipped lookup tables that stored rows depend on."""
    used = closure(stored())
    digest = hashlib.sha256()
    for entry in relations():
        if entry.name in used:
            digest.update(entry.sql.encode())
            if entry.kind == "TABLE" and csv_file(entry.name).exists():
                digest.update(csv_file(entry.name).read_bytes())
    return digest.hexdigest()[:16]


def csv_file(table: str) -> Path:
    """Return the file of a table's shipped rows, beside its SQL; a table that is filled later has none."""
    return _by_name()[table].path.with_suffix(".csv")


def quoted(text: str) -> str:
    """Return an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def near(message: str) -> str:
    """Return DuckDB's message of a relation that is not there, with the names of ours that are spelled alike."""
    missing = _MISSING.search(message)
    if missing is None:
        return message
    known = [entry.name for entry in modules() if entry.public]
    first = message.partition("\n")[0]
    return f"{first}{guess(missing['name'], known)} `tracelake schema` lists the relations."
