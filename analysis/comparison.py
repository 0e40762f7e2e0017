"""Comparison of two traces: measures with their noise, and the operations that changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.errors import UsageError
from ..engine.sql import modules
from .traces import locate

if TYPE_CHECKING:
    import duckdb

    from ..engine.store import Store

#: A trace as given, and its id.
Side = tuple[str, str]


@dataclass(frozen=True)
class Comparison:
    """Comparison of two traces.

    Attributes:
        basis: what the figures are for, as text.
        metrics: a row per measure: metric, unit, before, after, change, change_pct, noise, verdict.
        operations: a row per operation, the largest change first.
        families: a row per family of operations, the largest change first.
        gate: a row per measure, and per slower part of a step, that the gate checks: metric, part, before, after,
            change, threshold, noise, verdict.
        work: a row per measure of the work of both: measure, before, after, ratio, verdict.
        status: the gate's overall verdict: pass, warn or fail; unknown if it cannot judge.
        doubts: the reasons why it cannot judge, as text.
        warnings: reasons to doubt the comparison, as text.
        of_steps: those of the warnings that the comparison of the two as sides has, too, in `comparisons.doubts`.
        missing: why a side, or both, has no operations to compare, as text; empty if both have.
    """

    basis: str
    metrics: duckdb.DuckDBPyRelation
    operations: duckdb.DuckDBPyRelation
    families: duckdb.DuckDBPyRelation
    gate: duckdb.DuckDBPyRelation
    work: duckdb.DuckDBPyRelation
    status: str
    doubts: tuple[str, ...]
    warnings: tuple[str, ...]
    of_steps: tuple[str, ...]
    missing: str


def compare(
    store: Store,
    before: str,
    after: str,
    *,
    strict: bool = False,
    anyway: bool = False,
    names: tuple[str, str] | None = None,
) -> Comparison:
    """Compare two traces.

    Args:
        store: the lake.
        before: the first trace.
        after: the second trace.
        strict: refuse what `trace_provenance` calls a failure, such as a trace compared with itself.
        anyway: compare different work too, such as prefill and decode, each in its own measure; `warnings` and
            `work` of the result state the difference, and its gate does not judge.
        names: of the traces in messages; default: as given.

    Raises:
        UsageError: a trace is unknown; has no device operation, or the measurement methods differ, without
            `anyway`; or there is a failure, with `strict`.
    """
    names = names or (before, after)
    sides = ((names[0], locate(store, before)), (names[1], locate(store, after)))
    bases = [_basis(store, side) for side in sides]
    if not anyway:
        _same_basis(sides, bases)
    ids = ", ".join(modules.quoted(trace_id) for _, trace_id in sides)
    found = store.rows(f"SELECT verdict, question, message FROM trace_provenance({ids}) WHERE verdict <> 'pass'")
    # The bases are part of the work, which is reported below.
    doubted = [row for row in found if row[1] != "basis"] if anyway else found
    failed = [f"{question}: {message}" for verdict, question, message in doubted if verdict == "fail"]
    if strict and failed:
        raise UsageError(
            f"{names[0]} and {names[1]} cannot be compared: {'; '.join(failed)}. Give two traces, or omit --strict."
        )
    gate = store.sql(f"SELECT * FROM gated_changes({ids})")
    doubts = store.rows(f"SELECT reason, message FROM gate_doubts({ids})")
    [[status]] = store.rows(
        "SELECT _gate_status($1::VARCHAR[], $2::VARCHAR[])",
        [[verdict for (verdict,) in gate.select("verdict").fetchall()], [reason for reason, _ in doubts]],
    )
    different = [f"{reason}: {message}" for reason, message in doubts if reason == "different work"]
    uncounted = [f"{question}: {message}" for _, question, message in doubted if question == "programs"]
    return Comparison(
        basis=_in_words(bases),
        metrics=store.sql(f"SELECT * EXCLUDE (place) FROM trace_changes({ids}) ORDER BY place"),
        operations=store.sql(f"SELECT * FROM op_changes({ids}) ORDER BY abs(change_us) DESC, op, shape"),
        families=store.sql(f"SELECT * FROM family_changes({ids})"),
        gate=gate,
        work=store.sql(f"SELECT * FROM work_changes({ids})"),
        status=str(status),
        doubts=tuple(f"{reason}: {message}" for reason, message in doubts),
        warnings=tuple(f"{question}: {message}" for _, question, message in doubted) + tuple(different),
        of_steps=tuple(uncounted + different),
        missing=_missing(store, sides, bases),
    )


def _basis(store: Store, side: Side) -> str | None:
    found = store.rows("SELECT basis FROM comparison_bases WHERE trace_id = $1", [side[1]])
    return str(found[0][0]) if found else None


def _same_basis(sides: tuple[Side, Side], bases: list[str | None]) -> None:
    for (name, _), basis in zip(sides, bases, strict=True):
        if basis is None:
            raise UsageError(f"{name}: no device operation takes time: nothing to compare.")
    if bases[0] != bases[1]:
        raise UsageError(
            f"{sides[0][0]} is measured per {bases[0]}, {sides[1][0]} per {bases[1]}: their times cannot be compared. "
            "Profile both the same way, or add --anyway to show each in its own measure."
        )


def _in_words(bases: list[str | None]) -> str:
    words = [
        "nothing" if basis is None else "one device in the whole trace" if basis == "whole trace"
        else f"one device in one {basis}"
        for basis in bases
    ]  # fmt: skip
    return words[0] if words[0] == words[1] else f"{words[0]} before, for {words[1]} after"


def _missing(store: Store, sides: tuple[Side, Side], bases: list[str | None]) -> str:
    ids = [trace_id for _, trace_id in sides]
    counted = store.rows("SELECT DISTINCT trace_id FROM step_ops WHERE trace_id IN ($1, $2)", ids)
    return "; ".join(
        f"{name}: no device operation in it takes time" if basis is None
        else f"{name}: no device operation belongs to its steps, see step_summary.without_work"
        for (name, trace_id), basis in zip(sides, bases, strict=True)
        if (trace_id,) not in counted
    )  # fmt: skip
