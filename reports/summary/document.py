"""The profile summary of a trace: where its time goes, as one object and as a page, with what to look at next.

Every section states the single basis of its figures. Times are µs, shares are percent of the stated whole.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

from ...analysis.traces import locate
from ...engine.errors import UsageError
from ...engine.text import json_text, markdown, markdown_prose, printable
from ...version import __version__
from ..export.held import computed_once
from ..output.render import plain, to_text, write_table
from ..output.screen import Screen, painted
from ..output.table import Column, Table, cut, text
from .headline import Alarm, Headline, alarms, headline, write_headline
from .sections import SECTIONS, Section

if TYPE_CHECKING:
    from ...engine.store import Store

#: Maximum characters of an operation's name on a page; JSON has full names.
_LONGEST = 100
#: Columns with the name of an operation, with several names, and with a path whose last part may be one.
_NAMES = frozenset(("op", "example", "payload_name", "marker_name"))
_LISTS = frozenset(("payloads",))
_PATHS = frozenset(("path", "region"))
#: What health, findings and the collectives of all ranks share: half of the planning.
_SHARED = ("_collective_matches", "_finding_values")
SCHEMA = "tracelake.profile_summary.v1"
_METADATA = (
    "trace_id", "trace", "run", "rank", "world_size", "format", "device_name", "hardware", "model", "tp", "ep", "dp",
    "pp",
)  # fmt: skip


def summary(store: Store, trace: str, format: str, top: int) -> str:
    """Return where the time of a trace goes, section by section, and what to look at next.

    Args:
        store: the lake.
        trace: the trace.
        format: md for a page, json for one object with all rows.
        top: rows shown of long tables of a page; 0 for all. Long names are cut on a page.

    Raises:
        UsageError: the format is neither.
    """
    check_format(format)
    trace_id = locate(store, trace)
    if format == "json":
        with computed_once(store, (), _SHARED):
            return as_json(build(store, trace_id))
    found, opening = with_headline(store, trace_id)
    return as_markdown(found, top, short_names(store, found), opening)


def write_summary(store: Store, trace: str, top: int, out: IO[str], screen: Screen) -> None:
    """Write the summary of a trace for a terminal: the five lines, then the tables of the page.

    Args:
        store: the lake.
        trace: the trace.
        top: rows shown of long tables; 0 for all.
        out: the terminal.
        screen: the terminal's properties.
    """
    found, opening = with_headline(store, locate(store, trace))
    write_headline(opening, out, screen)
    shorten = _Shorten(short_names(store, found))
    for section in SECTIONS:
        rows = _telling(section.key, found[section.key]["rows"])
        if section.title:
            out.write("\n" + painted(section.title, "bold", screen) + "\n")
        if not rows:
            out.writelines(f"{line}\n" for line in [section.nothing] if line)
        elif section.is_text:
            out.writelines(_wrapped(line, screen) for row in rows for line in _finding(row))
        else:
            table, some = _table(section, rows, top, shorten)
            out.write("\n" if section.subtitle else "")
            write_table(replace(table, title=section.subtitle), "table", out, screen)
            out.write(_wrapped(found[section.key]["basis"] + some, screen))


def _telling(key: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the informative rows of a summary: not a single class, or steps that all count."""
    if key == "step_classes":
        return rows if any(row["step_class"] != "typical" for row in rows) else []
    if key == "step_time":
        steady = [row | {"scope": "all"} for row in rows if row["scope"] == "steady"]
        return [row for row in rows if row not in steady]
    return rows


def _wrapped(line: str, screen: Screen) -> str:
    text = printable(line.removeprefix("### "))
    if screen.width is None:
        return text + "\n"
    return textwrap.fill(text, screen.width - 1, subsequent_indent="  " if text.startswith("- ") else "") + "\n"


def check_format(format: str) -> None:
    """Check the format of a summary.

    Raises:
        UsageError: it is neither md nor json.
    """
    if format not in ("md", "json"):
        raise UsageError(f"format={format}: a summary is Markdown (md) or JSON (json).")


def with_headline(store: Store, trace_id: str) -> tuple[dict[str, Any], Headline]:
    """Return the summary of a trace as `build` does, and its headline."""
    with computed_once(store, (), _SHARED):
        found = alarms_of(store, trace_id)
        return build(store, trace_id, found), headline(store, trace_id, found)


def build(store: Store, trace_id: str, found: Sequence[Alarm] | None = None) -> dict[str, Any]:
    """Return the summary of a trace as one object, `tracelake.profile_summary.v1`.

    Its schema is published in `reports/summary/tracelake.profile_summary.v1.json`, with the keys that `as_json`
    writes. Lists are complete; a page truncates them.

    Args:
        store: the lake.
        trace_id: the trace.
        found: its alarms, if known.
    """
    facts = _facts(store, trace_id)
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "generated_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "generated_by": f"tracelake {__version__}",
        "units": {"_us": "microseconds", "_pct": "percent of the section's basis", "_bytes": "bytes", "_gbps": "GB/s"},
        "trace": {key: facts[key] for key in _METADATA},
        "provenance": {
            "source_path": facts["source_path"],
            "source_sha256": facts["source_sha256"],
            "content_xxh3": facts["content_xxh3"],
            "execution_ids": _execution_ids(store, trace_id),
        },
        "overview": _overview(store, trace_id, facts, alarms_of(store, trace_id) if found is None else found),
    }
    for one in SECTIONS:
        summary[one.key] = _section(store, trace_id, one, facts)
    return summary


