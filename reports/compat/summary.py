"""The summary in the format of the reference's tool, `profile_summary.v1`: its keys, its figures, its errors.

It is for comparing figures with that tool's; the right ones are those of `summary`. Durations are µs, shares
0 to 1. Ours are beside it under the key `tracelake`, with the units and the basis that the format lacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ...analysis.traces import locate
from ...engine.sql.modules import quoted
from ...engine.text import json_text, markdown_prose
from ..output.render import plain, to_text
from ..output.table import Column, Table, text
from ..summary.document import check_format

if TYPE_CHECKING:
    from ...engine.store import Store

Mode = Literal["exclusive_per_track", "exclusive_global"]
SCHEMA = "profile_summary.v1"
#: Event counts at which the exporter is known to truncate a trace.
_CAPS = (1_000_000, 5_000_000)
_STATISTICS = "steps AS count, mean_us AS mean, median_us AS median, p90_us AS p90, min_us AS min, max_us AS max"
_CATEGORIES = ("compute", "communication", "host", "stall", "other")


def summary(
    store: Store,
    trace: str,
    format: str,
    *,
    top: int = 10,
    warmup_steps: int = 5,
    hot_op_limit: int = 25,
    breakdown_mode: Mode = "exclusive_per_track",
) -> str:
    """Return the summary as the reference's tool makes it, including its errors: `profile_summary.v1`.

    Args:
        store: the lake.
        trace: the trace, from JAX.
        format: json, or md for its report.
        top: rows of a table of the report.
        warmup_steps: steps with a smaller number are not steady.
        hot_op_limit: operations in its list, from which it also makes the families.
        breakdown_mode: how it sums up time.

    Raises:
        UsageError: the format is neither.
    """
    check_format(format)
    found = build(store, locate(store, trace), warmup_steps, hot_op_limit, breakdown_mode)
    return as_json(found) if format == "json" else as_markdown(found, top)


def build(store: Store, trace_id: str, warmup_steps: int, hot_op_limit: int, breakdown_mode: str) -> dict[str, Any]:
    """Return the summary of a JAX trace as the reference's tool makes it.

    Args:
        store: the lake.
        trace_id: the trace.
        warmup_steps: steps with a smaller number are not steady.
        hot_op_limit: operations in its list, from which it also makes the families.
        breakdown_mode: exclusive_per_track or exclusive_global.
    """

    def rows(query: str) -> list[dict[str, Any]]:
        return _objects(store, query.format(id=quoted(trace_id), warm_up=warmup_steps, mode=quoted(breakdown_mode)))

    [trace] = rows(
        "SELECT t.*, d.devices FROM traces AS t LEFT JOIN (SELECT trace_id, count(*) AS devices FROM time_breakdown "
        "GROUP BY trace_id) AS d USING (trace_id) WHERE trace_id = {id}"
    )
    breakdown = _breakdown(rows, breakdown_mode)
    return {
        "schema_version": SCHEMA,
        "generated_at_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "source_format": "perfetto_trace_json",
        "source_path": trace["source_path"],
        "run_metadata": {
            "run_path": None, "run_id": trace["run"], "artifact_ref": None, "artifact_name": None,
            "hardware_type": trace["device_name"], "mesh_or_topology": None, "git_sha": None, "config_hash": None,
            "num_devices": trace["devices"], "num_hosts": None,
        },
        "trace_overview": _overview(rows, trace, breakdown["duration_basis"]),
        "trace_provenance": {
            "trace_sha256": trace["source_sha256"],
            "run_ids": _frequent(rows, "run_id"),
            "source_file_hints": _frequent(rows, "source"),
        },
        "step_time": _step_time(rows, warmup_steps),
        "time_breakdown": breakdown,
        **_lists(rows, hot_op_limit, breakdown["total_duration"]),
        "tracelake": {
            "unit": "us", "devices": trace["devices"],
            "basis": "figures are summed over devices, steps are means over devices, exclusive_global is a union over "
            "devices: they do not add up to one whole. `tracelake summary` states one basis for each table.",
        },
    }  # fmt: skip


def as_json(summary: dict[str, Any]) -> str:
    """Return the summary as JSON: keys sorted, indented by two."""
    return json_text(json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)) + "\n"


def as_markdown(summary: dict[str, Any], top: int = 10) -> str:
    """Return the summary as the reference's report."""
    return "\n".join(_page(summary, top or None)) + "\n"


