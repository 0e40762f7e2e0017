"""A trace as a page: five lines, then timeline, layers, operations, roofline, idle time, collectives, findings.

The queries are in sql/summary; here rows become charts, tables and sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...analysis.passes import chosen_pass
from ..output.table import Table, cut, shown, text
from ..page import charts
from ..page.page import Card, Fold, Page, Section
from ..page.tables import objects, table
from ..summary import document
from ..summary.headline import duration, shortened
from . import layers
from .coverage import coverage
from .facts import facts

if TYPE_CHECKING:
    from ...engine.store import Store

    Row = dict[str, Any]

#: Maximum rows of a table, and bars of a timeline: this keeps a page under 3 MB.
_ROWS, _BARS = 50, 3000
#: Maximum characters of a fact: a command may be at its end.
_LONGEST_FACT = 300
#: Maximum number of bars of idle time.
_CAUSES = 12
#: Minimum share of a part in the icicle, percent.
_LEAST_PCT = 0.3
_LANES = ("compute", "communication", "memory", "idle")


def page(store: Store, trace_id: str, pass_id: int | None) -> Page:
    """Return a trace as a page.

    Args:
        store: the lake.
        trace_id: the trace.
        pass_id: the pass whose layers are shown; None if the trace has none.
    """
    found, opening = document.with_headline(store, trace_id)
    tables = _Tables(store, found)
    return Page(
        title=opening.trace, subtitle=f"Profile of a trace, {found['generated_by']}, {found['generated_at'][:10]}",
        opening=opening,
        sections=(
            *(_drawn(store, trace_id, pass_id, key, tables) for key in DRAWN), *_cores(store, trace_id),
            _findings(found), _trust(store, trace_id),
        ),
    )  # fmt: skip


#: The sections that have a chart, in the order of the page.
DRAWN = ("time", "layers", "parts", "roofline", "idle", "collectives")


def drawn_section(store: Store, trace_id: str, key: str) -> Section:
    """Return a section with only its chart: the folded tables would take longer.

    Args:
        store: the lake.
        trace_id: the trace.
        key: one of DRAWN.
    """
    return _drawn(store, trace_id, chosen_pass(store, trace_id), key, _NoTables(store, trace_id))


def _drawn(store: Store, trace_id: str, pass_id: int | None, key: str, tables: _Tables | _NoTables) -> Section:
    if key == "time":
        return _time_line(store, trace_id, tables)
    if key == "layers":
        return _layers(store, trace_id, pass_id)
    if key == "roofline":
        return _roofline(store, trace_id)
    if key == "collectives":
        return _collectives(store, trace_id, tables)
    return _parts(store, trace_id, tables) if key == "parts" else _idle(tables)


class _NoTables:
    """The rows of the profile summary, queried one table at a time, without folds."""

    def __init__(self, store: Store, trace_id: str) -> None:
        self._store, self._trace_id = store, trace_id

    def rows(self, key: str) -> list[Row]:
        """Return all rows of a table."""
        return document.section_rows(self._store, self._trace_id, key)

    def fold(self, key: str, title: str, relation: str = "") -> Fold:
        """Return an empty fold."""
        return Fold(Table((), (), title), relation or key)


class _Tables:
    """The tables of the profile summary, by their keys."""

    def __init__(self, store: Store, found: dict[str, Any]) -> None:
        self._found = found
        self._names = document.short_names(store, found)

    def rows(self, key: str) -> list[Row]:
        """Return all rows of a table."""
        rows: list[Row] = self._found[key]["rows"]
        return rows

    def fold(self, key: str, title: str, relation: str = "") -> Fold:
        """Return a foldable table."""
        table = document.section_table(self._found, key, _ROWS, self._names)
        return Fold(replace(table, title=title), relation or key)


def _findings(found: dict[str, Any]) -> Section:
    cards = tuple(
        Card(row["title"], tuple(_evidence(row)), row["severity"]) for row in found["findings"]["rows"]
    )  # fmt: skip
    return Section("findings", "What to do", "What stands out, with its evidence and what it is worth.", cards=cards)


def _evidence(row: Row) -> Iterator[str]:
    if row["gain_us"] is not None:
        yield f"At most {duration(row['gain_us'])} of device time to gain, {row['gain_pct']:.1f} %."
    yield cut(shortened(row["evidence"]), 400)
    yield from (f"Try: {suggestion}" for suggestion in row["suggestions"])


def _time_line(store: Store, trace_id: str, tables: _Tables | _NoTables) -> Section:
    rows = objects(
        store,
        "SELECT device, what, lane, rel_us, dur_us, label, category FROM timeline_spans WHERE trace_id = $trace_id "
        f"QUALIFY row_number() OVER (ORDER BY lane LIKE 'layers%' DESC, dur_us DESC) <= {_BARS} "
        "AND dense_rank() OVER (ORDER BY device) = 1 ORDER BY rel_us, lane",
        trace_id=trace_id,
    )
    fold = tables.fold("time_breakdown", "Where the time of all devices goes")
    if not rows:
        return Section("time", "Time line", "No device operation takes time.", folds=(fold,))
    device, what = rows[0]["device"], rows[0]["what"]
    held = {row["lane"] for row in rows}
    lanes = [*sorted(lane for lane in held if lane.startswith("layers")), *(lane for lane in _LANES if lane in held)]
    bars = [
        {**row, "label": cut(row["label"] or "", 90), "category": row["category"] or row["lane"].split()[0]}
        for row in ({key: row[key] for key in ("lane", "rel_us", "dur_us", "label", "category")} for row in rows)
    ]
    some = f" The {_BARS} longest bars are shown." if len(rows) == _BARS else ""
    see = (
        f"Device {device}, {what}: gaps between kernels are unused time. Hover for names, drag to move, "
        f"zoom with Ctrl and the wheel.{some}"
    )
    drawn = charts.time_line("time_line", f"Time line of {what}, device {device}", bars, lanes)
    return Section("time", "Time line", see, (drawn,), folds=(fold,))


def _layers(store: Store, trace_id: str, pass_id: int | None) -> Section:
    if pass_id is None:
        reason = (
            "No layers were found; `tracelake doctor` and `tracelake report -o report.md` say what would mark them."
        )
        return Section("layers", "Layers", reason)
    rows = objects(
        store,
        "SELECT device, layer_id, category_group, sum_us, layer_pct FROM layer_groups "
        f"WHERE trace_id = $trace_id AND pass_id = {pass_id} "
        "QUALIFY dense_rank() OVER (ORDER BY device) = 1 ORDER BY layer_id, category_group",
        trace_id=trace_id,
    )
    of = coverage(store, trace_id, pass_id)
    verdict = layers.verdict(store, trace_id, pass_id)
    see = " ".join(str(part) for part in (verdict, of) if part is not None)
    of_device = f"device {rows[0]['device']}: time of each group of kernels" if rows else "without kernels"
    strip = charts.layer_strip("layer_strip", f"Layers of pass {pass_id}, {of_device}", rows)
    types = layers.in_sql_names(layers.types_table(store, trace_id, pass_id))
    each = layers.layers_table(store, trace_id, pass_id)
    return Section("layers", "Layers", see, (strip,), folds=(Fold(types, "layer_types", is_open=True), Fold(each)))


def _parts(store: Store, trace_id: str, tables: _Tables | _NoTables) -> Section:
    rows = objects(
        store,
        "SELECT path, depth, kind, self_us, self_pct FROM nested_parts WHERE trace_id = $trace_id "
        f"AND self_pct >= {_LEAST_PCT} ORDER BY depth, self_us DESC, path",
        trace_id=trace_id,
    )
    folds = (
        tables.fold("regions", "Regions"), tables.fold("op_families", "Families of operations"),
        tables.fold("ops", "Operations"),
    )  # fmt: skip
    if not rows:
        return Section("parts", "Where the time goes", "No device operations.", folds=folds)
    shown = rows[:_ROWS]
    nested = table([row | {"path": " / ".join(row["path"])} for row in shown], tuple(rows[0]), "Parts in parts", (
        f"Own time of all devices' operations. The first {len(shown)} of {len(rows)} parts, by level."
    ))  # fmt: skip
    first = "the trace names no modules, so categories" if rows[0]["kind"] == "category" else "modules"
    see = (
        f"Each part stands below the one that it is in: {first}, then operators, then kernels. The widest path down is "
        "where to look. # counts, as in layers.3: the layers of a model are one."
    )
    drawn = charts.icicle("icicle", "Own time of all devices' operations", list(_placed(rows)))
    return Section("parts", "Where the time goes", see, (drawn,), folds=(Fold(nested, "nested_parts"), *folds))


def _placed(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield parts with their position, side by side within the whole, the longest first; rows: by level."""
    free: dict[tuple[str, ...], float] = {}
    for row in rows:
        path, pct = tuple(row["path"]), row["self_pct"]
        start = free.setdefault(path[:-1], 0.0)
        free[path[:-1]] = start + pct
        free[path] = start
        yield _part(row["depth"], start, pct, path[-1], " / ".join(path), row["self_us"])


