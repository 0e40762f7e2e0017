"""Figures of comparisons as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ...version import __version__
from ..output.grid import cut_middle
from ..summary.headline import duration

Row = dict[str, Any]
_LONGEST = 60


def made() -> str:
    """Return which version made a page, and when."""
    return f"tracelake {__version__}, {datetime.now(UTC):%Y-%m-%d}"


def time(ns: float) -> str:
    """Return a time."""
    return f"{ns:.3g} ns" if ns < 1e3 else duration(ns / 1e3)


def change(ns: float) -> str:
    """Return a difference of times with its sign."""
    return f"{'-' if ns < 0 else '+'}{time(abs(ns))}"


def short(name: str) -> str:
    """Shorten a long name in the middle."""
    return cut_middle(name, _LONGEST)


def counted(number: int, one: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def difference(row: Row) -> str:
    """Return a side's step time beside the baseline's, the difference, and whether it is real.

    Args:
        row: a row of comparisons.
    """
    said = f"{time(row['after_ns'])} a step after {time(row['before_ns'])}"
    if row["change_pct"] is not None:
        said += f": {change(row['change_ns'])}, {row['change_pct']:+.1f} %"
    if row["ci_low_pct"] is not None:
        said += f" (95 % interval {row['ci_low_pct']:+.1f} to {row['ci_high_pct']:+.1f} %)"
    return f"{said}: {row['verdict']}"


def where(terms: list[Row]) -> str:
    """Return which parts of the step differ; terms: rows of comparison_terms of the level part, in order."""
    parts = [f"{row['name']} {change(row['change_ns'])} ({row['verdict']})" for row in terms if row["change_ns"]]
    return ", ".join(parts) or "no part of the step differs"


def lead(row: Row | None) -> str:
    """Return the largest term with its evidence and its effect; row: a row of comparison_leads."""
    if row is None:
        return "no operator differs"
    names = [row["part"], row["category"], row["module"], row["operator"]]
    # Work matched by its category has that as its operator.
    said = " / ".join(short(name) for name in names if name and name != f"({row['category']})")
    said += f": {change(row['change_ns'])}"
    if row["step_pct"] is not None:
        said += f", {row['step_pct']:+.1f} % of the step"
    said += f" ({row['verdict']})"
    if row["more_work_ns"] is not None:
        said += f"; by the amount of work {change(row['more_work_ns'])}, by its speed {change(row['slower_work_ns'])}"
        said += f"; {row['before_calls']:.4g} calls in a step, then {row['after_calls']:.4g}"
    kernels = [short(row[key]) for key in ("before_kernel", "after_kernel") if row[key]]
    if kernels:
        said += f"; {' → '.join(dict.fromkeys(kernels))}"
    return said


def trust(row: Row) -> str:
    """Return how far to trust a comparison; row: a row of comparisons."""
    said = (
        f"matched is {row['before_matched_pct']:.1f} % of the work's time before, {row['after_matched_pct']:.1f} % "
        f"after; {counted(row['steps'], 'step')} of {counted(row['runs'], 'run')}; {row['basis']}"
    )
    if row["detectable_pct"] is not None:
        said += f"; changes from {row['detectable_pct']:.1f} % on could be seen"
    return f"{said}; {row['doubts']}" if row["doubts"] else said
