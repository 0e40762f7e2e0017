"""The summary of a trace in a notebook: five lines, then its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...analysis.traces import locate
from ..output.grid import Field, fields_of
from ..output.screen import Screen, looks
from ..output.table import Table
from ..page.fragment import Part, table
from ..summary import document
from ..summary.sections import SECTIONS

if TYPE_CHECKING:
    from ...engine.store import Store


def parts(store: Store, trace: str, top: int) -> Iterator[Part]:
    """Yield the pieces of a summary.

    Args:
        store: the lake.
        trace: the trace.
        top: rows shown of long tables; 0 for all.
    """
    trace_id = locate(store, trace)
    found, opening = document.with_headline(store, trace_id)
    names = document.short_names(store, found)
    yield Part(opening.trace, opening=opening)
    screen = Screen(looks=looks(store))
    for section in SECTIONS:
        rows = found[section.key]["rows"]
        if section.is_text:
            yield Part(section.title, lines=tuple(line for row in rows for line in _finding(row)))
            continue
        if not rows:
            continue
        shown = document.section_table(found, section.key, top, names)
        yield table(
            section.title or section.subtitle, _fields(shown, screen), len(shown.rows), [shown.unit], section.key
        )


def _finding(row: dict[str, Any]) -> Iterator[str]:
    yield f"{row['title']} ({row['severity']}): {row['evidence']}"
    yield from (f"Try: {suggestion}" for suggestion in row["suggestions"])


def _fields(shown: Table, screen: Screen) -> list[Field]:
    numeric = [column.numeric for column in shown.columns]
    return fields_of([column.name for column in shown.columns], numeric, shown.cells(), screen)