def _overview(rows: Any, trace: dict[str, Any], basis: str) -> dict[str, Any]:
    [found] = rows(
        "SELECT count(*) FILTER (ph = 'X' AND dur_ns IS NOT NULL) AS complete, "
        "count(DISTINCT pid) FILTER (name = 'process_name' AND lane = 'meta') AS processes, "
        "count(DISTINCT (pid, tid)) FILTER (name = 'thread_name' AND lane = 'meta') AS threads, "
        "min(start_ns) FILTER (ph = 'X') / 1000.0 AS start_us, max(end_ns) FILTER (ph = 'X') / 1000.0 AS end_us "
        "FROM events WHERE trace_id = {id}"
    )
    cut = found["complete"] in _CAPS
    return {
        "display_time_unit": json.loads(trace["metadata"] or "{}").get("displayTimeUnit"),
        "num_events_total": trace["event_count"] + trace["rejected_count"], "num_complete_events": found["complete"],
        "num_processes": found["processes"], "num_threads": found["threads"], "profile_start_ts": found["start_us"],
        "profile_end_ts": found["end_us"], "duration_basis": basis, "suspected_truncation": cut,
        "quality_warnings": [f"the trace has exactly {found['complete']} complete events"] if cut else [],
    }  # fmt: skip


def _frequent(rows: Any, argument: str) -> list[str]:
    found = rows(
        f"SELECT args ->> '$.{argument}' AS value FROM events WHERE trace_id = {{id}} AND ph = 'X' "
        f"AND args ->> '$.{argument}' IS NOT NULL GROUP BY value ORDER BY count(*) DESC, min(event_id) LIMIT 20"
    )
    return [row["value"] for row in found]


def _step_time(rows: Any, warmup_steps: int) -> dict[str, Any]:
    scopes = {
        row.pop("scope"): row
        for row in rows(f"SELECT scope, {_STATISTICS} FROM compat_step_stats({{id}}, {{warm_up}})")
    }
    nothing = {"count": 0, "mean": None, "median": None, "p90": None, "min": None, "max": None}
    classes = rows(
        f"SELECT step_class, fraction, representative_step, period, {_STATISTICS} "
        "FROM compat_step_classes({id}, {warm_up}) ORDER BY step_class DESC"
    )
    durations = {
        row["step_number"]: row["dur_us"]
        for row in rows("SELECT step_number, dur_us FROM compat_steps({id}, {warm_up})")
    }
    return {
        "warmup_steps_ignored": warmup_steps,
        "all_steps": scopes.get("all", nothing),
        "steady_state_steps": scopes.get("steady", nothing),
        "classes": [
            {
                "name": row["step_class"], "count": row["count"], "fraction_of_steady": row["fraction"],
                "duration_stats": {key: row[key] for key in nothing},
                "representative_step": row["representative_step"],
                "representative_duration": durations.get(row["representative_step"]), "periodicity": row["period"],
            }
            for row in classes
        ],
    }  # fmt: skip


def _breakdown(rows: Any, mode: str) -> dict[str, Any]:
    found = {
        row["category"]: {"total_duration": row["total_us"], "share_of_total": row["share"]}
        for row in rows(
            "SELECT category, total_us, share FROM compat_time_breakdown WHERE trace_id = {id} AND mode = {mode}"
        )
    }
    basis = "exclusive_duration_per_track" if mode.endswith("track") else "exclusive_duration_global_timeline"
    parts = {name: found.get(name, {"total_duration": 0.0, "share_of_total": 0.0}) for name in _CATEGORIES}
    return {"duration_basis": basis, "total_duration": sum(part["total_duration"] for part in parts.values()), **parts}


def _lists(rows: Any, hot_op_limit: int, total_us: float) -> dict[str, Any]:
    most = max(hot_op_limit, 500)
    of = "WHERE trace_id = {id} AND place <="
    return {
        "hot_ops": rows(
            "SELECT name, canonical_name, category, calls AS count, total_us AS total_duration, "
            "exclusive_us AS exclusive_duration, mean_us AS avg_duration, shape AS shape_signature, "
            "source AS source_file, tf_op AS tf_op_path, proxy AS flop_proxy_per_invocation "
            f"FROM compat_ops {of} {hot_op_limit} ORDER BY place"
        ),
        "semantic_families": rows(
            "SELECT family, calls AS count, total_us AS total_duration, exclusive_us AS exclusive_duration, "
            "share AS share_of_total, mean_us AS avg_duration, mean_own_us AS avg_exclusive_duration, "
            "example AS example_op, shape AS dominant_shape_signature, proxy_total AS flop_proxy_total, "
            "us_per_proxy AS time_per_flop_proxy "
            f"FROM compat_families({{id}}, {hot_op_limit}, {total_us!r}) WHERE place <= {max(hot_op_limit, 50)} "
            "ORDER BY place"
        ),
        "communication_ops": rows(
            "SELECT kind AS collective, calls AS count, total_us AS total_duration, mean_us AS avg_duration "
            "FROM compat_collectives WHERE trace_id = {id} ORDER BY place"
        ),
        "gap_before_ops": rows(
            "SELECT payload_name AS name, gaps AS count, total_us AS total_gap_duration, max_us AS max_gap_duration, "
            "mean_us AS avg_gap_duration, payload_name AS payload_op, marker_name AS marker_op "
            f"FROM compat_gaps {of} {most} ORDER BY place"
        ),
        "hierarchical_regions": rows(
            "SELECT path, depth, calls AS count, inclusive_us AS inclusive_duration, "
            f"exclusive_us AS exclusive_duration FROM compat_regions {of} {most} ORDER BY place"
        ),
        "gap_region_contexts": rows(
            "SELECT payload_name AS op_name, region AS region_path, gaps AS count, total_us AS total_gap_duration, "
            f"mean_us AS avg_gap_duration FROM compat_gap_regions {of} {most} ORDER BY place"
        ),
        "optimization_candidates": rows(
            "SELECT candidate AS candidate_id, title, title AS rationale, evidence, suggestions "
            "FROM compat_candidates({id}, {mode}, {warm_up}) ORDER BY place"
        ),
    }


