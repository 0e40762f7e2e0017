"""A history as a page: five lines, the metric over time with its levels, and the changes at each shift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ...analysis.sides import compare
from ...engine.errors import UsageError
from ..page import changes
from ..page.page import Card, Fold, Opening, Page, Section
from ..page.tables import objects, of_relation, table
from . import waterfalls, words

if TYPE_CHECKING:
    from ...analysis.history import History
    from ...analysis.sides import Side
    from ...engine.store import Store
    from ..page.tables import Row

#: Maximum number of shifts that are explained, the last ones, and of points on a page.
_SHIFTS, _POINTS = 4, 5000
_COLUMNS = ("run", "recorded_at", "source", "traces", "value", "low", "high", "level", "shift_pct", "shift_low_pct",
            "shift_high_pct", "verdict")  # fmt: skip


def page(store: Store, answer: History) -> Page:
    """Return a history as a page."""
    rows = of_relation(answer.rows)
    explained = [_Explained(store, pair, nth) for nth, pair in list(enumerate(answer.levels))[-_SHIFTS:]]
    return Page(
        title=f"{answer.metric}: {words.counted(len(rows), 'point')}", subtitle=f"History, {words.made()}",
        opening=_opening(store, answer, rows, explained[-1] if explained else None),
        sections=(
            _levels(answer, rows), *(section for one in reversed(explained) for section in one.sections),
            _trust(answer, rows),
        ),
    )  # fmt: skip


class _Explained:
    """How a step's time differs between the levels before and after a shift."""

    def __init__(self, store: Store, levels: tuple[Side, Side], nth: int) -> None:
        _, after = levels
        self.where = self.most = self.trust = ""
        key, title = f"shift-{nth + 1}", f"What changed at {after.name.split(' to ')[0]}"
        try:
            answer = compare(store, levels)
        except UsageError as error:
            self.where = f"the levels before and after cannot be compared: {error}"
            self.sections: tuple[Section, ...] = (Section(key, title, self.where),)
            return
        sides = of_relation(answer.sides)
        leads = objects(store, "SELECT * FROM comparison_leads")
        parts = objects(store, "SELECT * FROM comparison_terms WHERE level = 'part' ORDER BY place")
        self.where = f"{words.difference(sides[0])}; {words.where(parts)}"
        self.most = words.lead(leads[0] if leads else None)
        self.trust = words.trust(sides[0])
        self.sections = (
            waterfalls.terms(store, sides, key, title),
            waterfalls.operators(store, sides, f"{key}-ops", f"{title}: operators"),
        )


def _opening(store: Store, answer: History, rows: Sequence[Row], last: _Explained | None) -> Opening:
    meaning = store.rows("SELECT meaning FROM history_metrics WHERE metric = $1", [answer.metric])
    of = f"{answer.metric}: {meaning[0][0]}" if meaning else f"{answer.metric}, median of a trace's rows"
    times = [row["recorded_at"][:10] for row in rows if row["recorded_at"]]
    span = f", recorded from {min(times)} to {max(times)}" if times else ""
    doubts = "".join(
        [f"; {one}" for one in answer.left_out] + [f"; not of one program? {one}" for one in answer.doubts]
    )
    trust = (
        last.trust if last and last.trust else f"{_dated(rows)}; one history in fifty shows a shift without one"
    ) + doubts
    return Opening(
        (
            ("what", f"{of}; {words.counted(len(rows), 'point')}{span}"), ("change", " ".join(answer.verdicts)),
            ("where", last.where if last else "no shift to explain"),
            ("most", (last.most if last else "") or "nothing stands out"), ("trust", trust),
        ),
        "warning" if answer.doubts else "ok",
    )  # fmt: skip


def _dated(rows: Sequence[Row]) -> str:
    """Return the source of the points' times."""
    sources = sorted({str(row["source"]) for row in rows})
    return f"times of points are from: {', '.join(sources)}"


def _levels(answer: History, rows: Sequence[Row]) -> Section:
    shown = rows[-_POINTS:]
    # If several points share a time, or some have none, they are placed one after the other.
    times = [row["recorded_at"] for row in shown]
    by_time = None not in times and len(set(times)) == len(times) and len(times) > 1
    points = [
        {"at": row["recorded_at"] if by_time else place, **{key: row[key] for key in
         ("run", "recorded_at", "value", "low", "high", "traces")}}
        for place, row in enumerate(shown)
    ]  # fmt: skip
    unit = f"{answer.metric}, {answer.unit}" if answer.unit else answer.metric
    drawn = changes.levels(
        "levels", f"{answer.metric} over time", points, list(_steps(shown, [row["at"] for row in points])), unit,
        by_time=by_time,
    )  # fmt: skip
    see = "Red lines are levels; a dashed line is a shift: the first point of a new level. " + " ".join(answer.verdicts)
    if len(shown) < len(rows):
        see += f" The last {len(shown):,} of {len(rows):,} points are shown."
    fold = Fold(table(shown, _COLUMNS, "Points", unit), "history")
    return Section("levels", "Levels", see, (drawn,), folds=(fold,))


def _steps(rows: Sequence[Row], at: Sequence[object]) -> Iterator[Row]:
    """Yield the levels of a chart."""
    starts = [place for place, row in enumerate(rows) if place == 0 or row["verdict"] is not None]
    for begin, end in pairwise([*starts, len(rows)]):
        row = rows[begin]
        pct = f" {row['shift_pct']:+.1f} %" if row["shift_pct"] is not None else ""
        yield {
            "since": at[begin], "until": at[min(end, len(rows) - 1)], "level": row["level"],
            "said": None if row["verdict"] is None else f"{row['verdict']}{pct}",
        }  # fmt: skip


def _trust(answer: History, rows: Sequence[Row]) -> Section:
    cards = tuple(Card("not of one program?", (doubt,), "warning") for doubt in answer.doubts)
    see = (
        f"{_dated(rows).capitalize()}. A shift needs 8 points, and a level 3; one history in fifty without a shift is "
        "said to have one."
    ) + "".join(f" {one}." for one in answer.left_out)
    return Section("trust", "Trust", see, cards=cards)
