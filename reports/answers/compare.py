"""A comparison as a page: five lines, then the sides, the waterfall, the largest changes, the matching, and trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...engine.sql.modules import quoted
from ..page import changes
from ..page.page import Card, Fold, Opening, Page, Section
from ..page.tables import objects, of_relation, table
from . import waterfalls, words

if TYPE_CHECKING:
    from ...analysis.sides import SideComparison
    from ...engine.store import Store
    from ..page.tables import Row

#: Maximum number of sides whose waterfalls are drawn, and of rows of a table.
_DRAWN, _ROWS = 6, 200
#: If less of the work is matched, the sides may not be of one program.
_MATCHED_PCT = 50
_SIDES = ("side", "verdict", "change_us", "change_pct", "before_us", "after_us", "ci_low_pct", "ci_high_pct",
          "detectable_pct", "traces", "runs", "steps", "before_matched_pct", "after_matched_pct", "basis",
          "doubts")  # fmt: skip
_TRACES = ("side", "trace", "run", "rank", "recorded_at", "device_name", "hardware", "model", "phase", "devices",
           "format", "basis", "truncated", "rejected_count", "trace_id", "source_path")  # fmt: skip


def page(store: Store, answer: SideComparison) -> Page:
    """Return a comparison as a page; it must be the lake's latest one."""
    sides = of_relation(answer.sides)
    shown = waterfalls.largest(sides)[:_DRAWN]
    traces = objects(store, "FROM _side_traces ORDER BY side, trace")
    doubts = _doubts(store, sides, traces)
    baseline = sides[0]["baseline"]
    several = len(sides) > 1
    title = f"{len(sides)} sides beside {baseline}" if several else f"{sides[0]['side']} beside {baseline}"
    return Page(
        title=title, subtitle=f"Comparison, {words.made()}", opening=_opening(store, sides, shown[0], traces, doubts),
        sections=(
            *([_sides(sides, len(shown))] if several else []),
            waterfalls.terms(store, shown, "terms", "Where the difference is"),
            waterfalls.operators(store, shown, "ops", "What changed most"),
            *([_measures(store, traces, baseline)] if _is_pair(sides, traces) else []),
            _matches(store, shown), _trust(sides, traces, doubts, answer.left_out),
        ),
    )  # fmt: skip


def _is_pair(sides: Sequence[Row], traces: Sequence[Row]) -> bool:
    return len(sides) == 1 and len(traces) == 2


def _doubts(store: Store, sides: Sequence[Row], traces: Sequence[Row]) -> list[Row]:
    """Return the reasons to doubt the comparison: mood, question and message."""
    found = [{"mood": "warning", "question": row["side"], "message": row["doubts"]} for row in sides if row["doubts"]]
    found += [
        {"mood": "warning", "question": row["side"], "message": "most of the work has no match on the other side"}
        for row in sides if min(row["before_matched_pct"], row["after_matched_pct"]) < _MATCHED_PCT
    ]  # fmt: skip
    if _is_pair(sides, traces):
        ids = ", ".join(
            quoted(row["trace_id"]) for row in sorted(traces, key=lambda row: row["side"] != sides[0]["baseline"])
        )
        found += objects(
            store,
            "SELECT if(verdict = 'fail', 'error', 'warning') AS mood, question, message "
            # The doubts of the sides have the programs.
            f"FROM trace_provenance({ids}) WHERE verdict <> 'pass' AND question <> 'programs'",
        )
    return found


def _opening(
    store: Store, sides: Sequence[Row], first: Row, traces: Sequence[Row], doubts: Sequence[Row]
) -> Opening:  # fmt: skip
    leads = objects(store, "SELECT * FROM comparison_leads WHERE side = $side", side=first["side"])
    parts = objects(
        store, "SELECT * FROM comparison_terms WHERE side = $side AND level = 'part' ORDER BY place", side=first["side"]
    )
    said = words.difference(first)
    of = ""
    if len(sides) > 1:
        verdicts = [waterfalls.kind(row["verdict"]) for row in sides]
        counts = ", ".join(f"{verdicts.count(one)} {one}" for one in ("slower", "faster", "not certain"))
        said, of = f"{counts}. Most: {first['side']}, {said}", f"{first['side']}: "
    trust = words.trust(first) + "".join(f"; {row['question']}: {row['message']}" for row in doubts[:2])
    compared = ", ".join(_who(row["side"], traces) for row in sides[:3]) + (", …" if len(sides) > 3 else "")
    moods = {str(row["mood"]) for row in doubts}
    return Opening(
        (
            ("what", f"{compared} beside {_who(first['baseline'], traces)}; times of one device in a step"),
            ("change", said), ("where", of + words.where(parts)),
            ("most", of + words.lead(leads[0] if leads else None)), ("trust", trust),
        ),
        "error" if "error" in moods else "warning" if moods else "ok",
    )  # fmt: skip


