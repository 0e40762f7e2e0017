"""A report on one trace: always the same nine parts in the same order. Unknown values have their reason."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

from ...analysis.passes import pass_to_show
from ...analysis.traces import locate
from ...engine.text import json_text, markdown, markdown_prose
from ..model.architecture import described, distribution, kinds
from ..output.files import check_target, checked_suffix, write_text
from ..output.render import plain, to_text
from ..output.table import Column, Table, text, which
from . import layers
from .coverage import coverage
from .facts import facts

if TYPE_CHECKING:
    from ...engine.store import Store

TITLES = (
    "Trace", "Model", "Passes", "Chosen pass", "Layers", "Types of layers", "Compute flow", "Perfetto ranges",
    "Conclusion",
)  # fmt: skip
#: Maximum rows of the table of passes; a decode trace has thousands.
MOST_PASSES = 50
_REASONS = {
    "steady": "the first whose span is within 5 % of the pass before it and of the median of all",
    "single-pass": "the only complete one",
    "partial": "no pass is complete; this one has most layers",
}


@dataclass(frozen=True)
class Part:
    """One part: lines of text, then tables."""

    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Report:
    """The parts of a report, and its trace."""

    trace: str
    trace_id: str
    parts: tuple[Part, ...]


def report(store: Store, trace: str, output: str | os.PathLike[str] | None, pass_id: SupportsIndex | None) -> str:
    """Return a report on a trace: Markdown, or HTML or JSON by the suffix of the file, to which it is written.

    Args:
        store: the lake.
        trace: the trace.
        output: the file, .html, .md or .json.
        pass_id: the pass to detail; default: the chosen one.

    Raises:
        UsageError: the file's suffix is not supported, or the trace has no such pass.
        InputError: the file cannot be written.
    """
    suffix = checked_suffix(output, "a report", {".html": "a page", ".md": "Markdown", ".json": "JSON"})
    if output is not None:
        check_target(output)
    trace_id = locate(store, trace)
    one = pass_to_show(store, trace_id, pass_id)
    text = as_page(store, trace_id, one) if suffix == ".html" else as_text(build(store, trace_id, one), suffix)
    if output is not None:
        write_text(output, text)
    return text


def as_page(store: Store, trace_id: str, pass_id: int | None) -> str:
    """Return a report on a trace as HTML; see `build`."""
    # Imported here, since a page needs charts.
    from ..page.page import as_html
    from .page import page

    return as_html(page(store, trace_id, pass_id))


def build(store: Store, trace_id: str, pass_id: int | None) -> Report:
    """Collect the facts about a trace.

    Args:
        store: the lake.
        trace_id: the trace.
        pass_id: the pass to detail; None if the trace has none.
    """
    [(trace,)] = store.rows("SELECT trace FROM traces WHERE trace_id = $1", [trace_id])
    found = [_trace_part(store, trace_id), _model_part(store, trace_id, pass_id)]
    if pass_id is None:
        found += _without_passes(store, trace_id)
    else:
        found += [
            _passes_part(store, trace_id, pass_id), _chosen_part(store, trace_id, pass_id),
            Part(TITLES[4], tables=(layers.layers_table(store, trace_id, pass_id),)),
            _types_part(store, trace_id, pass_id), _flow_part(store, trace_id, pass_id),
            _perfetto_part(store, trace_id, pass_id),
            Part(TITLES[8], (str(layers.verdict(store, trace_id, pass_id)),)),
        ]  # fmt: skip
    return Report(trace, trace_id, tuple(found))


def as_text(report: Report, suffix: str) -> str:
    """Return a report as Markdown (.md) or JSON (.json)."""
    return _as_json(report) if suffix == ".json" else "\n".join(_as_markdown(report))


def _as_json(report: Report) -> str:
    parts = [
        {
            "number": number, "title": part.title, "lines": list(part.lines),
            "tables": [
                {"title": table.title, "unit": table.unit, "rows": plain(table.objects())} for table in part.tables
            ],
        }
        for number, part in enumerate(report.parts, 1)
    ]  # fmt: skip
    whole = {"trace": report.trace, "trace_id": report.trace_id, "parts": parts}
    return json_text(json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def _as_markdown(report: Report) -> Iterator[str]:
    yield f"# {markdown(report.trace)}\n"
    for number, part in enumerate(report.parts, 1):
        yield f"## {number}. {part.title}\n"
        yield from (f"{markdown_prose(line)}\n" for line in part.lines)
        for table in part.tables:
            if table.title and table.title != part.title:
                yield f"### {markdown_prose(table.title)}\n"
            yield to_text(Table(table.columns, table.rows), "markdown")
            if table.unit:
                yield f"{table.unit}\n"


def _trace_part(store: Store, trace_id: str) -> Part:
    noteworthy = store.rows(
        'SELECT severity, "check", value, unit, message FROM _noteworthy WHERE trace_id = $1 ORDER BY place, "check"',
        [trace_id],
    )
    tables = [_pairs_table(facts(store, trace_id), "")]
    if noteworthy:
        columns = (text("severity"), text("check"), Column("value"), text("unit"), text("message"))
        tables.append(Table(columns, tuple(noteworthy), "Noteworthy", "value: in the unit beside it."))
    return Part(TITLES[0], tables=tuple(tables))


def _model_part(store: Store, trace_id: str, pass_id: int | None) -> Part:
    lines = described(store, trace_id)
    if not lines:
        unknown = (
            "Unknown: no config.json was given. `tracelake set TRACE model=config.json` sets one; a name "
            "from `tracelake model list` works, too."
        )
        return Part(TITLES[1], (unknown,))
    types = "" if pass_id is None else distribution(store, trace_id, pass_id)
    if not types:
        by_dimensions = kinds(store, trace_id)
        types = f"{by_dimensions}, by its dimensions" if by_dimensions else "unknown: the config has no types"
    return Part(TITLES[1], tables=(_pairs_table([*lines, ("Layer types", types)], "? is missing in the config."),))


def _pairs_table(pairs: list[tuple[str, str]], unit: str) -> Table:
    return Table((text("what"), text("value")), tuple(pairs), unit=unit)


def _passes_part(store: Store, trace_id: str, pass_id: int) -> Part:
    found = store.rows(
        """
        SELECT device, pass_id, series, direction, stage, start_s, end_s, span_us / 1e3, avg_layer_us / 1e3,
            first_layer_us / 1e3, layer_count, complete, note, chosen, coverage_pct
        FROM _pass_pages
        WHERE trace_id = $1
        ORDER BY rank, device, pass_id
        """,
        [trace_id],
    )
    covered = coverage(store, trace_id)
    lines = [] if covered is None else [str(covered)]
    for note, words in (("cold", "Cold"), ("growing", "Still growing"), ("steady", "Steady")):
        if numbers := sorted({row[1] for row in found if row[12] == note}):
            lines.append(f"{words}: {which(numbers)}.")
    shown = found[:MOST_PASSES] + [row for row in found[MOST_PASSES:] if row[1] == pass_id]
    if len(shown) < len(found):
        lines.append(f"{len(shown)} of {len(found)} passes; `tracelake passes TRACE` lists all.")
    columns: tuple[Column, ...] = (
        Column("device"), Column("pass"), text("series"), text("direction"), text("stage"), Column("start_s", 6),
        Column("end_s", 6), Column("span_ms", 3), Column("avg_layer_ms", 3), Column("first_layer_ms", 3),
        Column("layers"), text("complete"), text("note"), text("chosen"), Column("coverage_pct", 1),
    )  # fmt: skip
    if len({row[3] for row in found}) < 2:
        columns, shown = columns[:3] + columns[4:], [row[:3] + row[4:] for row in shown]
    unit = "start and end in s from the trace's first event, the rest in ms; avg_layer_ms: span / layers."
    return Part(TITLES[2], tuple(lines), (Table(columns, tuple(shown), unit=unit),))


def _chosen_part(store: Store, trace_id: str, pass_id: int) -> Part:
    [(chosen, note, source, among)] = store.rows(
        "SELECT bool_or(chosen), arg_min(note, device), arg_min(pass_source, device), arg_min(among, device) "
        "FROM _pass_pages WHERE trace_id = $1 AND pass_id = $2",
        [trace_id, pass_id],
    )
    reason = _REASONS.get(note, "no pass is steady; this one is nearest to the median") if chosen else "given"
    if chosen and among:
        reason = f"of {among}, {reason}"
    of = coverage(store, trace_id, pass_id)
    lines = (f"Pass {pass_id}: {reason}. Passes were found by: {source}.", *(() if of is None else (str(of),)))
    return Part(TITLES[3], tuple(reversed(lines)) if of is not None and of.is_low else lines)


def _types_part(store: Store, trace_id: str, pass_id: int) -> Part:
    by_dimensions = kinds(store, trace_id)
    table = layers.types_table(
        store, trace_id, pass_id, f"its model has {by_dimensions}" if by_dimensions else "no config has their types"
    )
    return Part(TITLES[5], (str(layers.verdict(store, trace_id, pass_id)),), (table,))


def _flow_part(store: Store, trace_id: str, pass_id: int) -> Part:
    chosen = layers.representatives(store, trace_id, pass_id)
    tables = [table for layer in chosen if (table := layers.flow_table(store, trace_id, pass_id, layer))]
    return Part(TITLES[6], tables=tuple(tables))


def _perfetto_part(store: Store, trace_id: str, pass_id: int) -> Part:
    found = store.rows(
        """
        SELECT device, range, layer_id, layer_type, start_s, end_s, start_ms, wall_ms, start_ns FROM perfetto_ranges
        WHERE trace_id = $1 AND pass_id = $2 ORDER BY rank, device, range <> 'pass', start_ns
        """,
        [trace_id, pass_id],
    )
    columns = (
        Column("device"), text("range"), Column("layer"), text("type"), Column("start_s", 6), Column("end_s", 6),
        Column("start_ms", 3), Column("wall_ms", 3), Column("start_ns"),
    )  # fmt: skip
    unit = "s and ms on Perfetto's clock, which starts at the trace's first event; start_ns on the file's own."
    return Part(TITLES[7], tables=(Table(columns, tuple(found), unit=unit),))


def _without_passes(store: Store, trace_id: str) -> Iterator[Part]:
    found = store.rows(
        "SELECT occurrences, role, num_layers, remainder, score, pattern FROM anchor_candidates WHERE trace_id = $1 "
        "ORDER BY rank, device, score DESC, occurrences DESC, pattern LIMIT 5",
        [trace_id],
    )
    candidates = Table(
        (Column("calls"), text("role"), Column("num_layers"), Column("remainder"), Column("score", 2), text("pattern")),
        tuple(found),
        "Candidates for the anchor",
        "calls: how often such kernels run; remainder: calls that whole passes leave over; score: 0 to 1.",
    )
    yield Part(
        TITLES[2],
        ("Unknown: no anchor kernel marks the layers. `tracelake set TRACE anchor=REGEX num_layers=N` sets one.",),
        (candidates,) if found else (),
    )
    yield Part(TITLES[3], ("Unknown: there are no passes to choose from.",))
    for title in TITLES[4:8]:
        yield Part(title, ("Unknown: without passes there are no layers.",))
    yield Part(TITLES[8], ("Unknown: without layers there is no bottleneck to find.",))
