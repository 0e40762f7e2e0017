"""The ranks of a run as a page: five lines, maps of rank and step, which ranks the others wait for, and the clocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..page import changes, charts
from ..page.page import Fold, Opening, Page, Section
from ..page.tables import objects, table
from . import words

if TYPE_CHECKING:
    from ...analysis.ranks import Ranks
    from ...engine.store import Store
    from ..page.tables import Row

#: Parts of a rank's step, and their names for people.
_PARTS = {"compute_ms": "compute", "exposed_communication_ms": "communication alone", "idle_ms": "idle"}
#: Maximum ranks and steps of a map, and rows of a table.
_RANKS, _STEPS, _ROWS = 64, 100, 100
_OF_RANK = ("label", "verdict", "steps", "step_ms", "compute_ms", "exposed_communication_ms", "idle_ms", "waiting_ms",
            "waited_for_ms", "waited_for_steps", "late_start_steps", "slow_compute_steps", "slow_link_steps",
            "earlier_call_steps", "calls", "unpaired_calls", "unpaired_reason", "missing_reason")  # fmt: skip
_OF_CLOCK = ("label", "clock_offset_us", "clock_residual_us", "calls")
_OF_STEP = ("label", "step", "is_steady", "step_us", "compute_us", "exposed_communication_us", "idle_us", "waiting_us",
            "waited_for_us", "cause")  # fmt: skip
_OF_CALL = ("label", "kind", "step_id", "others_waited_us", "behind_us", "cause", "gap_us", "compute_us", "link_us",
            "earlier_us", "clock_residual_us", "call")  # fmt: skip
_OF_STRAGGLER = ("label", "calls", "last_calls", "last_pct", "expected_pct", "is_often_last", "mean_late_us",
                 "caused_us", "waiting_us")  # fmt: skip


def page(store: Store, answer: Ranks) -> Page:
    """Return the ranks of a run as a page."""

    def named(relation: str, rest: str) -> list[Row]:
        """Return rows of a relation, each with the label of its rank and its index."""
        return objects(store, f"FROM {relation} WHERE run = $run {rest}", run=answer.run)

    ranks = named("_labelled('ranks')", "ORDER BY place")
    steps = named(
        "_labelled('rank_steps')",
        f"QUALIFY dense_rank() OVER (ORDER BY step) <= {_STEPS} ORDER BY place, step, step_id",
    )
    waits = named("_labelled_causes", "ORDER BY waited_ms DESC, place, cause")
    late = named("_labelled('rank_waits')", f"AND cause IS NOT NULL ORDER BY others_waited_us DESC, call LIMIT {_ROWS}")
    often = named("_labelled('stragglers')", f"ORDER BY caused_us DESC, place LIMIT {_ROWS}")
    return Page(
        title=f"Ranks of {answer.run}", subtitle=f"Ranks of a run, {words.made()}", opening=_opening(answer, ranks),
        sections=(_map(steps, ranks), _ranks(answer, ranks, waits), _calls(late, often), _clocks(ranks)),
    )  # fmt: skip


def _opening(answer: Ranks, ranks: Sequence[Row]) -> Opening:
    steps = max((row["steps"] for row in ranks), default=0)
    means = {key: _mean(ranks, key) for key in ("step_ms", "waiting_ms", *_PARTS)}
    step = "no rank has a step"
    if means["step_ms"]:
        step = f"{words.time(1e6 * means['step_ms'])} a step, mean of the ranks"
        if means["waiting_ms"] is None:
            step += "; their collectives cannot be compared, so nobody's waiting is known"
        else:
            share = 100 * means["waiting_ms"] / means["step_ms"]
            least = "at least " if any(row["missing_reason"] for row in ranks) else ""
            step += f"; a rank waits {least}{words.time(1e6 * means['waiting_ms'])} of it for others, {share:.1f} %"
    whole = sum(means[key] or 0 for key in _PARTS)
    parts = tuple((name, 100 * (means[key] or 0) / whole) for key, name in _PARTS.items()) if whole else ()
    calls, unpaired = (sum(row[key] for row in ranks) for key in ("calls", "unpaired_calls"))
    doubt = max((row["clock_residual_us"] for row in ranks if row["clock_residual_us"] is not None), default=None)
    trust = f"{calls:,} calls of collectives are compared with other ranks, {unpaired:,} are not"
    trust += "" if doubt is None else f"; clocks agree to {words.time(1e3 * doubt)}: lateness below that means nothing"
    trust += "".join(f"; {row['unpaired_reason']}" for row in ranks if row["unpaired_reason"])[:300]
    return Opening(
        (
            ("what", f"run {answer.run}: {words.counted(len(ranks), 'rank')}, {words.counted(steps, 'step')}"),
            ("step", step), ("time", "no device operation takes time"),
            ("first", " ".join(answer.verdicts[:3]) or "no rank stands out"), ("trust", trust),
        ),
        "warning" if unpaired or not calls or any(row["missing_reason"] for row in ranks) else "ok", parts,
    )  # fmt: skip


def _mean(ranks: Sequence[Row], key: str) -> float | None:
    known = [row[key] for row in ranks if row[key] is not None]
    return sum(known) / len(known) if known else None


def _map(steps: Sequence[Row], ranks: Sequence[Row]) -> Section:
    most = sorted(ranks, key=lambda row: -(row["waited_for_ms"] or 0))[:_RANKS]
    kept = {row["label"] for row in most}
    rows = [row for row in steps if row["label"] in kept]
    if not rows:
        return Section("map", "Rank and step", "No rank of the run has a device operation.")
    cells = [
        {"rank": row["label"], "step": row["step"],
         "waited_ms": row["waited_for_us"] and row["waited_for_us"] / 1e3,
         "cause": row["cause"] if row["waited_for_us"] else None, "step_ms": row["step_us"] and row["step_us"] / 1e3,
         "compute_ms": row["compute_us"] / 1e3}
        for row in rows
    ]  # fmt: skip

    def only(*names: str) -> list[Row]:
        return [{key: cell[key] for key in ("rank", "step", *names)} for cell in cells]

    step, compute = "Time of the step, ms, from the least to the most", "Time in which the rank computes, ms, likewise"
    drawn = [
        changes.heat_map("map-step", step, only("step_ms"), "step_ms", "ms"),
        changes.heat_map("map-compute", compute, only("compute_ms"), "compute_ms", "ms"),
    ]
    if any(cell["cause"] for cell in cells):
        waited = changes.cause_map(
            "map-waited", "For whom the others wait, and why: the stronger the longer", only("waited_ms", "cause")
        )
        drawn.insert(0, waited)
    see = "A row that stands out is a slow rank, a column that does is a slow step of all."
    if len(kept) < len(ranks):
        see += f" The {len(kept)} of {len(ranks)} ranks that are waited for most are shown."
    if len({row["step"] for row in rows}) == _STEPS:
        see += f" The first {_STEPS} steps are shown."
    longest = sorted(rows, key=lambda row: (-(row["waited_for_us"] or 0), row["place"], row["step"]))[:_ROWS]
    fold = Fold(table(longest, _OF_STEP, "Ranks and steps, what is waited for most first"), "rank_steps")
    return Section("map", "Rank and step", see, tuple(drawn), folds=(fold,))


def _ranks(answer: Ranks, ranks: Sequence[Row], waits: Sequence[Row]) -> Section:
    title = "Time that all others wait for a rank, by cause"
    bars = [{key: row[key] for key in ("label", "cause", "waited_ms")} for row in waits[:_RANKS]]
    drawn = (
        (charts.bars("ranks-waited", title, bars, "label", "waited_ms", "cause", "ms", changes.CAUSES),) if bars else ()
    )
    see = " ".join(answer.verdicts) or "The others wait for no rank more often than by chance."
    most = sorted(ranks, key=lambda row: (-(row["waited_for_ms"] or 0), row["place"]))[:_ROWS]
    fold = Fold(table(most, _OF_RANK, "Ranks", "ms in a step"), "ranks", is_open=True)
    return Section("ranks", "For whom the others wait", see, drawn, folds=(fold,))


def _calls(late: Sequence[Row], often: Sequence[Row]) -> Section:
    if not often:
        return Section("calls", "Collectives", "No collective of the run has a partner on another rank.")
    bars = [{"rank": row["label"], "what": "last alone", "ms": row["caused_us"] / 1e3} for row in often[:_RANKS]]
    drawn = charts.bars(
        "calls-caused", "What a rank alone costs the run by coming last", bars, "rank", "ms", "what", "ms"
    )
    see = (
        "By how much a rank comes last to a collective, after the last but one: what the run would save if it came "
        "with that one. What an earlier collective of another group made late counts there alone. The calls that are "
        "waited for longest are in the table."
    )
    folds = [Fold(table(often, _OF_STRAGGLER, "Who comes last"), "stragglers")]
    if late:
        folds.append(Fold(table(late, _OF_CALL, "Calls that others waited in, the longest first"), "rank_waits"))
    return Section("calls", "Collectives", see, (drawn,), folds=tuple(folds))


def _clocks(ranks: Sequence[Row]) -> Section:
    known = [row for row in ranks if row["clock_residual_us"] is not None]
    if not known:
        return Section("clocks", "Clocks", "No clocks are aligned: no collective of several ranks links them.")
    bars = [
        {"rank": row["label"], "what": "residual", "us": row["clock_residual_us"]}
        for row in sorted(known, key=lambda row: -row["clock_residual_us"])[:_RANKS]
    ]
    drawn = charts.bars(
        "clocks-residual", "How far the clocks of a rank's calls disagree at most", bars, "rank", "us", "what", "µs"
    )
    see = "Clocks are aligned on the ends of collectives; lateness below the residual means nothing."
    fold = Fold(table(known[:_ROWS], _OF_CLOCK, "Clocks"), "ranks")
    return Section("clocks", "Clocks", see, (drawn,), folds=(fold,))