def _who(side: str, traces: Sequence[Row]) -> str:
    """Return a side's subject: its traces, chips, models and phases."""
    own = [row for row in traces if row["side"] == side]
    of = [words.counted(len(own), "trace")]
    for key in ("phase", "model", "hardware"):
        values = sorted({row[key] for row in own if row[key]})
        of += values if len(values) < 3 else [words.counted(len(values), key)]
    return f"{side} ({', '.join(of)})"


def _sides(sides: Sequence[Row], drawn: int) -> Section:
    rows = [{**row, "kind": waterfalls.kind(row["verdict"])} for row in sides[:_ROWS]]
    columns = ("side", "change_pct", "ci_low_pct", "ci_high_pct", "kind", "verdict")
    chart = changes.intervals("sides-steps", "Steps of each side", [{key: row[key] for key in columns} for row in rows])
    of = f" The {drawn} that differ most are shown below." if drawn < len(sides) else ""
    fold = Fold(table([waterfalls.in_us(row) for row in rows], _SIDES, "Sides", "µs in a step"), "comparisons")
    see = f"A side whose line crosses 0 may be as fast as the baseline; the line is the 95 % interval.{of}"
    return Section("sides", "The sides", see, (chart,), folds=(fold,))


def _measures(store: Store, traces: Sequence[Row], baseline: str) -> Section:
    before, after = (row["trace_id"] for row in sorted(traces, key=lambda row: row["side"] != baseline))
    rows = objects(
        store, f"SELECT * EXCLUDE (place) FROM trace_changes({quoted(before)}, {quoted(after)}) ORDER BY place"
    )
    if not rows:
        return Section("measures", "Measures", "The two traces have no measure in common.")
    fold = Fold(table(rows, tuple(rows[0]), "Measures of both"), "trace_changes", is_open=True)
    see = "Each measure before and after; a change that is smaller than the noise between steps says nothing."
    return Section("measures", "Measures", see, folds=(fold,))


def _matches(store: Store, shown: Sequence[Row]) -> Section:
    rows = objects(
        store,
        "SELECT * FROM comparison_matches WHERE list_contains($names, side) "
        "ORDER BY list_position($names, side), before_ns + after_ns DESC, matched_by",
        names=[row["side"] for row in shown],
    )
    if not rows:
        return Section("matches", "What was matched", "There is no work to match.")
    bars = [
        {"bar": f"{when}: {words.short(row[of])}", "part": row["matched_by"], "pct": row[f"{when}_pct"] or 0}
        for row in rows for when, of in (("before", "baseline"), ("after", "side"))
        if row["side"] == shown[0]["side"]
    ]  # fmt: skip
    chart = changes.shares("matches-shares", "Time of the work, by what both sides have in common", bars)
    columns = ("side", "matched_by", "kinds", "before_us", "after_us", "before_pct", "after_pct")
    fold = Fold(
        table([waterfalls.in_us(row) for row in rows], columns, "Matches", "µs in a step"), "comparison_matches"
    )
    see = (
        "Work is held against work of the same module, operator and shapes where there is such, else by less; what is "
        "matched by nothing only one side has."
    )
    return Section("matches", "What was matched", see, (chart,), folds=(fold,))


def _trust(sides: Sequence[Row], traces: Sequence[Row], doubts: Sequence[Row], left_out: Sequence[str]) -> Section:
    cards = [Card(row["question"], (row["message"],), row["mood"]) for row in doubts]
    cards += [Card("left out", (message,), "warning") for message in left_out]
    folds = [Fold(table(traces[:_ROWS], _TRACES, "Traces of the sides"), "traces", is_open=len(traces) <= 10)]
    if len(sides) == 1:
        folds.append(
            Fold(table([waterfalls.in_us(row) for row in sides], _SIDES, "Steps", "µs in a step"), "comparisons")
        )
    see = (
        "What is compared with what, and what speaks against it." if cards else "Nothing speaks against the comparison."
    )
    return Section("trust", "Provenance and trust", see, cards=tuple(cards), folds=tuple(folds))
