"""Descriptions of the relations, from the header comments of their SQL."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator

from ...engine.errors import UsageError
from ...engine.sql import modules
from ...engine.sql.near import guess
from . import rooms

#: The relations to know first, in the order of typical questions.
_TO_KNOW = (
    "traces", "kernels", "passes", "layers", "layer_kernels", "time_breakdown", "steps", "ops", "findings", "health",
)  # fmt: skip
_MORE = [
    "tracelake schema RELATION shows columns and SQL, -g WORD searches names and sentences, --all lists every relation."
]

#: A line: its indentation, its first word, and a sentence.
Line = tuple[int, str, str]


def to_know() -> list[Line]:
    """Return the relations to know first, and the folders that have more."""
    lines = [(2, name, first_sentence(find(name))) for name in _TO_KNOW]
    folders = ", ".join(sorted({entry.folder for entry in _public()}, key=rooms.place))
    return [*lines, (0, "", ""), (0, "", f"More are in the folders {folders}."), *((0, "", line) for line in _MORE)]


def overview() -> list[Line]:
    """Return the public relations with a line each, by folder."""
    lines: list[Line] = []
    for folder in sorted({entry.folder for entry in _public()}, key=rooms.place):
        lines.append((0, "", f"{folder}:"))
        here = sorted((entry for entry in _public() if entry.folder == folder), key=lambda entry: entry.name)
        lines += [(2, entry.name, first_sentence(entry)) for entry in here]
    return [*lines, (0, "", ""), *((0, "", line) for line in _MORE)]


def matches(word: str) -> list[Line]:
    """Return relations and columns whose name or description contains a word.

    Raises:
        UsageError: there are none.
    """
    wanted = word.lower()
    lines: list[Line] = []
    for entry in _public():
        columns = [
            (4, column.name, column.text) for column in entry.columns
            if wanted in column.name.lower() or wanted in column.text.lower()
        ]  # fmt: skip
        if columns or wanted in entry.name.lower() or wanted in entry.doc.lower():
            lines += [(2, entry.name, first_sentence(entry)), *columns]
    if not lines:
        words = [name for entry in _public() for name in (entry.name, *(column.name for column in entry.columns))]
        raise UsageError(f"{word}: no relation or column has it.{guess(word, words)}")
    return lines


def fitted(lines: list[Line]) -> Iterator[str]:
    """Yield lines with their sentences aligned, wrapped if stdout is a terminal."""
    place = max((indent + len(name) + 2 for indent, name, _ in lines if name), default=0)
    if sys.stdout.isatty():
        place = min(place, 40)
    for indent, name, sentence in lines:
        head = f"{' ' * indent}{name}"
        yield from _wrapped(f"{head:<{place - 2}}  {sentence}" if name else sentence, place if name else 0)


def _wrapped(line: str, indent: int) -> list[str]:
    """Return a line unchanged, or on a terminal as lines that fit it."""
    if not sys.stdout.isatty():
        return [line]
    width = shutil.get_terminal_size().columns - 1
    return textwrap.wrap(line, width, subsequent_indent=" " * min(indent, width // 2)) or [""]


def _public() -> list[modules.Module]:
    return [entry for entry in modules.modules() if entry.public and entry.folder != "invariants"]


def describe(relation: str) -> str:
    """Return what a row of a relation is, its columns, and its SQL.

    Raises:
        UsageError: there is no such relation.
    """
    entry = find(relation)
    name_width = max((len(column.name) for column in entry.columns), default=0)
    type_width = max((len(column.type) for column in entry.columns), default=0)
    columns = [
        line
        for column in entry.columns
        for line in _wrapped(
            f"  {column.name:<{name_width}}  {column.type:<{type_width}}  {column.text}", name_width + type_width + 6
        )
    ]
    key = [f"Key: {', '.join(entry.key)}", ""] if entry.key else []
    about = [line for part in f"{entry.name}: {entry.doc}".split("\n\n") for line in (*_wrapped(part, 0), "")]
    return "\n".join([*about, *key, *columns, "", entry.sql.rstrip()])


def tree(relation: str) -> str:
    """Return a relation's dependencies, a line each, indented by depth.

    A relation is expanded where it first appears; elsewhere three dots replace its dependencies.

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

    show(find(relation), 0)
    return "\n".join(lines)


def find(relation: str) -> modules.Module:
    """Return a relation.

    Raises:
        UsageError: there is no such relation.
    """
    entry = modules.module(relation)
    if entry is None:
        known = [entry.name for entry in modules.modules() if entry.public]
        raise UsageError(f"{relation}: no such relation.{guess(relation, known)} `tracelake schema` lists them.")
    return entry


def first_sentence(entry: modules.Module) -> str:
    """Return what a row of a relation is."""
    paragraph = entry.doc.split("\n\n")[0].replace("\n", " ")
    return paragraph.split(". ")[0].rstrip(".")