def _page(summary: dict[str, Any], top: int | None) -> Iterator[str]:
    yield f"# Profile Summary (`{summary['schema_version']}`)\n"
    metadata = summary["run_metadata"] | {"generated": summary["generated_at_utc"]}
    yield from _pairs("Run Metadata", {key: "unknown" if value is None else value for key, value in metadata.items()})
    provenance = summary["trace_provenance"]
    yield from _pairs(
        "Trace Provenance",
        {"trace_sha256": provenance["trace_sha256"], "run_ids": ", ".join(provenance["run_ids"][:8])},
    )
    yield from _pairs("Trace Overview", {k: v for k, v in summary["trace_overview"].items() if k != "quality_warnings"})
    steps = summary["step_time"]
    yield from _rows("Step Time (Steady State)", [steps["steady_state_steps"]], top)
    if steps["classes"]:
        classes = [
            {"class": row["name"], "count": row["count"], "fraction": row["fraction_of_steady"],
             "median": row["duration_stats"]["median"], "p90": row["duration_stats"]["p90"],
             "representative_step": row["representative_step"], "periodicity": row["periodicity"]}
            for row in steps["classes"]
        ]  # fmt: skip
        yield from _rows("Step Classes", classes, top)
    breakdown = summary["time_breakdown"]
    parts = [
        {"part": name, "duration": breakdown[name]["total_duration"],
         "share %": 100 * breakdown[name]["share_of_total"]}
        for name in _CATEGORIES
    ]  # fmt: skip
    yield from _rows(f"Time Breakdown ({breakdown['duration_basis']})", parts, None)
    for title, key in (
        ("Hierarchical Regions", "hierarchical_regions"), ("Top Ops", "hot_ops"),
        ("Semantic Families", "semantic_families"), ("Communication Collectives", "communication_ops"),
        ("Pre-Op Gaps", "gap_before_ops"),
    ):  # fmt: skip
        yield from _rows(title, summary[key], top)
    yield from _rows("Gap Context (Region-First)", _by_region(summary["gap_region_contexts"]), top)
    yield "## Optimization Candidates\n"
    for candidate in summary["optimization_candidates"]:
        yield f"### {markdown_prose(candidate['title'])} ({candidate['candidate_id']})\n"
        yield from (f"- {markdown_prose(line)}" for line in [*candidate["evidence"], *candidate["suggestions"]])
        yield ""


def _pairs(title: str, pairs: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    rows = tuple((key, "n/a" if value is None else str(value)) for key, value in pairs.items())
    yield to_text(Table((text("what"), text("value")), rows), "markdown")


def _rows(title: str, rows: list[dict[str, Any]], top: int | None) -> Iterator[str]:
    yield f"## {title}\n"
    if not rows:
        yield "n/a\n"
        return
    columns = tuple(_column(name, [row[name] for row in rows]) for name in rows[0])
    cells = tuple(tuple("n/a" if value is None else value for value in row.values()) for row in rows[:top])
    yield to_text(Table(columns, cells), "markdown")


def _column(name: str, values: list[Any]) -> Column:
    if any(isinstance(value, str) for value in values):
        return text(name)
    return Column(name, 2 if "%" in name else 3 if any(isinstance(value, float) for value in values) else None)


def _by_region(contexts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the gaps by region only, with the three operations that most often follow them."""
    regions: dict[str, list[dict[str, Any]]] = {}
    for row in contexts:
        regions.setdefault(row["region_path"], []).append(row)
    found = []
    for region, rows in regions.items():
        count, total = sum(row["count"] for row in rows), sum(row["total_gap_duration"] for row in rows)
        payloads = [row["op_name"] for row in sorted(rows, key=lambda row: (-row["count"], row["op_name"]))]
        found.append({"region": region, "count": count, "total": total, "avg": total / count,
                      "top payload ops": ", ".join(payloads[:3])})  # fmt: skip
    return sorted(found, key=lambda row: (-row["total"], row["region"]))


def _objects(store: Store, query: str) -> list[dict[str, Any]]:
    return [{column: plain(value) for column, value in row.items()} for row in store.objects(query)]
