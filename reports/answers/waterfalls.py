"""The sections of a comparison, shared by several pages: its waterfall, its terms, its operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..charts.vega import Chart
from ..page import changes
from ..page.page import Fold, Section
from ..page.tables import objects, table
from . import words

if TYPE_CHECKING:
    from ...engine.store import Store
    from ..page.tables import Row

#: Maximum rows of a table, and bars of a chart.
_ROWS, _BARS = 100, 20
_EACH = "µs in a step of one device; the rows of a level sum to those above it"
_TERMS = ("term", "change_us", "verdict", "before_us", "after_us", "more_work_us", "slower_work_us", "ci_low_us",
          "ci_high_us", "matched_pct")  # fmt: skip
_OPS = ("operator", "module", "category", "shape", "matched_by", "before_us", "after_us", "change_us", "more_work_us",
        "slower_work_us", "before_calls", "after_calls", "before_kernel", "after_kernel")  # fmt: skip
#: Levels of the waterfall, as tables of a page.
_LEVELS = {
    "step, parts and categories": ("step", "part", "category"),
    "modules": ("module",),
    "operators": ("operator",),
}


def kind(verdict: str | None) -> str:
    """Return the kind of bar for a verdict."""
    return verdict if verdict in ("slower", "faster") else "not certain"


def in_us(row: Row) -> Row:
    """Return a row with its times in µs."""
    return {
        key[:-3] + "_us" if key.endswith("_ns") else key: value / 1e3 if key.endswith("_ns") and value is not None
        else value
        for key, value in row.items()
    }  # fmt: skip


def largest(sides: Sequence[Row]) -> list[Row]:
    """Return sides of a comparison, those with a certain difference first, the largest first."""
    return sorted(sides, key=lambda row: (kind(row["verdict"]) == "not certain", -abs(row["change_ns"])))


def terms(store: Store, sides: Sequence[Row], key: str, title: str) -> Section:
    """Return the waterfalls of some sides, with their terms as tables."""
    drawn = tuple(_drawn(store, row, f"{key}-{nth}") for nth, row in enumerate(sides))
    several = ("side",) if len(sides) > 1 else ()
    names = [row["side"] for row in sides]
    folds = []
    for level, wanted in _LEVELS.items():
        rows = objects(
            store,
            "SELECT * FROM comparison_terms WHERE list_contains($names, side) AND list_contains($wanted, level) "
            f"QUALIFY row_number() OVER (PARTITION BY side ORDER BY abs(change_ns) DESC, place) <= {_ROWS} "
            "ORDER BY list_position($names, side), place",
            names=names,
            wanted=list(wanted),
        )
        if rows:
            shown = table([in_us(row) for row in rows], (*several, *_TERMS), f"Terms: {level}", _EACH)
            folds.append(Fold(shown, "comparison_terms", is_open=level.startswith("step")))
    return Section(
        key, title,
        "From the step before to the step after, by what the device does: red bars take longer, green ones less, for "
        "certain; grey ones are not certain. The bars add up exactly.",
        drawn, folds=tuple(folds),
    )  # fmt: skip


def _drawn(store: Store, side: Row, name: str) -> Chart:
    bars = objects(
        store,
        "SELECT * FROM comparison_waterfall WHERE side = $side AND baseline = $baseline ORDER BY place",
        side=side["side"],
        baseline=side["baseline"],
    )
    rows = []
    for bar in bars:
        is_step = bar["bar"] in ("before", "after")
        of_step = f"{bar['bar']}: {words.short(str(bar['name']))}"
        label = of_step if is_step else bar["name"] or words.counted(bar["terms"], "other term")
        pct = 100 * bar["change_ns"] / side["before_ns"] if side["before_ns"] else 0
        brief = words.time(bar["end_ns"]) if is_step else words.change(bar["change_ns"])
        said = brief if is_step else f"{brief}, {pct:+.1f} %"
        rows.append({
            "label": label, "start_ms": bar["start_ns"] / 1e6, "end_ms": bar["end_ns"] / 1e6, "said": said,
            "brief": brief,
            "kind": "step" if is_step else kind(bar["verdict"]),
        })  # fmt: skip
    title = f"{words.short(side['side'])} beside {words.short(side['baseline'])}"
    return changes.waterfall(name, title, rows)


def operators(store: Store, sides: Sequence[Row], key: str, title: str) -> Section:
    """Return the operators whose times differ most: of the first side as a chart, of all sides as a table."""
    names = [row["side"] for row in sides]
    rows = objects(
        store,
        "SELECT * FROM comparison_ops WHERE list_contains($names, side) AND change_ns <> 0 "
        f"QUALIFY row_number() OVER (PARTITION BY side ORDER BY abs(change_ns) DESC, group_id) <= {_ROWS} "
        "ORDER BY list_position($names, side), abs(change_ns) DESC, group_id",
        names=names,
    )
    if not rows:
        return Section(key, title, "No operator's time differs.")
    several = ("side",) if len(sides) > 1 else ()
    shown = table([in_us(row) for row in rows], (*several, *_OPS), "Work that differs", "µs in a step of one device")
    first = [row for row in rows if row["side"] == sides[0]["side"]][:_BARS]
    bars = list(_bars(first))
    drawn = changes.differences(
        f"{key}-bars", f"{words.short(sides[0]['side'])}: the {len(first)} largest differences", bars
    )
    see = (
        "Right of 0 takes longer, left of it less: for another amount of work (calls, shapes), or for another speed of "
        "the same work. What has neither is idle or waiting time."
    )
    return Section(key, title, see, (drawn,), folds=(Fold(shown, "comparison_ops"),))


def _bars(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the parts of each operator's difference; each operator has a unique label."""
    given: dict[str, int] = {}
    for row in rows:
        name = words.short(row["operator"] or row["before_kernel"] or row["after_kernel"] or row["category"])
        label = f"{name} {words.short(row['shape'])}".strip() if row["shape"] not in ("", "[]") else name
        label = f"{words.short(label)}"
        given[label] = given.get(label, 0) + 1
        label += f" ({given[label]})" if given[label] > 1 else ""
        if row["more_work_ns"] is None:
            yield {"label": label, "why": "idle or waiting", "change_ms": row["change_ns"] / 1e6}
        else:
            yield {"label": label, "why": "amount of work", "change_ms": row["more_work_ns"] / 1e6}
            yield {"label": label, "why": "speed of work", "change_ms": row["slower_work_ns"] / 1e6}
