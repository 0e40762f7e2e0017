"""The numbers behind a model report's sentences, and the sentences that they trigger."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...analysis.studies import SCHEMA
from ...analysis.workloads import Workload
from .format import NOTHING, written
from .prose import sentences

if TYPE_CHECKING:
    import duckdb

Facts = dict[str, str]

#: Relations of the facts.
_FACTS = tuple(f"_report_{part}_facts" for part in (
    "phase", "kernel", "category", "batch", "knob", "grid", "layout", "fault", "model",
))  # fmt: skip


def find_facts(connection: duckdb.DuckDBPyConnection, work: Workload) -> Facts:
    """Fill report_facts from the report's scenarios, and the sentences of its rules.

    Returns:
        The facts in readable form, with their units.
    """
    connection.execute("DELETE FROM report_facts")
    connection.execute("DELETE FROM _report_sentences")
    connection.executemany("INSERT INTO _report_sentences VALUES (?, ?)", [*sentences().items()])
    for relation in _FACTS:
        connection.execute(f"INSERT INTO report_facts SELECT fact, value, words, unit FROM {SCHEMA}.{relation}")
    if work.base == work.main:
        connection.execute(
            "INSERT INTO report_facts "
            "SELECT regexp_replace(fact, '^(training|prefill|decode)_', '\\1_base_'), value, words, unit "
            "FROM report_facts WHERE regexp_matches(fact, '^(training|prefill|decode)_')"
        )
    rows = connection.execute("SELECT fact, value, words, unit FROM report_facts").fetchall()
    facts = {fact: words if words is not None else written(value, unit) for fact, value, words, unit in rows}
    facts["crossing_sentence"] = _crossing({fact: value for fact, value, *_ in rows})
    return facts


def advice(
    connection: duckdb.DuckDBPyConnection, work: Workload, facts: Facts, place: str, most: int | None = None
) -> list[str]:
    """Return the sentences that the facts trigger at a place of the report, the largest gain first."""
    rows = connection.execute(
        f"SELECT text, gain_pct FROM {work.formulas.relation('report_advice')} WHERE place = $1 "
        "ORDER BY priority = 1 DESC, gain_pct DESC NULLS LAST, priority",
        [place],
    ).fetchall()
    return [filled(text, facts) for text, _ in rows[:most]]


def filled(text: str, facts: Facts) -> str:
    """Return a text with its facts in place of the names in braces."""
    return re.sub(r"\{([a-z0-9_]+)\}", lambda name: facts.get(name.group(1), "unknown"), text)


def _crossing(values: dict[str, float | None]) -> str:
    """Return where the bottleneck of decode changes, with two decimals since it is interpolated between batches."""
    by_time, by_intensity = (
        f"{value:,.2f} sequences" if (value := values.get(f"decode_{of}_batch")) is not None else NOTHING
        for of in ("time", "intensity")
    )
    if by_time == by_intensity == NOTHING:
        return "`B_crit`: none, neither by the times nor by `AI_hbm`."
    return f"`B_crit` by the times, which count: {by_time}; by `AI_hbm` reaching the knee: {by_intensity}."
