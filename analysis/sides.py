"""Sides of a comparison: the traces that a word selects, and the lake's comparison of them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.errors import UsageError
from ..engine.storage.paths import readable
from ..ingest.inputs import names_input
from .traces import locate

if TYPE_CHECKING:
    import duckdb

    from ..engine.store import Store

#: Up to this many traces are named in a message.
_MOST_NAMED = 6


@dataclass(frozen=True)
class Side:
    """A side of a comparison.

    Attributes:
        name: its name in the result: the word that selected it, or a value of the attribute it was split by.
        traces: ids of its traces.
    """

    name: str
    traces: tuple[str, ...]


@dataclass(frozen=True)
class SideComparison:
    """Sides compared with a baseline. Times are exclusive, of one device in one step: see `step_costs`.

    Attributes:
        sides: a row per side, the relation `comparisons`: its step beside the baseline's, with interval and verdict.
        terms: a row per term of each side's waterfall, the relation `comparison_terms`; a level sums to its parent.
        ops: a row per kind of work of each side, the relation `comparison_ops`, the largest difference first.
        matches: a row per side and method by which work was matched, the relation `comparison_matches`.
        left_out: what was selected but has nothing to compare, as text.
    """

    sides: duckdb.DuckDBPyRelation
    terms: duckdb.DuckDBPyRelation
    ops: duckdb.DuckDBPyRelation
    matches: duckdb.DuckDBPyRelation
    left_out: tuple[str, ...]


def resolve(store: Store, words: Sequence[str], *, by: str | None = None, baseline: str | None = None) -> list[Side]:
    """Return the sides that words select, the baseline first.

    Args:
        store: the lake.
        words: each a trace (a name, an id, a path), a run, or a filter like `run=nightly-* hardware=h100_sxm` on
            attributes of `trace_labels`, with the wildcards * and ?.
        by: split the traces of all words, or of the whole lake, by this attribute of `trace_labels`: a side per value,
            in the order of the words, then of the values. `unlabelled` has the traces without it.
        baseline: the side that the others are compared with; default: the first.

    Raises:
        UsageError: a word matches nothing; there are fewer than two sides; no side is the baseline.
    """
    named = _named(store, words)
    sides = _split(store, named, by) if by else named
    if baseline is not None:
        [name] = _names([baseline])
        first = [side for side in sides if side.name == name]
        if not first and not by:
            first = _named(store, [baseline])
        if not first:
            raise UsageError(f"{baseline} is not one of the sides: {', '.join(side.name for side in sides)}.")
        sides = first + [side for side in sides if side.name != name]
    if len(sides) < 2:
        found = f"one, {sides[0].name}" if sides else "none"
        raise UsageError(
            f"a comparison needs two sides or more, and there is {found}: name others, or split with --by."
        )
    return sides


def between(
    store: Store,
    words: Sequence[str],
    *,
    by: str | None = None,
    baseline: str | None = None,
    strict: bool = False,
    anyway: bool = False,
) -> SideComparison:
    """Compare the sides that words select, see `resolve` and `compare`; `left_out` has the traces of no side, too.

    Raises:
        UsageError: there are no such sides, or they cannot be compared.
    """
    answer = compare(store, resolve(store, words, by=by, baseline=baseline), strict=strict, anyway=anyway)
    return replace(answer, left_out=unlabelled(store, words, by) + answer.left_out)


def compare(store: Store, sides: Sequence[Side], *, strict: bool = False, anyway: bool = False) -> SideComparison:
    """Compare sides with the first of them.

    Args:
        store: the lake.
        sides: from `resolve`.
        strict: refuse to compare a trace with itself.
        anyway: compare even if the measurement methods differ, such as a step with a whole trace.

    Raises:
        UsageError: a side has no device operation; the measurement methods differ without `anyway`; or a side has a
            trace of the first, with `strict`.
    """
    if strict:
        _check_apart(store, sides)
    _give(store, sides)
    measured = {name for (name,) in store.rows("SELECT side FROM _side_sizes")}
    empty = [side.name for side in sides if side.name not in measured]
    if sides[0].name in empty or len(measured) < 2:
        raise UsageError(f"{', '.join(empty)}: no device operation takes time: nothing to compare.")
    check_comparable(store, anyway=anyway)
    order = "ORDER BY list_position($names, side)"
    names = [side.name for side in sides]
    return SideComparison(
        sides=store.sql(f"SELECT * FROM comparisons {order}", names=names),
        terms=store.sql("SELECT * FROM comparison_terms"),
        ops=store.sql("SELECT * FROM comparison_ops ORDER BY side, abs(change_ns) DESC, part, operator, shape"),
        matches=store.sql(f"SELECT * FROM comparison_matches {order}, before_ns + after_ns DESC", names=names),
        left_out=tuple(f"{name} has no device operation that takes time" for name in empty),
    )


def _give(store: Store, sides: Sequence[Side]) -> None:
    """Have the lake compare sides with the first of them."""
    store.renew(one for side in sides for one in side.traces)
    rows = [(side.name, one, place) for place, side in enumerate(sides) for one in side.traces]
    store.give("given_sides", rows, alone=True)


def _check_apart(store: Store, sides: Sequence[Side]) -> None:
    """Check that no side has a trace of the first.

    Raises:
        UsageError: one has.
    """
    for side in sides[1:]:
        if both := sorted({*sides[0].traces} & {*side.traces}):
            [(trace,)] = store.rows("SELECT trace FROM traces WHERE trace_id = $1", [both[0]])
            raise UsageError(
                f"{sides[0].name} and {side.name} cannot be compared: the trace {trace} is in both. Give sides without "
                "common traces, or omit --strict."
            )


def check_comparable(store: Store, *, anyway: bool = False) -> None:
    """Check that sides and their baselines, as given or as set, are measured in the same way.

    Raises:
        UsageError: two are not, without `anyway`.
    """
    if anyway:
        return
    doubted = store.rows("SELECT side, baseline, basis FROM comparisons WHERE NOT is_comparable ORDER BY side")
    if doubted:
        side, other, basis = doubted[0]
        raise UsageError(
            f"{other} and {side} are measured in different ways ({basis}): their times cannot be compared. Profile "
            "both the same way, or add --anyway to show each in its own measure."
        )


def judge(store: Store, words: Sequence[str], *, baseline: str | None = None, anyway: bool = False) -> None:
    """Have budgets check these sides.

    Args:
        store: the lake.
        words: each a trace, a run or a filter, see `resolve`.
        baseline: what they are compared with; default: the baseline in their traces' settings, if any.
        anyway: compare even if the measurement methods differ.

    Raises:
        UsageError: a word matches nothing; the sides have different baselines; or they cannot be compared.
    """
    sides = _named(store, words)
    baseline = baseline or _own_baseline(store, sides)
    if baseline is None:
        store.renew(one for side in sides for one in side.traces)
        store.give("given_sides", [(side.name, one, 1) for side in sides for one in side.traces], alone=True)
        return
    first = traces_of(store, baseline)
    if same := [side.name for side in sides if {*side.traces} == {*first}]:
        raise UsageError(f"{same[0]} is its own baseline: give another one with --baseline.")
    # A side or a baseline without device work is not refused: budgets cannot judge it.
    _give(store, resolve(store, words, baseline=baseline))
    check_comparable(store, anyway=anyway)


def _own_baseline(store: Store, sides: Sequence[Side]) -> str | None:
    """Return the baseline in the settings of the sides' traces; None if none is set.

    Raises:
        UsageError: they have different ones, or a side has none and another has one.
    """
    set_ones = dict(store.rows("SELECT trace_id, value FROM tags WHERE key = 'baseline'"))
    own = {side.name: {set_ones[one] for one in side.traces if one in set_ones} for side in sides}
    names = sorted({name for of_side in own.values() for name in of_side})
    if len(names) > 1:
        raise UsageError(f"these traces were set several baselines ({', '.join(names)}): give one with --baseline.")
    if names and (without := [side for side, of_side in own.items() if not of_side]):
        raise UsageError(
            f"{', '.join(without)}: no baseline is set, but {names[0]} is for the others: give one with --baseline, or "
            "check them one by one."
        )
    return names[0] if names else None


def _named(store: Store, words: Sequence[str]) -> list[Side]:
    """Return the side that each word selects."""
    return [Side(name, traces_of(store, word)) for name, word in zip(_names(words), words, strict=True)]


def _names(words: Sequence[str]) -> list[str]:
    """Return the sides' names: for a path the file name; a repeated name gets its number appended."""
    names = [Path(word).name if names_input(word) else word for word in words]
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({nth + 1})" if nth else name for name, nth in zip(names, before, strict=True)]


