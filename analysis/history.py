"""A metric over the runs of a lake, and the runs where its level shifts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from ..engine.errors import TracelakeError, UsageError
from ..engine.sql import modules
from ..engine.sql.modules import quoted
from ..ingest.inputs import names_input
from . import shifts
from .shifts import Shift
from .sides import Side, check_label, lacking, traces_of

if TYPE_CHECKING:
    import duckdb

    from ..engine.store import Store

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE")

#: Standard deviations from which a point of a level is an outlier, and how many of its median absolute deviations one
#: is, for normal noise.
_FAR, _DEVIATION = 5, 1.4826


@dataclass(frozen=True)
class History:
    """A metric over time.

    Attributes:
        rows: a row per run in time order: metric, run, recorded_at, source, traces, value, low, high, level
            (median of the runs up to the next shift), and for a level's first run shift_pct with its 95 % interval,
            shift_low_pct and shift_high_pct, and verdict.
        shifts: the shifts, as indexes into these rows.
        verdicts: a sentence for each, or why none can be determined; and one for outliers beside shifts.
        pairs: for each shift the last run before and the first run after it.
        sides: for each shift the words that select these two as sides of a comparison; empty if no word does.
        levels: for each shift the traces of the level before and of the level after, as sides of a comparison; without
            outliers, which change a mean, and not the medians that a shift is between.
        metric: the metric.
        unit: its unit; empty for a column of a relation.
        doubts: why the points may not belong to one program, as text.
        left_out: which traces with a value belong to no point, as text.
    """

    rows: duckdb.DuckDBPyRelation
    shifts: tuple[Shift, ...]
    verdicts: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    sides: tuple[tuple[str, str], ...]
    levels: tuple[tuple[Side, Side], ...]
    metric: str
    unit: str
    doubts: tuple[str, ...]
    left_out: tuple[str, ...]


def history(store: Store, metric: str, by: str = "run", where: str | None = None) -> History:
    """Return a metric over time, and where its level shifts.

    Args:
        store: the lake.
        metric: a metric of the table history_metrics, or a column of a relation with traces, as in
            time_breakdown.idle_pct: the median of a trace's rows.
        by: an attribute of `trace_labels` that the traces of a point share: run, model, commit; trace for
            each alone. A trace without a run is a point of its own, without another attribute it is left out.
        where: a SQL condition on the columns of traces.

    Raises:
        UsageError: the metric or the condition is invalid, no trace has it or the attribute, or ruptures is not
            installed.
    """
    # A lake of traces without runs still has a history.
    if by != "run":
        check_label(store, by)
    measured, unit, words = _measured(store, metric)
    traces, ids = "NULL", None
    if where is not None:
        ids = _fitting(store, where)
        if not ids:
            raise UsageError(f"--where {where}: no trace fits. `tracelake schema traces` lists the columns.")
        traces = f"[{', '.join(map(quoted, ids))}]"
    store.prepare("history_points")
    measures = measured.query(
        "measured", f"SELECT * FROM history_points(measured, {quoted(by)}, {traces}) ORDER BY recorded_at, run"
    )
    assert measures is not None  # a SELECT has an answer
    names = measures.columns
    rows = [dict(zip(names, row, strict=True)) for row in measures.fetchall()]
    valued = _valued(measured, ids)
    points = _points(store, by)
    left_out = lacking(store, sorted(valued), by) if valued - set(points) else ()
    if not rows:
        raise UsageError("; ".join([f"{metric}: no trace has a value of it", *left_out]) + ".")
    found = tuple(shifts.find([row["value"] for row in rows]))
    _add_levels(rows, found, words)
    bounds = list(pairwise([0, *(one.start for one in found), len(rows)]))
    outliers = {row["run"] for begin, end in bounds for row in _outliers(rows[begin:end]) if found}
    pairs = tuple((rows[one.start - 1]["run"], rows[one.start]["run"]) for one in found)
    return History(
        rows=_relation(store, rows),
        shifts=found,
        verdicts=(*_verdicts(rows, found, unit), *_left_out(rows, outliers)),
        pairs=pairs,
        sides=tuple((_side(store, by, points, before), _side(store, by, points, after)) for before, after in pairs),
        levels=tuple(_levels(points, ids, [row["run"] for row in rows], bounds, outliers)),
        metric=metric,
        unit=unit,
        doubts=_doubts(store, by, valued),
        left_out=left_out,
    )


def _valued(measured: duckdb.DuckDBPyRelation, ids: Sequence[str] | None) -> set[str]:
    """Return the traces that have a value, of the given ones or, without any given, of all."""
    valued = {one for (one,) in measured.filter("value IS NOT NULL").select("trace_id").fetchall()}
    return valued if ids is None else valued.intersection(ids)


def _doubts(store: Store, by: str, valued: Set[str]) -> tuple[str, ...]:
    """Return why the traces with a value may belong to several programs."""
    traces = ", ".join(map(quoted, sorted(valued)))
    found = store.rows(f"SELECT question, message FROM history_doubts({quoted(by)}, [{traces}])")
    return tuple(f"{question}: {message}" for question, message in found)


def _measured(store: Store, metric: str) -> tuple[duckdb.DuckDBPyRelation, str, tuple[str, str]]:
    """Return a metric's values by trace, its unit, and the words for its rise and its fall."""
    known = store.rows("SELECT metric, unit, rise, fall FROM history_metrics ORDER BY metric")
    for name, unit, rise, fall in known:
        if name == metric:
            query = f"SELECT trace_id, metric, value FROM trace_metrics WHERE metric = {quoted(metric)}"
            return store.sql(query), unit, (rise, fall)
    relation, dot, column = metric.partition(".")
    entry = modules.module(relation)
    if not dot or entry is None or not entry.public or entry.kind != "VIEW":
        raise UsageError(
            f"{metric}: no such metric. Known: {', '.join(name for name, *_ in known)}; "
            "or a column of a relation, as in time_breakdown.idle_pct."
        )
    types = {one.name: one.type for one in entry.columns}
    if "trace_id" not in types or types.get(column) not in _NUMBERS:
        numbers = [name for name, kind in types.items() if kind in _NUMBERS] if "trace_id" in types else []
        raise UsageError(
            f"{metric}: {relation} has no number {column} of a trace. Numbers: {', '.join(numbers) or 'none'}."
        )
    query = f'SELECT trace_id, {quoted(metric)} AS metric, CAST("{column}" AS DOUBLE) AS value FROM {relation}'
    return store.sql(query), "", ("higher", "lower")