def _part(depth: int, start: float, pct: float, name: str, path: str, us: float) -> Row:
    return {
        "depth": depth, "start_pct": round(start, 4), "end_pct": round(start + pct, 4), "pct": round(pct, 4),
        # Parts that differ only in their number have the same colour.
        "kind": re.sub(r"[_.]?\d+$", "", name), "label": cut(name, 60), "path": cut(path, 200),
        "us": us,
    }  # fmt: skip


def _roofline(store: Store, trace_id: str) -> Section:
    rows = objects(
        store,
        "SELECT * EXCLUDE (trace_id) FROM roofline_points WHERE trace_id = $trace_id "
        "ORDER BY sum_us DESC, display_name, m, n, k",
        trace_id=trace_id,
    )
    if not rows:
        [(trace, chip)] = store.rows("SELECT trace, hardware FROM traces WHERE trace_id = $1", [trace_id])
        why = "The work of the kernels is not known: the trace has no shapes of them. See `tracelake doctor`."
        if chip is None:
            why = f"The chip is not known, so there are no peaks: `tracelake set {trace} hardware=…` names it."
        return Section("roofline", "Roofline", why)
    points = [
        {**row, "display_name": cut(row["display_name"], 90), "shape": _shape(row)} for row in rows if row["peak_gbps"]
    ]
    columns = ("display_name", "category", "batch", "m", "n", "k", "bound", "calls", "sum_us", "intensity", "tflops",
               "roof_pct", "attainable_pct")  # fmt: skip
    see = "Points far below the roof could be faster: memory bounds those below the slope, arithmetic the others."
    drawn = (charts.roofline("roofline", "Kernels whose work is known, by time", points),) if points else ()
    return Section("roofline", "Roofline", see, drawn, folds=(
        Fold(table(rows[:_ROWS], columns, "Kernels under the roofline"), "roofline_points"),
    ))  # fmt: skip


