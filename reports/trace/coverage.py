"""The share of a device's busy time that an answer about layers covers, and what the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...analysis.passes import as_number

if TYPE_CHECKING:
    from ...analysis.passes import Pass
    from ...engine.store import Store
    from ..output.render import Part

#: Maximum number of parts of the rest named in a sentence.
_NAMED = 3
#: Below this percentage an answer begins with its coverage.
HALF = 50.0


@dataclass(frozen=True)
class Coverage:
    """The share of busy time, over all devices, in the layers of some series of passes.

    Attributes:
        series: names of the series, the largest first; empty if the trace has only one.
        passes: number of their passes.
        pct: percent of the busy time.
        rest: the parts of the rest, as text, with percent; the largest first.
        directions: for training, the directions of the layers with their percent; concurrent work counts for the
            one that started first.
    """

    series: tuple[str, ...]
    passes: int
    pct: float
    rest: tuple[tuple[str, float], ...]
    directions: tuple[tuple[str, float], ...] = ()

    @property
    def is_low(self) -> bool:
        """Whether most of the device's time is elsewhere."""
        return self.pct < HALF

    def __str__(self) -> str:
        """Return it as a sentence."""
        of = f"the layers of {self.passes} pass{'es' if self.passes != 1 else ''}"
        of += f" of {', '.join(self.series)}" if self.series else ""
        if self.directions:
            of += f" ({', '.join(f'{name} {pct:.1f} %' for name, pct in self.directions)})"
        share = f"{self.pct:.1f} % of the device's busy time"
        stated = f"Only {share} is in {of}" if self.is_low else f"Coverage: {share} is in {of}"
        if not self.rest:
            return f"{stated}."
        named = ", ".join(f"{what} {pct:.1f} %" for what, pct in self.rest[:_NAMED])
        others = sum(pct for _, pct in self.rest[_NAMED:])
        return f"{stated}. The rest: {named}{f', others {others:.1f} %' if others >= 0.05 else ''}."


def coverage(store: Store, trace_id: str, pass_id: Pass = "all") -> Coverage | None:
    """Return the coverage of an answer about the series of a pass, or about all passes; None without busy time."""
    shown = store.rows(
        "SELECT DISTINCT series FROM passes WHERE trace_id = $1 AND pass_id = coalesce($2, pass_id)",
        [trace_id, as_number(pass_id)],
    )
    names = {series for (series,) in shown}
    rows = store.rows(
        "SELECT series, part, holder, name, direction, pct FROM _busy_shares WHERE trace_id = $1 "
        "ORDER BY us DESC, series, part, name, direction",
        [trace_id],
    )
    if not rows or rows[0][5] is None:
        return None
    held = [row for row in rows if row[1] == "layers" and row[0] in names]
    several = len({row[0] for row in rows if row[1] == "layers"}) > 1
    rest = [
        (_words(row[0] if several else None, *row[1:4]), float(row[5]))
        for row in rows
        if row not in held and row[5] >= 0.05
    ]
    [(passes,)] = store.rows(
        "SELECT count(DISTINCT pass_id) FROM passes WHERE trace_id = $1 AND list_contains($2, series)",
        [trace_id, sorted(names)],
    )
    return Coverage(
        tuple(dict.fromkeys(row[0] for row in held if several)), passes, sum(float(row[5]) for row in held),
        tuple(rest), tuple((row[4], float(row[5])) for row in held if row[4]),
    )  # fmt: skip


def framed(store: Store, trace_id: str, pass_id: Pass, parts: Sequence[Part]) -> list[Part]:
    """Return the parts of an answer with its coverage, first if that is below half, else last; doubts come first."""
    found = coverage(store, trace_id, pass_id)
    doubtful = doubts(store, trace_id)
    if found is None:
        return [*doubtful, *parts]
    return [*doubtful, str(found), *parts] if found.is_low else [*doubtful, *parts, str(found)]


def doubts(store: Store, trace_id: str) -> list[str]:
    """Return why the passes and layers of a trace may not be those of its model, a sentence each."""
    rows = store.rows(
        "SELECT format('{:.0f} {} {}.', value, unit, message) FROM layer_checks WHERE trace_id = $1 "
        "AND \"check\" IN ('interleaved_layers', 'layers_between_marks', 'uneven_collectives') AND severity <> 'ok' "
        'ORDER BY "check"',
        [trace_id],
    )
    return [sentence for (sentence,) in rows]


def _words(series: str | None, part: str | None, holder: str | None, name: str | None) -> str:
    if part is not None:
        return f"{part} of {series}" if series else str(part)
    return f"{name} in no layer" if holder == "category" else f"{name} outside its layers"
