"""Comparison of the ranks of a run: which one the others wait for, how often and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.errors import UsageError
from ..engine.sql.modules import quoted
from ..engine.sql.near import guess
from .traces import locate

if TYPE_CHECKING:
    import duckdb

    from ..engine.store import Store

#: Relations with a row per rank, per rank and step, or per call of a collective, and the order of their rows.
_OF = {
    "rank": ("ranks", "rank, trace, device"),
    "step": ("rank_steps", "step, rank, trace_id, device"),
    "call": ("rank_waits", "arrival_ns, call"),
}


@dataclass(frozen=True)
class Ranks:
    """The ranks of a run.

    Attributes:
        run: the run, or the id of the trace if it has none.
        relation: the relation of the rows.
        rows: its rows of the run.
        verdicts: a sentence about ranks missing in the lake, one for each rank that the others wait for, or that
            has no partner to compare it with, and one for each doubt about others.
        is_unpaired: the ranks call collectives, and no call has a counterpart on another rank.
    """

    run: str
    relation: str
    rows: duckdb.DuckDBPyRelation
    verdicts: tuple[str, ...]
    is_unpaired: bool


def find_run(store: Store, run: str) -> tuple[str, str]:
    """Return a run's name, and one of its traces.

    Args:
        store: the lake.
        run: a run, or one of its traces by name, id or path.

    Raises:
        UsageError: no run or trace has this name.
        InputError: a file cannot be ingested.
    """
    [(trace_id,)] = store.rows("SELECT min(trace_id) FROM traces WHERE run = $1", [run])
    if trace_id is not None:
        return run, str(trace_id)
    try:
        trace_id = locate(store, run)
    except UsageError as error:
        if store.rows("SELECT trace_id FROM traces WHERE trace = $1", [run]):
            raise  # several traces have the name
        known = [name for (name,) in store.rows("SELECT DISTINCT run FROM traces WHERE run IS NOT NULL ORDER BY run")]
        raise UsageError(
            f"{run}: no run is so named, nor a trace. `tracelake traces` lists both.{guess(run, known)}"
        ) from error
    [(of_trace,)] = store.rows("SELECT coalesce(run, trace_id) FROM traces WHERE trace_id = $1", [trace_id])
    return str(of_trace), trace_id


def ranks(store: Store, run: str, by: str = "rank") -> Ranks:
    """Compare the ranks of a run.

    Args:
        store: the lake.
        run: a run, or one of its traces by name, id or path.
        by: rank, step for a row per rank and step, or call for a row per collective that others waited in.

    Raises:
        UsageError: no run or trace has this name, or `by` is another word.
        InputError: a file cannot be ingested.
    """
    if by not in _OF:
        raise UsageError(f"by={by}: expected rank, step or call.")
    name, _ = find_run(store, run)
    relation, order = _OF[by]
    judged = store.rows(
        "SELECT calls, missing_reason, doubt_reason, rank, device, verdict, waited_for_steps, steps, waited_for_ms, "
        f"waited_for_pct, unpaired_reason FROM ranks WHERE run = {quoted(name)} ORDER BY waited_for_ms DESC, rank"
    )
    missing = sorted({why for _, why, *_ in judged if why})
    odd = [row for calls, _, _, *row in judged if row[2] != "as the others" and not (calls and row[2] == "cannot tell")]
    doubted: dict[str, list[tuple[int | None, int]]] = {}
    for _, _, why, rank, device, *_ in judged:
        if why:
            doubted.setdefault(why, []).append((rank, device))
    return Ranks(
        run=name,
        relation=relation,
        rows=store.sql(f"SELECT * FROM {relation} WHERE run = {quoted(name)} ORDER BY {order}"),
        verdicts=(
            *(_unknown(why) for why in missing),
            *(_sentence(*row) for row in odd),
            *(f"{_named(of)}: {why}." for why, of in doubted.items()),
        ),
        is_unpaired=any(row[-1] for row in judged) and not any(row[0] for row in judged),
    )


def _unknown(why: str) -> str:
    """Return the sentence about ranks that are not in the lake."""
    of = "them" if why.startswith("ranks") or "; " in why else "it"
    return f"{why}: whether the others wait for {of}, and how long, is unknown."


def _sentence(
    rank: int | None, device: int, verdict: str, waited: int, steps: int, waited_ms: float, waited_pct: float, why: str
) -> str:
    """Return the sentence about a rank."""
    who = _named([(rank, device)])
    if verdict == "cannot tell":
        return f"{who}: cannot tell whether others wait for it: {why or 'it has no collectives'}."
    share = f"{waited_ms:.3f} ms a step, {waited_pct:.1f} %"
    return f"{who}: {verdict}. The others wait longest for it in {waited} of {steps} steps, {share}."


def _named(ranks: list[tuple[int | None, int]]) -> str:
    """Return what a sentence calls some ranks, given with their devices: at most three."""
    known = [rank for rank, _ in ranks if rank is not None]
    kind = "rank" if len(known) == len(ranks) else "device"
    named = sorted(set(known if kind == "rank" else (device for _, device in ranks)))
    if len(named) == 1:
        return f"{kind} {named[0]}"
    rest = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return f"{kind}s {', '.join(map(str, named[:3]))}{rest}"