def _shape(row: Row) -> str:
    sizes = [str(row[key]) for key in ("batch", "m", "n", "k") if row[key] is not None]
    return " x ".join(sizes) or "unknown"


def _idle(tables: _Tables | _NoTables) -> Section:
    rows = [row for row in tables.rows("idle_causes") if row["idle_us"]]
    folds = (
        tables.fold("idle_causes", "Causes"),
        tables.fold("gaps", "Operations that were waited for", "gap_payloads"),
    )
    if not rows:
        return Section(
            "idle", "Idle time", "The devices are never idle between their first operation and the last.", folds=folds
        )
    if all(row["host_activity"] is None for row in rows):
        return _waited_for(tables, folds)
    bars = [
        {
            "activity": cut(row["host_activity"] or "host not shown", 60),
            "cause": row["cause"],
            "idle_us": row["idle_us"],
        }
        for row in rows[:_CAUSES]
    ]
    some = f" The {_CAUSES} longest of {len(rows)}." if len(rows) > _CAUSES else ""
    see = f"What the host did while the devices waited; the colour is what they waited for.{some}"
    drawn = charts.bars("idle_causes", "Idle time by what the host did", bars, "activity", "idle_us", "cause", "µs")
    return Section("idle", "Idle time", see, (drawn,), folds=folds)