def _add_levels(rows: list[dict[str, Any]], found: Sequence[Shift], words: tuple[str, str]) -> None:
    """Add its level to each row, and to the first row of a level the shift."""
    starts = [0, *(one.start for one in found), len(rows)]
    for begin, end in pairwise(starts):
        level = median(row["value"] for row in rows[begin:end])
        for row in rows[begin:end]:
            row |= {"level": level, "shift_pct": None, "shift_low_pct": None, "shift_high_pct": None, "verdict": None}
    for one in found:
        rows[one.start]["verdict"] = words[one.after < one.before]
        if one.before:
            scale = 100 / abs(one.before)
            rows[one.start] |= {
                "shift_pct": scale * (one.after - one.before),
                "shift_low_pct": scale * one.low,
                "shift_high_pct": scale * one.high,
            }


def _outliers(level: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a level that are far from its median; none of a level too short to show its spread."""
    if len(level) < shifts.FEWEST:
        return []
    middle = median(row["value"] for row in level)
    spread = _DEVIATION * median(abs(row["value"] - middle) for row in level)
    return [row for row in level if abs(row["value"] - middle) > _FAR * spread > 0]


def _left_out(rows: Sequence[dict[str, Any]], outliers: Set[str]) -> Iterator[str]:
    named = ", ".join(row["run"] for row in rows if row["run"] in outliers)
    if named:
        yield f"far from their level, left out where levels are compared: {named}."


def _points(store: Store, by: str) -> dict[str, str]:
    """Return the point of each trace that belongs to one."""
    return dict(store.rows(f"SELECT trace_id, run FROM _history_members({quoted(by)}, NULL)"))


def _side(store: Store, by: str, points: Mapping[str, str], run: str) -> str:
    """Return what to pass to `compare` for the traces of a point; an empty text if nothing selects exactly these."""
    traces = tuple(sorted(one for one, point in points.items() if point == run))
    for word in (f"{by}={run}" if by != "trace" else run, run, *traces):
        # A trace name may also be a file name; the file must not be read.
        if not names_input(word):
            with contextlib.suppress(TracelakeError):
                if traces_of(store, word) == traces:
                    return word
    return ""


def _levels(
    points: Mapping[str, str],
    ids: Sequence[str] | None,
    runs: Sequence[str],
    bounds: Sequence[tuple[int, int]],
    outliers: Set[str],
) -> Iterator[tuple[Side, Side]]:
    """Yield for each shift the traces of the levels before and after it."""
    sides = [
        Side(
            runs[begin] if end - begin == 1 else f"{runs[begin]} to {runs[end - 1]}",
            tuple(
                sorted(
                    one
                    for one, run in points.items()
                    if run in runs[begin:end] and run not in outliers and (not ids or one in ids)
                )
            ),
        )
        for begin, end in bounds
    ]
    yield from pairwise(sides)


def _verdicts(rows: Sequence[dict[str, Any]], found: Sequence[Shift], unit: str) -> tuple[str, ...]:
    if len(rows) < shifts.FEWEST:
        points = f"{len(rows)} point{'s' if len(rows) != 1 else ''}"
        return (f"cannot tell: {points}, and a shift shows in {shifts.FEWEST} or more.",)
    if not found:
        return (f"no shift in {len(rows)} points.",)
    return tuple(_sentence(rows[one.start], one, unit) for one in found)


def _sentence(row: dict[str, Any], one: Shift, unit: str) -> str:
    sizes = ""
    if row["shift_pct"] is not None:
        low, high = row["shift_low_pct"], row["shift_high_pct"]
        sizes = f" ({row['shift_pct']:+.1f} %, 95 % interval {low:+.1f} to {high:+.1f} %)"
    levels = f"from {one.before:.4g} to {one.after:.4g} {unit}".rstrip()
    return f"{row['verdict']} from {row['run']} on: {levels}{sizes}."


def _relation(store: Store, rows: list[dict[str, Any]]) -> duckdb.DuckDBPyRelation:
    """Return rows as a relation of the lake's connection."""
    import pyarrow as pa

    numbers = ["value", "low", "high", "level", "shift_pct", "shift_low_pct", "shift_high_pct"]
    schema = pa.schema(
        [("metric", pa.string()), ("run", pa.string()), ("recorded_at", pa.timestamp("us")), ("source", pa.string()),
         ("traces", pa.int64()), *((name, pa.float64()) for name in numbers), ("verdict", pa.string())]
    )  # fmt: skip
    return store.prepare("").from_arrow(pa.Table.from_pylist(rows, schema))


def _fitting(store: Store, where: str) -> list[str]:
    """Return the ids of the traces that a condition holds for.

    Raises:
        UsageError: it is no condition on the columns of traces.
    """
    import duckdb

    try:
        return [trace_id for (trace_id,) in store.sql(f"SELECT trace_id FROM traces WHERE {where}").fetchall()]
    except (UsageError, duckdb.BinderException, duckdb.ParserException) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"--where {where}: {reason}\n  --where is SQL on the columns of traces, with text in quotes, as in "
            "\"hardware = 'h100_sxm'\"."
        ) from None
