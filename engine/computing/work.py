"""What is computed of some traces, and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..storage.paths import Place


@dataclass
class Answers:
    """What was computed of some traces.

    Attributes:
        files: for each relation with rows its files, each with the statistics that a table's log has of it.
        traces: for each of these relations the traces that have rows of it.
        faults: for each trace the relations that cannot be computed of it, and why.
    """

    files: dict[str, list[tuple[Path, dict[str, Any]]]] = field(default_factory=dict)
    traces: dict[str, set[str]] = field(default_factory=dict)
    faults: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """What is to be computed.

    Attributes:
        traces: the traces whose rows are wanted.
        events: the files of events of these, and of others whose rows are read as well.
        entries: the catalog's entries of all of them.
        settings: their settings: trace, name, value.
        relations: the relations that are wanted.
        given: for stored relations that are there already the SELECT that reads them; those that are wanted as well
            are written as they are.
        batch_id: the batch that the rows are of.
        folder: where the files go.
    """

    traces: Sequence[str]
    events: Mapping[str, Sequence[Place]]
    entries: Sequence[Mapping[str, Any]]
    settings: Sequence[tuple[str, str, str]]
    relations: frozenset[str]
    batch_id: str
    folder: Path
    given: Mapping[str, str] = field(default_factory=dict)