def traces_of(store: Store, word: str) -> tuple[str, ...]:
    """Return the traces that a word selects: of path, name, id, run, filter and prefix, the first that it is.

    Raises:
        UsageError: it selects none.
        InputError: a file cannot be ingested.
    """
    if names_input(word):
        return (locate(store, word),)
    traces = store.rows("SELECT trace_id FROM traces WHERE $1 IN (trace, trace_id)", [readable(word)])
    runs = store.rows("SELECT trace_id FROM traces WHERE run = $1 ORDER BY 1", [readable(word)])
    if runs and len(traces) != 1:
        return tuple(one for (one,) in runs)
    if "=" in word and not traces:
        return _filtered(store, word)
    return (locate(store, word),)


def _filtered(store: Store, word: str) -> tuple[str, ...]:
    terms = [term.partition("=")[::2] for term in word.split()]
    if any(not key or not value for key, value in terms):
        raise UsageError(f"{word}: expected KEY=VALUE, as in hardware=h100_sxm; several with spaces between.")
    found: set[str] | None = None
    for key, value in terms:
        check_label(store, key)
        # Only * and ? are wildcards: GLOB has sets in brackets, and escapes, too.
        pattern = value.replace("\\", "\\\\").replace("[", "[[]")
        rows = store.rows("SELECT trace_id FROM trace_labels WHERE key = $1 AND value GLOB $2", [key, pattern])
        found = {one for (one,) in rows} if found is None else found & {one for (one,) in rows}
    if not found:
        rows = store.rows("SELECT DISTINCT value FROM trace_labels WHERE key = $1 ORDER BY value", [terms[-1][0]])
        values = ", ".join(value for (value,) in rows[:_MOST_NAMED])
        more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
        raise UsageError(f"{word}: no trace is so. Values of {terms[-1][0]}: {values}{more}.")
    return tuple(sorted(found))


