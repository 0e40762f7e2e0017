"""The sections of a model report, in order: prose, and the content below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...analysis.studies import SCHEMA
from ...analysis.workloads import Workload
from . import blocks as blocks_of
from .blocks import Block, Items, Source
from .facts import Facts, filled
from .prose import prose

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Section:
    """A section: its number, heading, opening paragraphs, and content."""

    number: str
    title: str
    paragraphs: tuple[str, ...]
    blocks: tuple[Block, ...] = ()

    @property
    def depth(self) -> int:
        """Level of its heading; 2 for a top-level section."""
        return 2 + self.number.count(".")


def sections(connection: duckdb.DuckDBPyConnection, work: Workload, facts: Facts) -> list[Section]:
    """Return the sections of a report, in order."""
    source = Source(connection, work, facts)
    source.dims = source.ask(f"SELECT * FROM {SCHEMA}.architectures")[0]
    source.roofs = tuple(blocks_of.roofs(source))
    source.categories = tuple(
        row["category"]
        for row in source.ask(
            f"SELECT DISTINCT category, category_ms FROM {SCHEMA}._report_categories "
            "ORDER BY category_ms DESC, category"
        )
    )
    found = []
    for number, words in prose(work.formulas).items():
        blocks: list[Block] = [Items(words.items)] if words.items else []
        if number in _BLOCKS:
            blocks += [block for block in _BLOCKS[number](source) if block is not None]
        paragraphs = tuple(filled(paragraph, facts) for paragraph in words.paragraphs)
        found.append(Section(number, filled(words.title, facts), paragraphs, tuple(blocks)))
    return found


_BLOCKS: dict[str, Callable[[Source], list[Any]]] = {
    "2": blocks_of.several("terms"),
    "3.1": lambda source: blocks_of.sentences(source, "conclusion", numbered=True),
    "3.2": lambda source: blocks_of.sentences(source, "next", 5, numbered=True),
    "4.1": blocks_of.fingerprint,
    "4.2": blocks_of.diagrams,
    "4.3": blocks_of.parameters,
    "4.4": blocks_of.module_sizes,
    "5.2": blocks_of.several("symbols"),
    "5.3": blocks_of.several("profiles"),
    "5.4": blocks_of.several("formulas", "modules"),
    "5.6": blocks_of.several("byte_parts"),
    "5.7": blocks_of.several("byte_shares"),
    "5.8": blocks_of.several("bytes"),
    "6.2": blocks_of.configuration,
    "6.3": blocks_of.overview,
    "6.6.1": blocks_of.kpi,
    "6.6.2": blocks_of.several("categories"),
    "6.6.3": blocks_of.several("cross_mode"),
    "6.6.4": blocks_of.batches,
    "6.6.5": blocks_of.prompts,
    "6.6.6": blocks_of.shares,
    "6.6.7": blocks_of.category_roofs,
    "6.7": blocks_of.frontier,
    "6.8": blocks_of.several("memory", "layouts"),
    "6.9": blocks_of.several("communication"),
    "7": blocks_of.grid,
    "7.1": blocks_of.several("ranking"),
    "7.2": blocks_of.knobs,
    "8": lambda source: blocks_of.sentences(source, "limit"),
    "9": blocks_of.several("assumptions"),
    "10.1": lambda source: blocks_of.sentences(source, "check"),
    "10.2": blocks_of.several("sources"),
}  # fmt: skip
