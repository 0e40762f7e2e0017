"""Answers that display themselves in a notebook, and otherwise behave as before."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb

from ..output.columns import COLUMNS, for_people
from ..output.grid import fields_of
from ..output.render import is_number, shown_value
from ..output.screen import Screen, looks
from ..page.fragment import Part, as_html, table

if TYPE_CHECKING:
    from ...engine.store import Store

#: Rows of a table in a notebook.
ROWS = 50


class Answer:
    """An answer of a lake: a DuckDB relation, or an object with relations, with all of its methods.

    A notebook shows it as a table: the columns that the command of the same name shows, the first 50 rows and their
    total number. Relations returned by its methods are displayed likewise.
    """

    __slots__ = ("_answer", "_name", "_store")

    def __init__(self, store: Store, answer: Any, name: str = "") -> None:
        """Wrap an answer.

        Args:
            store: the lake of the answer.
            answer: a relation, or a dataclass with relations.
            name: the lake's relation whose columns it has all of; empty if there is none.
        """
        self._store = store
        self._answer = answer
        self._name = name

    def __getattr__(self, name: str) -> Any:
        # Do not delegate a relation's own display methods, nor attributes looked up while copying.
        if name.startswith("_") and not name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._answer, name)
        if callable(found):
            return functools.wraps(found)(functools.partial(self._call, found))
        return shown(self._store, found)

    def _call(self, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        found = method(*map(bare, given), **{key: bare(value) for key, value in named.items()})
        # Fewer rows, or another order: the same columns matter.
        columns = getattr(self._answer, "columns", None)
        is_alike = isinstance(found, duckdb.DuckDBPyRelation) and found.columns == columns
        return shown(self._store, found, self._name if is_alike else "")

    def __len__(self) -> int:
        return len(self._answer)

    def __getitem__(self, key: Any) -> Any:
        return shown(self._store, self._answer[key])

    def __contains__(self, item: object) -> bool:
        return item in self._answer

    def __dir__(self) -> list[str]:
        return dir(self._answer)

    def __repr__(self) -> str:
        return repr(self._answer)

    def _repr_html_(self) -> str:
        if isinstance(self._answer, duckdb.DuckDBPyRelation):
            return as_html(relation_part(self._store, self._answer, self._name))
        return as_html(*_parts(self._store, self._answer))


def shown(store: Store, answer: Any, name: str = "") -> Any:
    """Return an answer wrapped for display, if it is one."""
    is_answer = isinstance(answer, duckdb.DuckDBPyRelation) or (
        dataclasses.is_dataclass(answer) and not isinstance(answer, type)
    )
    return Answer(store, answer, name) if is_answer else answer


def bare(value: Any) -> Any:
    """Return the content of a wrapped answer; anything else unchanged."""
    return value._answer if isinstance(value, Answer) else value  # noqa: SLF001


def relation_part(store: Store, relation: duckdb.DuckDBPyRelation, name: str = "", title: str = "") -> Part:
    """Return the first rows of a relation as a table.

    Args:
        store: the lake.
        relation: the answer.
        name: the lake's relation whose columns it has all of; empty if there is none.
        title: the heading.
    """
    of = for_people(store, name, relation) if name in COLUMNS else relation
    rows = of.limit(ROWS + 1).fetchall()
    notes = []
    if len(rows) > ROWS:
        [(count,)] = relation.aggregate("count(*)").fetchall()
        notes = [f"The first {ROWS} of {count:,} rows; .pl(), .df() and .fetchall() have all."]
    cells = [[shown_value(value) for value in row] for row in rows[:ROWS]]
    fields = fields_of(of.columns, [is_number(kind) for kind in of.types], cells, Screen(looks=looks(store)))
    return table(title, fields, len(cells), notes, name)


def _parts(store: Store, answer: Any) -> list[Part]:
    """Return the relations of an object as tables, below its sentences."""
    held = {name: getattr(answer, name) for name in _names(answer)}
    lines = tuple(
        line for value in held.values() if isinstance(value, tuple | list) for line in value if isinstance(line, str)
    )
    of = {"rows": held.get("relation", ""), **_RELATIONS.get(type(answer).__name__, {})}
    tables = [
        relation_part(store, value, of.get(name, ""), name)
        for name, value in held.items() if isinstance(value, duckdb.DuckDBPyRelation)
    ]  # fmt: skip
    return [Part(lines=lines), *tables]


#: The lake's relations whose columns the relations of objects have all of.
_RELATIONS = {
    "SideComparison": {"sides": "comparisons", "terms": "comparison_terms"},
    "History": {"rows": "history"},
}


def _names(answer: Any) -> list[str]:
    """Return the fields of an object, and its properties: some compute their rows on access."""
    properties = [name for name, value in vars(type(answer)).items() if isinstance(value, property)]
    return [*(field.name for field in dataclasses.fields(answer)), *properties]
