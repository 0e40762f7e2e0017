"""The relations described, from the header comments of their SQL."""

from __future__ import annotations

from ...engine import modules, rooms
from ...engine.errors import UsageError
from ...engine.near import guess


def overview() -> str:
    """Return the public relations with a line each, by folder."""
    lines: list[str] = []
    public = [entry for entry in modules.modules() if entry.public and entry.folder != "invariants"]
    width = max(len(entry.name) for entry in public)
    for folder in sorted({entry.folder for entry in public}, key=rooms.place):
        lines.append(f"{folder}:")
        here = sorted((entry for entry in public if entry.folder == folder), key=lambda entry: entry.name)
        lines += [f"  {entry.name:<{width}}  {first_sentence(entry)}" for entry in here]
    return "\n".join([*lines, "", "tracelake schema RELATION shows the columns."])


def describe(relation: str) -> str:
    """Return what a row of a relation is, its columns, and its SQL.

    Raises:
        UsageError: there is no such relation.
    """
    entry = _find(relation)
    name_width = max((len(column.name) for column in entry.columns), default=0)
    type_width = max((len(column.type) for column in entry.columns), default=0)
    columns = [f"  {column.name:<{name_width}}  {column.type:<{type_width}}  {column.text}" for column in entry.columns]
    key = [f"Key: {', '.join(entry.key)}", ""] if entry.key else []
    return "\n".join([f"{entry.name}: {entry.doc}", "", *key, *columns, "", entry.sql.rstrip()])


def tree(relation: str) -> str:
    """Return what a relation rests on, a line each, deeper ones further right.

    A relation is opened where it first appears; where it appears again, three dots stand for what is below it.

    Raises:
        UsageError: there is no such relation.
    """
    lines: list[str] = []
    seen: set[str] = set()

    def show(entry: modules.Module, depth: int) -> None:
        below = sorted(modules.direct(entry), key=lambda other: other.name)
        again = entry.name in seen and bool(below)
        seen.add(entry.name)
        stored = " (stored)" if entry.materialised else ""
        lines.append(f"{'  ' * depth}{entry.name}{stored}{' ...' if again else ''}")
        if not again:
            for other in below:
                show(other, depth + 1)

    show(_find(relation), 0)
    return "\n".join(lines)


def _find(relation: str) -> modules.Module:
    entry = modules.module(relation)
    if entry is None:
        known = [entry.name for entry in modules.modules() if entry.public]
        raise UsageError(f"{relation}: no such relation.{guess(relation, known)} `tracelake schema` lists them.")
    return entry


def first_sentence(entry: modules.Module) -> str:
    """Return what a row of a relation is."""
    paragraph = entry.doc.split("\n\n")[0].replace("\n", " ")
    return paragraph.split(". ")[0].rstrip(".")