def section(store: Store, trace_id: str, key: str) -> dict[str, Any]:
    """Return one section of the summary of a trace: its basis and its rows."""
    [one] = (one for one in SECTIONS if one.key == key)
    return _section(store, trace_id, one, _facts(store, trace_id))


def section_rows(store: Store, trace_id: str, key: str) -> list[dict[str, Any]]:
    """Return all rows of one section of a summary."""
    [one] = (one for one in SECTIONS if one.key == key)
    return _objects(store, one.query, trace_id)


def _section(store: Store, trace_id: str, one: Section, facts: dict[str, Any]) -> dict[str, Any]:
    return {"basis": one.basis.format(**_whole(facts)), "rows": _objects(store, one.query, trace_id)}


def _facts(store: Store, trace_id: str) -> dict[str, Any]:
    return _objects(store, "SELECT * FROM _summary_facts WHERE trace_id = $1", trace_id)[0]


def as_json(summary: dict[str, Any]) -> str:
    """Return a summary as JSON text; its keys stay those of v1 where a column was renamed."""
    summary = summary | {
        one.key: summary[one.key]
        | {"rows": [{one.v1.get(key, key): value for key, value in row.items()} for row in summary[one.key]["rows"]]}
        for one in SECTIONS if one.v1
    }  # fmt: skip
    return json_text(json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def as_markdown(
    summary: dict[str, Any], top: int = 10, names: Mapping[str, str] | None = None, opening: Headline | None = None
) -> str:
    """Return a summary as a page.

    Args:
        summary: the result of `build`.
        top: rows shown of a table that may be long; 0 for all.
        names: how long names of operations are shown, from `short_names`; default: unchanged.
        opening: the headline of the page.
    """
    return "\n".join(_page(summary, top, names or {}, opening)) + "\n"


def short_names(store: Store, summary: dict[str, Any]) -> dict[str, str]:
    """Return the names of operations in a summary that are too long to read, each with its short form for a page."""
    named = {
        row[column] for section in SECTIONS for row in summary[section.key]["rows"] for column in _NAMES & row.keys()
        if row[column] is not None
    }  # fmt: skip
    shown = store.rows("SELECT name, _display_name(name) FROM (SELECT unnest($1) AS name)", [sorted(named)])
    return {name: short for name, display in shown if (short := cut(display, _LONGEST)) != name}


def _page(summary: dict[str, Any], top: int, names: Mapping[str, str], opening: Headline | None) -> Iterator[str]:
    yield f"# Profile summary: {markdown(summary['trace']['trace'])} (`{summary['schema']}`)\n"
    if opening is not None:
        yield from (f"- **{label}**: {markdown(line)}" for label, line in opening.lines())
        yield ""
    yield from _facts_part("Run Metadata", summary["trace"] | {"generated_at": summary["generated_at"]})
    provenance = summary["provenance"]
    shown = ", ".join(map(str, provenance["execution_ids"][:8]))
    more = len(provenance["execution_ids"]) - 8
    shown += f" and {more} more" if more > 0 else ""
    yield from _facts_part("Trace Provenance", provenance | {"execution_ids": shown or None})
    overview = summary["overview"]
    yield from _facts_part("Trace Overview", {key: value for key, value in overview.items() if key != "warnings"})
    yield from (f"- {markdown_prose(warning)}" for warning in overview["warnings"])
    if overview["warnings"]:
        yield ""
    for section in SECTIONS:
        found = summary[section.key]
        if section.title:
            yield f"## {section.title}\n"
        yield from _section_part(section, found, top, _Shorten(names))


class _Shorten:
    """Names as shown on a page."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        # The longest first, since a name may be a prefix of another.
        words = sorted(names, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, words))) if words else None

    def cell(self, column: str, value: Any) -> Any:
        """Return the value of a column."""
        if isinstance(value, list):
            return ", ".join(map(str, value))
        if not isinstance(value, str):
            return value
        if column in _NAMES:
            return self.names.get(value, value)
        if column in _PATHS:
            return "=>".join(cut(part, _LONGEST) for part in value.split("=>"))
        if column in _LISTS and self._any:
            return self._any.sub(lambda name: self.names[name.group()], value)
        return value


def _facts_part(title: str, facts: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    rows = tuple((key, _shown(value)) for key, value in facts.items())
    yield to_text(Table((text("what"), text("value")), rows), "markdown")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    return "unknown" if value is None else str(value)


def _section_part(section: Section, found: dict[str, Any], top: int, shorten: _Shorten) -> Iterator[str]:
    rows = _telling(section.key, found["rows"])
    if not rows:
        if section.nothing:
            yield f"{section.nothing}\n"
        return
    if section.subtitle:
        yield f"### {section.subtitle}\n"
    if section.is_text:
        for row in rows:
            yield from _finding(row)
        return
    table, some = _table(section, rows, top, shorten)
    yield to_text(table, "markdown")
    yield f"{found['basis']}{some}\n"


def section_table(summary: dict[str, Any], key: str, top: int, names: Mapping[str, str]) -> Table:
    """Return a section of a summary as a table, with its basis and the number of rows shown below.

    Args:
        summary: the result of `build`.
        key: the section.
        top: rows shown of a table that may be long; 0 for all.
        names: how long names of operations are shown, from `short_names`.
    """
    [section] = (one for one in SECTIONS if one.key == key)
    if not summary[key]["rows"]:
        return Table((), (), section.title)
    table, some = _table(section, summary[key]["rows"], top, _Shorten(names))
    return replace(table, title=section.title, unit=summary[key]["basis"] + some)


def _table(section: Section, rows: list[dict[str, Any]], top: int, shorten: _Shorten) -> tuple[Table, str]:
    """Return the rows of a section that are shown, and a sentence if some are not."""
    rows = [row for row in rows if not row.get(section.left_out)]
    shown = rows if section.whole or not top else rows[:top]
    columns = tuple(_column(name, rows) for name in rows[0] if name != section.left_out)
    cells = tuple(tuple(shorten.cell(column.name, row[column.name]) for column in columns) for row in shown)
    some = f" The first {len(shown)} of {len(rows)} rows." if len(shown) < len(rows) else ""
    return Table(columns, cells), some


def _column(name: str, rows: list[dict[str, Any]]) -> Column:
    numeric = all(row[name] is None or isinstance(row[name], int | float) for row in rows)
    if not numeric:
        return text(name)
    decimals = 2 if name.endswith("_pct") else 3 if f"_{name}".endswith(("_us", "_gbps", "_tflops")) else None
    return Column(name, decimals)


def _finding(row: dict[str, Any]) -> Iterator[str]:
    yield f"### {row['title']} ({row['finding']}, {row['severity']})\n"
    if row["value"] is not None:
        unit = {"percent": " %", "us": " µs"}.get(row["unit"], "")
        yield f"- measured: {row['value']:.2f}{unit} (from {row['threshold']:g}{unit} on; basis: {row['basis']})"
    yield f"- evidence: {row['evidence']}"
    if row["gain_us"] is not None:
        yield f"- at most to gain: {row['gain_us']:.3f} µs of device time, {row['gain_pct']:.2f} % of all devices' time"
    yield f"- query: `{row['query']}`"
    yield from (f"- try: {suggestion}" for suggestion in row["suggestions"])
    yield ""


def _whole(facts: dict[str, Any]) -> dict[str, str]:
    devices, window = facts["devices"] or 0, facts["window_us"] or 0.0
    return {
        "steps": "on the slowest device in each step, of the work launched from it" if devices else "on the host",
        "whole": f"the time of all devices ({devices} of {window:.3f} µs each)",
        "window": f"the window of {window:.3f} µs that all devices share",
    }


def alarms_of(store: Store, trace_id: str) -> list[Alarm]:
    """Return the checks that found something in a trace."""
    return alarms(store, trace_id).get(trace_id, [])


def _overview(store: Store, trace_id: str, facts: dict[str, Any], found: Sequence[Alarm]) -> dict[str, Any]:
    [(complete, processes, threads)] = store.rows(
        "SELECT count(*) FILTER (dur_ns IS NOT NULL), count(DISTINCT pid), count(DISTINCT (pid, tid)) "
        "FROM events WHERE trace_id = $1",
        [trace_id],
    )
    return {
        "events": facts["event_count"], "events_with_duration": complete, "rejected_events": facts["rejected_count"],
        "processes": processes, "threads": threads, "truncated": facts["truncated"], "devices": facts["devices"] or 0,
        "window_us": facts["window_us"], "device_time_us": facts["device_time_us"],
        "warnings": [f"{check}: {message}" for _, check, message in sorted(found, key=lambda alarm: alarm[1])],
    }  # fmt: skip


def _execution_ids(store: Store, trace_id: str) -> list[Any]:
    found = store.rows(
        "SELECT execution_id FROM _summary_executions WHERE trace_id = $1 ORDER BY start_ns, execution_id",
        [trace_id],
    )
    return [plain(one) for (one,) in found]


def _objects(store: Store, query: str, trace_id: str) -> list[dict[str, Any]]:
    rows = store.objects(query.replace("$1", "$trace_id"), trace_id=trace_id)
    return [{column: plain(value) for column, value in row.items()} for row in rows]