def _waited_for(tables: _Tables | _NoTables, folds: tuple[Fold, ...]) -> Section:
    """Return idle time by the operation that ended it: the trace does not show the host's activity."""
    rows = tables.rows("gaps")
    bars = [
        {"operation": cut(row["marker_name"], 60), "before": "operation", "idle_us": row["sum_us"]}
        for row in rows[:_CAUSES]
    ]
    some = f" The {_CAUSES} longest of {len(rows)}." if len(rows) > _CAUSES else ""
    see = f"The trace does not show the host, so idle time stands by the operation that the device waited for.{some}"
    drawn = charts.bars("idle_before", "Idle time before each operation", bars, "operation", "idle_us", "before", "µs")
    return Section("idle", "Idle time", see, (drawn,) if bars else (), folds=folds)


def _collectives(store: Store, trace_id: str, tables: _Tables | _NoTables) -> Section:
    folds = (
        tables.fold("collectives", "Kinds of collectives", "collective_kinds"),
        tables.fold("stragglers", "Who comes last"),
    )
    kinds = tables.rows("collectives")
    if not kinds:
        return Section("collectives", "Collectives", "No collectives ran.", folds=folds)
    rows = objects(
        store,
        "SELECT kind, bytes, bus_gbps, dur_us FROM collectives WHERE trace_id = $trace_id AND bytes > 0 "
        f"AND bus_gbps IS NOT NULL ORDER BY dur_us DESC LIMIT {_BARS}",
        trace_id=trace_id,
    )
    shares = [
        {"kind": " ".join(filter(None, (row["kind"], row["process_group"]))), "part": part, "us": row[f"{part}_us"]}
        for row in kinds[:_CAUSES] for part in ("exposed", "hidden")
    ]  # fmt: skip
    colours = {"exposed": "#a4569a", "hidden": "#7f8a95"}
    drawn = [charts.bars("exposed", "Time of each kind, all devices", shares, "kind", "us", "part", "µs", colours)]
    see = "Exposed: the device does nothing but communicate; hidden: it computes meanwhile."
    if rows:
        drawn.append(charts.collectives("collectives", "Each call: its size and its bus bandwidth", rows))
        see += " Small calls are bound by latency; large ones that stay low wait for others, or share the links."
    else:
        see += " Sizes of the calls are not known, so there are no bandwidths."
    return Section("collectives", "Collectives", see, tuple(drawn), folds=folds)


def _cores(store: Store, trace_id: str) -> Iterator[Section]:
    """Yield sections on the counters of an NPU's cores; nothing for other traces."""
    rows = objects(store, "SELECT * EXCLUDE (trace_id) FROM core_use WHERE trace_id = $trace_id ORDER BY sum_us DESC, "
        "op_type, core", trace_id=trace_id)  # fmt: skip
    if not rows:
        return
    drawn = charts.bars("cores", "Time by type of operation", rows[:_CAUSES], "op_type", "sum_us", "core", "µs")
    see = (
        "What cubes and vector units do during each type of operation, by the counters of the chip: a long bar whose "
        "units seldom work waits for memory, or is too small for the chip."
    )
    held = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    found = table(rows[:_ROWS], held, "Use of the cores", "Times in µs, shares in %.")
    yield Section("cores", "Cores", see, (drawn,), folds=(Fold(found, "core_use", is_open=True),))


def _trust(store: Store, trace_id: str) -> Section:
    checks = objects(
        store,
        'SELECT severity, "check", value, unit, message FROM health WHERE trace_id = $trace_id '
        "ORDER BY list_position(['error', 'warning', 'info', 'ok'], severity), \"check\"",
        trace_id=trace_id,
    )
    about = Table((text("what"), text("value")), tuple(facts(store, trace_id)), "The trace and its settings")
    # Values with different units need no decimal alignment.
    checks = [row | {"value": shown(row["value"])} for row in checks]
    found = table(checks, ("severity", "check", "value", "unit", "message"), "Checks")
    see = "What the trace is, where each fact is from, and which questions it cannot answer."
    return Section(
        "trust",
        "Provenance and trust",
        see,
        folds=(
            Fold(about, is_open=True, longest_cell=_LONGEST_FACT),
            Fold(found, "health", longest_cell=_LONGEST_FACT),
        ),
    )
