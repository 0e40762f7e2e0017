"""Parses the files of SQL modules: header comments, relations used, and properties derived from all modules.

Runs only when the files have changed; `index` caches the result.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path

from . import row_sources, twins
from .modules import SQL_ROOT, Column, Module, needs, walk

#: The types that a column may be described with; any other word in their place is prose.
TYPE = (
    r"(?:VARCHAR|BIGINT|UBIGINT|HUGEINT|INTEGER|UINTEGER|SMALLINT|TINYINT|DOUBLE|FLOAT|DECIMAL\(\d+, ?\d+\)"
    r"|BOOLEAN|DATE|TIMESTAMP(?:_NS|TZ)?|INTERVAL|JSON|BLOB|UUID|STRUCT|MAP)(?:\[\])*"
)
_COLUMN_LINE = re.compile(rf"^--\s+([a-z_][a-z0-9_]*)\s+({TYPE})\s+(\S.*)$")
_CREATE = re.compile(r"^CREATE\s+(VIEW|TABLE|MACRO)\s+([a-z_][a-z0-9_]*)", re.MULTILINE)
#: What a header declares: the columns of the key (a question mark after those that may be NULL); where rows are stored
#: (`per trace`, `per ascend trace`, `in memory`, `meanwhile`); the only format of traces with rows; the relation of
#: pairs of traces whose rows are read together; whether rows of all traces are read even for a query about one; the
#: relation that it replaces in a schema, see `twins`.
_DECLARED = re.compile(r"^-- (key|stored|rows|others|read|instead of): (.+(?:\n--   .+)*)\n(?:--\n)?", re.MULTILINE)
_PRIMARY_KEY = re.compile(r"\bPRIMARY KEY \(([^)]*)\)|^\s*\"?([a-z_]+)\"? .*\bPRIMARY KEY\b", re.MULTILINE)
_LITERAL = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_SOURCE = re.compile(r"(?<!DISTINCT )\b(?:FROM|JOIN)\s+((?:[a-z_]+\.)?[a-z_][a-z0-9_]*)\b(?!\s*\()")
_OWN = re.compile(r"\b([a-z_][a-z0-9_]*)\s+AS\s+(?:MATERIALIZED\s+)?\(")
_CALL = re.compile(r"\b([a-z_][a-z0-9_]*)\(")


def parse_file(path: Path, root: Path = SQL_ROOT) -> Iterator[Module]:
    """Parse one SQL file: its relation, and before it private ones that only this file uses.

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
    header, sql = text[: created.start()], text[created.start() :]
    given: dict[str, str] = dict(_DECLARED.findall(header))
    for line in _DECLARED.sub("", header).splitlines():
        match = _COLUMN_LINE.match(line)
        if match:
            columns.append(Column(*match.groups()))
        elif columns and line.startswith("--   "):
            last = columns[-1]
            columns[-1] = Column(last.name, last.type, f"{last.text} {line[2:].strip()}")
        elif line.startswith("--"):
            prose.append(line[2:].strip())
    stored = given.get("stored", "")
    of_format = re.search(r"(?:per|of) ([a-z]+) traces?$", given.get("rows", stored))
    key = re.findall(r"[a-z_]+\??", given["key"]) if "key" in given else _primary_key(sql)
    return Module(
        name=created.group(2),
        folder=path.relative_to(root).parts[0] if path.parent != root else "",
        path=path,
        kind=created.group(1),
        doc="\n".join(prose).strip(),
        columns=tuple(columns),
        sql=sql,
        uses=_relations_used(sql) - {created.group(2)},
        kept="per trace" if stored.startswith("per") else stored,
        only_format=of_format.group(1) if of_format else None,
        others=frozenset({given["others"]} if "others" in given else ()),
        of_all="read" in given,
        key=tuple(column.rstrip("?") for column in key),
        optional=frozenset(column.rstrip("?") for column in key if column.endswith("?")),
        instead_of=given.get("instead of", ""),
    )


def _primary_key(sql: str) -> list[str]:
    """Return the columns of a table's primary key."""
    primary = _PRIMARY_KEY.search(sql)
    if primary is None:
        return []
    return [column.strip().strip('"') for column in (primary.group(1) or primary.group(2)).split(",")]


def _relations_used(sql: str) -> frozenset[str]:
    """Return the identifiers of a statement that can only name a relation or a function.

    The repository's SQL is restricted to `FROM name` and `JOIN name`, so no parser is needed; a test compares this
    with a parser for every module. Parsing them all would take half of the time of a small query.
    """
    text = code(sql)
    read = frozenset(_SOURCE.findall(text)) - frozenset(_OWN.findall(text))
    return read | frozenset(_CALL.findall(text))


def code(sql: str) -> str:
    """Return a statement without its comments and literals."""
    return _LITERAL.sub(" ", sql)


def parsed(root: Path) -> tuple[Module, ...]:
    """Return the modules of the files below a folder, in dependency order.

    Raises:
        ValueError: two files create one relation.
        graphlib.CycleError: relations depend on each other in a cycle.
    """
    found: dict[str, Module] = {}
    for path in sorted(root.rglob("*.sql")):
        for module in parse_file(path, root):
            if module.name in found:
                raise ValueError(f"{path}: {module.name} is created twice")
            found[module.name] = module
    return _in_order(found)


def with_twins() -> tuple[Module, ...]:
    """Return our modules and their twins in schemas, with all derived properties."""
    found = {entry.name: entry for entry in parsed(SQL_ROOT)}
    all_of_them = _in_order(found | {entry.name: entry for entry in twins.twins(found)})
    stored = _stored({entry.name: entry for entry in all_of_them})
    return tuple(
        replace(entry, rows_from=_rows_from(entry), digest=_digest(entry), is_stored=entry.name in stored)
        for entry in all_of_them
    )


def _rows_from(entry: Module) -> row_sources.Sources:
    return row_sources.row_sources(code(entry.query)) if entry.kind == "VIEW" else row_sources.ANYWHERE


def _digest(entry: Module) -> str:
    digest = hashlib.sha256(entry.sql.encode())
    shipped = entry.path.with_suffix(".csv")
    if entry.kind == "TABLE" and shipped.exists():
        digest.update(shipped.read_bytes())
    return digest.hexdigest()[:16]


def _stored(known: Mapping[str, Module]) -> set[str]:
    """Return what is computed per trace and read by a public relation with no other stored relation between."""
    edges = {name: needs(entry, known) for name, entry in known.items()}

    def read_by(public: Module) -> set[str]:
        return walk([public.name], known, edges, lambda entry: entry.materialised and entry.name != public.name)

    read = set().union(*(read_by(entry) for entry in known.values() if entry.public and entry.kind != "MACRO"))
    return {name for name in read if known[name].materialised}


def _in_order(found: Mapping[str, Module]) -> tuple[Module, ...]:
    # Sorted, so that the order is the same in every process: fingerprints depend on it.
    order = TopologicalSorter({name: sorted(needs(entry, found)) for name, entry in sorted(found.items())})
    return tuple(found[name] for name in order.static_order())
