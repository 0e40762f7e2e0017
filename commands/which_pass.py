"""The pass that a command shows: the given one, else the chosen one, and the message if the trace has no pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..engine.errors import UsageError
from .common import say

if TYPE_CHECKING:
    from ..lake import Lake


#: Why a trace has nothing to show about its devices.
NO_OPERATIONS = "the trace has no device operations"


def find_pass(opened: Lake, trace: str, wanted: str | None = None, *, instead: str = "") -> int | Literal["all"] | None:
    """Return the pass to show; exit with 1, a hint and what to ask `instead` if no passes were found."""
    from ..analysis.passes import in_words, pass_ids

    known = pass_ids(opened.store, trace)
    if not known:
        say(no_passes(opened, trace) + (f"\n  {instead}" if instead else ""))
        raise SystemExit(1)
    if wanted is None:
        chosen = opened.chosen_pass(opened.locate(trace))
        if len(known) > 1:
            say(f"pass {chosen} of {len(known)}, {_why(opened, trace, chosen)}; --pass P or --pass all for others.")
        return chosen
    if wanted == "all":
        return "all"
    if not wanted.isdecimal() or int(wanted) not in known:
        raise UsageError(f"--pass {wanted}: the trace has {in_words(known)}, or give all.")
    return int(wanted)


def _why(opened: Lake, trace: str, chosen: int | None) -> str:
    """Return why a pass is shown: it is the chosen one, or the first of those chosen for each stage."""
    rows = opened.rows(
        "SELECT DISTINCT concat_ws(', ', CASE WHEN min(series) OVER () <> max(series) OVER () THEN series END, "
        "direction, "
        "coalesce(stage, CASE WHEN min(series) OVER () = max(series) OVER () AND direction IS NULL "
        "THEN 'unknown stage' END)), pass_id "
        "FROM passes WHERE trace_id = $1 AND chosen ORDER BY pass_id, 1",
        [opened.locate(trace)],
    )
    others = [f"of {stage} {pass_id}" for stage, pass_id in rows if pass_id != chosen]
    if not others:
        return "the chosen one"
    stages = " and ".join(stage for stage, pass_id in rows if pass_id == chosen)
    return f"the one chosen of {stages} ({', '.join(others)})"


def need_operations(opened: Lake, trace: str) -> None:
    """Exit with 1 and the reason if a trace has no device operations to show."""
    from ..analysis.passes import has_operations

    if not has_operations(opened.store, trace):
        say(f"{trace}: {NO_OPERATIONS}. Details: `tracelake doctor {trace}`.")
        raise SystemExit(1)


def find_one_pass(opened: Lake, trace: str, wanted: str | None = None) -> int:
    """Return the single pass to show.

    Raises:
        UsageError: all passes were requested.
    """
    chosen = find_pass(opened, trace, wanted)
    if not isinstance(chosen, int):
        raise UsageError("--pass all: this needs one pass.")
    return chosen


def no_passes(opened: Lake, trace: str) -> str:
    """Return the message for a trace without passes: the reason, the best anchor candidates, what to do."""
    from ..analysis.passes import has_operations
    from ..reports.output.table import cut

    if not has_operations(opened.store, trace):
        # No anchor helps.
        return f"{trace}: no passes found: {NO_OPERATIONS}. Details: `tracelake doctor {trace}`."
    # Devices that run the same kernels have the same candidates.
    found = opened.anchor_candidates(trace).select("occurrences, role, pattern").fetchall()
    candidates = list(dict.fromkeys(found))[:5]
    lines = [f"{trace}: no passes found: no anchor kernel marks its layers."]
    training = opened.rows(
        "SELECT message FROM training_checks WHERE trace_id = $1 AND severity <> 'ok'", [opened.locate(trace)]
    )
    if training:
        lines = [f"{trace}: no passes found: {training[0][0]}."]
    whole = opened.rows(
        "SELECT value, message FROM trace_checks "
        "WHERE trace_id = $1 AND \"check\" = 'whole_graphs' AND severity <> 'ok'",
        [opened.locate(trace)],
    )
    if whole:
        # No anchor helps: there are no kernels.
        return f"{trace}: no passes found: {whole[0][0]:.0f} % {whole[0][1]}."
    if candidates:
        lines.append("  Candidates, with occurrences and position in a layer:")
        lines += [f"  {calls:>6}  {role:<6}  {cut(pattern, 100)}" for calls, role, pattern in candidates]
    lines.append(f"  Set one: tracelake set {trace} anchor=REGEX num_layers=N. Details: `tracelake doctor {trace}`.")
    return "\n".join(lines)