def check_label(store: Store, key: str) -> None:
    """Check that some trace has an attribute.

    Raises:
        UsageError: none has it.
    """
    known = [label for (label,) in store.rows("SELECT DISTINCT key FROM trace_labels ORDER BY key")]
    if key not in known:
        near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
        of = f"Near: {', '.join(near)}" if near else f"Attributes: {', '.join(known)}"
        raise UsageError(f"{key}: no trace has it. {of}.")


def _split(store: Store, named: Sequence[Side], by: str) -> list[Side]:
    """Return a side per value of an attribute, of the traces of some sides or, if there are none, of the lake."""
    check_label(store, by)
    rows = store.rows(
        "SELECT value, trace_id FROM trace_labels WHERE key = $1 ORDER BY TRY_CAST(value AS DOUBLE), value, trace_id",
        [by],
    )
    # The traces of the first word come first.
    places = {one: place for place, side in reversed([*enumerate(named)]) for one in side.traces}
    sides: dict[str, list[str]] = {}
    for value, one in rows:
        if not named or one in places:
            sides.setdefault(value, []).append(one)
    found = [Side(name, tuple(ids)) for name, ids in sides.items()]
    return sorted(found, key=lambda side: min(places[one] for one in side.traces)) if named else found


def unlabelled(store: Store, words: Sequence[str], by: str | None) -> tuple[str, ...]:
    """Return as text which of the traces that words select, or of the lake, are in no side for lack of an attribute.

    Raises:
        UsageError: a word matches nothing, or no trace has the attribute.
    """
    if by is None:
        return ()
    check_label(store, by)
    wanted = {one for side in _named(store, words) for one in side.traces}
    return lacking(store, sorted(wanted) if words else None, by)


def lacking(store: Store, traces: Sequence[str] | None, by: str) -> tuple[str, ...]:
    """Return as text which of some traces, or of the lake, are left out for lack of an attribute."""
    rows = store.rows(
        "SELECT trace, trace_id IN (SELECT trace_id FROM trace_labels WHERE key = $1) FROM traces "
        "WHERE $2 IS NULL OR trace_id IN (SELECT unnest(CAST($2 AS VARCHAR[]))) ORDER BY trace, trace_id",
        [by, traces],
    )
    without = [trace for trace, has_it in rows if not has_it]
    if not without:
        return ()
    more = f" and {len(without) - _MOST_NAMED} more" if len(without) > _MOST_NAMED else ""
    listed = ", ".join(without[:_MOST_NAMED]) + more
    return (f"{len(without)} of {len(rows)} traces are left out, without {by}: {listed}",)
