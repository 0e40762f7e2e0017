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
    """

    basis: str
    metrics: duckdb.DuckDBPyRelation
    operations: duckdb.DuckDBPyRelation


def compare(store: Store, before: Side, after: Side) -> Comparison:
    """Put two traces beside each other.

    Raises:
        UsageError: a trace has no device operation, or the two are measured in different ways.
    """
    bases = [_basis(store, side) for side in (before, after)]
    if bases[0] != bases[1]:
        raise UsageError(
            f"{before[0]} is measured per {bases[0]}, {after[0]} per {bases[1]}: their times cannot be compared. "
            "Profile both the same way, or compare what you mean in SQL: tracelake schema time_breakdown."
        )
    ids = f"{modules.quoted(before[1])}, {modules.quoted(after[1])}"
    return Comparison(
        f"one device in one {bases[0]}" if bases[0] != "whole trace" else "one device in the whole trace",
        store.sql(f"SELECT * EXCLUDE (place) FROM trace_changes({ids}) ORDER BY place"),
        store.sql(f"SELECT * FROM op_changes({ids}) ORDER BY abs(change_us) DESC, op, shape"),
    )


def _basis(store: Store, side: Side) -> str:
    found = store.rows("SELECT basis FROM comparison_bases WHERE trace_id = $1", [side[1]])
    if not found:
        raise UsageError(f"{side[0]}: no device operation in it takes time, so there is nothing to compare.")
    return str(found[0][0])
