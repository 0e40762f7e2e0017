"""Two traces beside each other: measures with their noise, and the operations that changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine import modules
from ..engine.errors import UsageError

if TYPE_CHECKING:
    import duckdb

    from ..engine.store import Store

    #: A trace as it was named, and its id.
    Side = tuple[str, str]


@dataclass(frozen=True)
class Comparison:
    """Two traces beside each other.

    Attributes:
        basis: what the figures are for, in words.
        metrics: a row per measure: metric, unit, before, after, change, change_pct, noise, verdict.
        operations: a row per operation, the largest change first.
        families: a row per family of operations, the largest change first.
        gate: a row per measure that gates a change: metric, before, after, change, threshold, noise, verdict.
        warnings: what speaks against the comparison, in words.
    """

    basis: str
    metrics: duckdb.DuckDBPyRelation
    operations: duckdb.DuckDBPyRelation
    families: duckdb.DuckDBPyRelation
    gate: duckdb.DuckDBPyRelation
    warnings: tuple[str, ...]

    @property
    def status(self) -> str:
        """What the gate says of the whole: pass, warn or fail."""
        verdicts = {verdict for (verdict,) in self.gate.select("verdict").fetchall()}
        return next((word for word in ("fail", "warn") if word in verdicts), "pass")


def compare(store: Store, before: Side, after: Side, *, strict: bool = False) -> Comparison:
    """Put two traces beside each other.

    Args:
        store: the lake.
        before: the first trace.
        after: the second trace.
        strict: refuse what `trace_provenance` calls a failure, as a trace beside itself.

    Raises:
        UsageError: a trace has no device operation, the two are measured in different ways, or strict and a failure.
    """
    bases = [_basis(store, side) for side in (before, after)]
    if bases[0] != bases[1]:
        raise UsageError(
            f"{before[0]} is measured per {bases[0]}, {after[0]} per {bases[1]}: their times cannot be compared. "
            "Profile both the same way, or compare what you mean in SQL: tracelake schema time_breakdown."
        )
    ids = f"{modules.quoted(before[1])}, {modules.quoted(after[1])}"
    doubts = store.rows(f"SELECT verdict, question, message FROM trace_provenance({ids}) WHERE verdict <> 'pass'")
    failed = [f"{question}: {message}" for verdict, question, message in doubts if verdict == "fail"]
    if strict and failed:
        raise UsageError(
            f"{before[0]} and {after[0]} say nothing beside each other: {'; '.join(failed)}. "
            "Name two traces, or leave --strict out."
        )
    return Comparison(
        f"one device in one {bases[0]}" if bases[0] != "whole trace" else "one device in the whole trace",
        store.sql(f"SELECT * EXCLUDE (place) FROM trace_changes({ids}) ORDER BY place"),
        store.sql(f"SELECT * FROM op_changes({ids}) ORDER BY abs(change_us) DESC, op, shape"),
        store.sql(f"SELECT * FROM family_changes({ids})"),
        store.sql(f"SELECT * FROM gated_changes({ids})"),
        tuple(f"{question}: {message}" for _, question, message in doubts),
    )


def _basis(store: Store, side: Side) -> str:
    found = store.rows("SELECT basis FROM comparison_bases WHERE trace_id = $1", [side[1]])
    if not found:
        raise UsageError(f"{side[0]}: no device operation in it takes time, so there is nothing to compare.")
    return str(found[0][0])
