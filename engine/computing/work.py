"""What to compute for some traces, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..storage.paths import Place


@dataclass
class Answers:
    """The results computed for some traces.

    Attributes:
        files: for each relation with rows its files, each with its statistics for the table's log.
        traces: for each of these relations the traces with rows in it.
        faults: for each trace the relations that cannot be computed, and why.
    """

    files: dict[str, list[tuple[Path, dict[str, Any]]]] = field(default_factory=dict)
    traces: dict[str, set[str]] = field(default_factory=dict)
    faults: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """What to compute.

    Attributes:
        traces: the traces whose rows are wanted.
        events: the event files of these, and of other traces whose rows are read as well.
        entries: the catalog entries of all of them.
        settings: their settings: trace, name, value.
        relations: the wanted relations.
        given: for existing stored relations the SELECT that reads them; those that are wanted as well are
            written unchanged.
        batch_id: the batch of the rows.
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
