"""The tables of a model report: rows of the relations, with the headings and units of report_columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...analysis.workloads import SCHEMA, Workload
from ...engine.errors import UsageError
from .format import cell

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Table:
    """A table as it is printed.

    Attributes:
        headings: of the columns, with their units.
        numeric: which columns are numbers.
        rows: the cells, as text.
        title: what it shows.
        source: relation that its rows are of.
    """

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    source: str = ""


@dataclass(frozen=True)
class Query:
    """A table to be: what to ask, and of which relation it is."""

    title: str
    source: str
    sql: str


#: Formats of columns whose heading names no unit.
_WORDS = ("words", "flag", "yes_no")

_FITS = f"JOIN (SELECT scenario, fits, max_batch FROM {SCHEMA}.memory_per_gpu) AS m USING (scenario)"
_PHASES = "list_position(['training', 'prefill', 'decode'], phase)"
_PROFILES = "list_position($executions, execution)"


def _beside(study: str, axis: str) -> str:
    """Return the query of a sweep, both profiles beside each other."""
    sides = ", ".join(
        f"max({column}) FILTER (execution = ${side}) AS {side}_{name}"
        for column, name in (
            ("intensity", "intensity"), ("time_ms", "ms"), ("achieved_tflops", "tflops"), ("bound", "bound")
        )
        for side in ("base", "main")
    )  # fmt: skip
    return (
        f"SELECT {axis}, {sides}, bool_and(fits) AS fits FROM {SCHEMA}.phase_roofline AS p {_FITS} "
        f"WHERE study = 'report {study}' GROUP BY {axis} ORDER BY {axis}"
    )


QUERIES = {
    "terms": Query("Terms", "report_terms", f"""
        SELECT term, definition, unit, used_in FROM {SCHEMA}.report_terms WHERE kind = 'term' ORDER BY place"""),
    "symbols": Query("Symbols", "report_terms", f"""
        SELECT term, definition AS meaning, unit FROM {SCHEMA}.report_terms WHERE kind = 'symbol' ORDER BY place"""),
    "byte_parts": Query("Parts of the bytes", "report_terms", f"""
        SELECT term, definition AS meaning, unit FROM {SCHEMA}.report_terms WHERE kind = 'byte_part' ORDER BY place"""),
    "formulas": Query("Rules by kind of module", "report_formulas", f"""
        SELECT module, phases AS formula_phase, shape, formula_flop, formula_bytes, note AS formula_note
        FROM {SCHEMA}.report_formulas WHERE formulas = $formulas ORDER BY place"""),
    "assumptions": Query("Assumptions", "report_assumptions", f"""
        SELECT assumption, what, source FROM {SCHEMA}.report_assumptions WHERE formulas IN ($formulas, 'both')
        ORDER BY formulas = 'both', place"""),
    "profiles": Query("Execution profiles", "execution_profiles", f"""
        SELECT execution, attention_bytes_model, attention_residency, dense_residency, moe_residency,
            activation_factor, elementwise_factor, tensor_core_model, flop_fraction, hbm_fraction, net_fraction, comment
        FROM {SCHEMA}.execution_profiles ORDER BY {_PROFILES}"""),
    "layer_kinds": Query("Layers by kind", "model_layers", f"""
        SELECT layer_kind, count(*) AS layers,
            concat(min(layer_id), CASE WHEN count(*) > 1 THEN concat(
                CASE WHEN max(layer_id) - min(layer_id) + 1 = count(*) THEN '-' ELSE ', …, ' END, max(layer_id)) END
            ) AS layer_ids
        FROM {SCHEMA}.model_layers GROUP BY layer_kind ORDER BY min(layer_id)"""),
    "parameter_categories": Query("Parameters by part", "parameters", f"""
        SELECT part, sum(parameters) AS parameters, sum(parameters_pct) AS parameters_pct,
            sum(active_parameters) AS active_parameters
        FROM {SCHEMA}.parameters GROUP BY part ORDER BY sum(parameters) DESC"""),
    "module_sizes": Query("Largest kinds of modules", "parameters", f"""
        SELECT module, instances, instance_parameters, parameters, parameters_pct FROM {SCHEMA}.parameters
        ORDER BY parameters DESC, module LIMIT 20"""),
    "modules": Query("Modules of decode at the anchor", "module_roofline", f"""
        SELECT module, category, flop, weight_bytes, activation_bytes, kv_bytes, net_bytes, intensity, time_ms, bound
        FROM {SCHEMA}.module_roofline
        WHERE study = 'report anchor' AND phase = 'decode' AND execution = $main ORDER BY time_ms DESC, module, category
        """),
    "byte_shares": Query("Shares of the bytes in memory", "byte_shares", f"""
        SELECT phase, execution, sum(share) FILTER (part = 'weights') AS weights_pct,
            sum(share) FILTER (part = 'activations') AS activations_pct, sum(share) FILTER (part = 'kv') AS kv_pct,
            sum(share) FILTER (part = 'temporary') AS temporary_pct,
            coalesce(string_agg(advice, '; ' ORDER BY share DESC), 'nothing by the limits') AS advice
        FROM {SCHEMA}.byte_shares GROUP BY phase, execution ORDER BY {_PHASES}, {_PROFILES}"""),
    "bytes": Query("Bytes in memory", "phase_roofline", f"""
        SELECT phase, execution, weight_bytes, activation_bytes, kv_bytes, temporary_bytes, hbm_bytes
        FROM {SCHEMA}.phase_roofline WHERE study = 'report anchor' ORDER BY {_PHASES}, {_PROFILES}"""),
    "chips": Query("Chips", "hardware_peaks", f"""
        SELECT hardware, h.name AS chip_name, dtype, peak_tflops, hbm_gbps, 1e3 * peak_tflops / hbm_gbps AS knee,
            hbm_gb, link_gbps
        FROM {SCHEMA}.hardware AS h JOIN {SCHEMA}.hardware_peaks USING (hardware)
        WHERE list_contains($dtypes, dtype) ORDER BY list_position($chips, hardware), peak_tflops DESC"""),
    "single_peaks": Query("Chips", "phase_roofline", f"""
        SELECT DISTINCT hardware, achieved_tflops / mfu AS peak_tflops, hbm_bytes / hbm_ms / 1e6 AS hbm_gbps,
            1e3 * (achieved_tflops / mfu) / (hbm_bytes / hbm_ms / 1e6) AS knee
        FROM {SCHEMA}.phase_roofline
        WHERE study IN ('report anchor', 'report chips') AND phase = 'prefill' AND execution = $main
        ORDER BY list_position($chips, hardware)"""),
    "phase_knees": Query("Rates of each phase", "phase_roofline", f"""
        SELECT phase, hardware, achieved_tflops / mfu AS peak_tflops, hbm_bytes / hbm_ms / 1e6 AS hbm_gbps,
            1e3 * (achieved_tflops / mfu) / (hbm_bytes / hbm_ms / 1e6) AS knee,
            net_bytes / nullif(net_ms, 0) / 1e6 AS net_gbps,
            1e3 * (achieved_tflops / mfu) / (net_bytes / nullif(net_ms, 0) / 1e6) AS net_knee
        FROM {SCHEMA}.phase_roofline
        WHERE study IN ('report anchor', 'report chips') AND execution = $main
        ORDER BY list_position($chips, hardware), {_PHASES}"""),
    "kpi": Query("Headline figures", "phase_roofline", f"""
        SELECT phase, execution, flop, realizable_flop, hbm_bytes, intensity, compute_ms, hbm_ms, net_ms, time_ms,
            serial_ms, mfu, tokens_per_s, bound, fits
        FROM {SCHEMA}.phase_roofline AS p {_FITS} WHERE study = 'report anchor' ORDER BY {_PHASES}, {_PROFILES}"""),
    "chips_kpi": Query("The same on other chips", "phase_roofline", f"""
        SELECT hardware, phase, intensity, compute_ms, hbm_ms, net_ms, time_ms, mfu, tokens_per_s, bound, fits
        FROM {SCHEMA}.phase_roofline AS p {_FITS}
        WHERE study = 'report chips' OR study = 'report anchor' AND execution = $main
        ORDER BY list_position($chips, hardware), {_PHASES}"""),
    "categories": Query("Categories of work", "module_roofline", f"""
        SELECT phase, category,
            sum(flop) FILTER (execution = $base) / nullif(sum(hbm_bytes) FILTER (execution = $base), 0)
                AS base_intensity,
            sum(flop) FILTER (execution = $main) / nullif(sum(hbm_bytes) FILTER (execution = $main), 0)
                AS main_intensity,
            100 * (main_intensity / nullif(base_intensity, 0) - 1) AS intensity_change_pct,
            sum(hbm_bytes + net_bytes) FILTER (execution = $base) AS base_bytes,
            sum(hbm_bytes + net_bytes) FILTER (execution = $main) AS main_bytes
        FROM {SCHEMA}.module_roofline GROUP BY phase, category ORDER BY {_PHASES}, category"""),
    "cross_mode": Query("Phases beside each other", "phase_roofline", f"""
        SELECT phase, {", ".join(
            f"max({column}) FILTER (execution = ${side}) AS {side}_{name}"
            for column, name in (("intensity", "intensity"), ("time_ms", "ms"), ("tokens_per_s", "tokens_per_s"))
            for side in ("base", "main")
        )}
        FROM {SCHEMA}.phase_roofline WHERE study = 'report anchor' GROUP BY phase ORDER BY {_PHASES}"""),
    "batches": Query("Decode by batch", "phase_roofline", _beside("batch", "batch")),
    "prompts": Query("Prefill by prompt length", "phase_roofline", _beside("prompt", "seq_len")),
    "shares": Query("Shares of the categories", "module_roofline", f"""
        SELECT phase, category, sum(flop) / nullif(any_value(all_flop), 0) AS flop_pct,
            sum(hbm_bytes) / nullif(any_value(all_bytes), 0) AS bytes_pct,
            sum(serial_ms) / nullif(any_value(all_ms), 0) AS time_pct
        FROM (
            SELECT *, sum(flop) OVER of_phase AS all_flop, sum(hbm_bytes) OVER of_phase AS all_bytes,
                sum(serial_ms) OVER of_phase AS all_ms
            FROM {SCHEMA}.module_roofline WHERE execution = $main WINDOW of_phase AS (PARTITION BY phase)
        )
        GROUP BY phase, category ORDER BY {_PHASES}, category"""),
    "frontier": Query("Least batch that is bound by compute", "decode_frontier", f"""
        SELECT ep, kv_len, memory_intensity, knee, net_intensity, net_knee, min_batch, limiter,
            min_batch <= room AS frontier_fits
        FROM {SCHEMA}.decode_frontier
        LEFT JOIN (
            SELECT ep, kv_len, min(max_batch) AS room FROM {SCHEMA}.memory_per_gpu
            WHERE study = 'report frontier' GROUP BY ep, kv_len
        ) USING (ep, kv_len)
        ORDER BY ep, kv_len"""),
    "memory": Query("Resident at the anchor", "memory_per_gpu", f"""
        SELECT phase, other_weight_bytes, expert_bytes, kv_bytes AS held_kv_bytes, gradient_bytes, optimizer_bytes,
            activation_bytes AS held_activation_bytes, total_bytes, budget_bytes, fits, max_batch
        FROM {SCHEMA}.memory_per_gpu WHERE study = 'report anchor' AND execution = $main ORDER BY {_PHASES}"""),
    "layouts": Query("Layouts tried in decode, the smallest twenty", "memory_per_gpu", f"""
        SELECT tp, ep, dp, weight_bytes AS held_weight_bytes, kv_bytes AS held_kv_bytes, total_bytes, budget_bytes,
            fits, max_batch, time_ms, tokens_per_s / (tp * pp) AS tokens_per_chip_s
        FROM {SCHEMA}.memory_per_gpu AS m
        JOIN (SELECT scenario, time_ms, tokens_per_s FROM {SCHEMA}.phase_roofline) AS p USING (scenario)
        WHERE study = 'report layout' ORDER BY tp * dp * pp, tp, ep LIMIT 20"""),
    "communication": Query("Sent in a pass", "communication_envelope", f"""
        SELECT * EXCLUDE (scenario, study, formulas, execution, model, hardware) FROM {SCHEMA}.communication_envelope
        WHERE execution = $main ORDER BY {_PHASES}"""),
    "grid": Query("Fastest and slowest points", "phase_roofline", f"""
        SELECT execution, s.kv_dtype, s.top_k, s.kv_rank_scale, s.hidden_scale, p.kv_len, intensity, time_ms, mfu,
            bound, fits
        FROM {SCHEMA}.phase_roofline AS p
        JOIN (SELECT scenario, kv_dtype, top_k, kv_rank_scale, hidden_scale FROM {SCHEMA}.scenarios) AS s
            USING (scenario) {_FITS}
        WHERE study = 'report grid'
        QUALIFY row_number() OVER (PARTITION BY execution ORDER BY time_ms, scenario) <= 3
            OR row_number() OVER (PARTITION BY execution ORDER BY time_ms DESC, scenario DESC) <= 2
        ORDER BY {_PROFILES}, time_ms"""),
    "regimes": Query("What limits the points of the grid", "regime_transitions", f"""
        SELECT execution, kv_len, points, compute_bound, memory_bound, network_bound FROM {SCHEMA}.regime_transitions
        ORDER BY {_PROFILES}, kv_len"""),
    "ranking": Query("Knobs of the grid", "sensitivity", f"""
        SELECT title, effect_size, elasticity, array_to_string(list_transform(
            list_zip(knob_values, medians_ms),
            lambda pair: concat(printf('%g', pair[1]), ': ', printf('%.2f', pair[2]))), ', ') AS medians
        FROM {SCHEMA}.sensitivity WHERE execution = $main ORDER BY effect_rank, knob"""),
    "knobs": Query("One knob at a time", "phase_roofline", f"""
        SELECT r.title, p.phase, any_value(a.time_ms) AS anchor_ms,
            any_value(r.setting) FILTER (r.side = 'low') AS low_setting,
            any_value(p.time_ms) FILTER (r.side = 'low') AS low_ms,
            any_value(p.bound) FILTER (r.side = 'low') AS low_bound,
            any_value(r.setting) FILTER (r.side = 'high') AS high_setting,
            any_value(p.time_ms) FILTER (r.side = 'high') AS high_ms,
            any_value(p.bound) FILTER (r.side = 'high') AS high_bound,
            100 * (greatest(max(p.time_ms), any_value(a.time_ms)) / least(min(p.time_ms), any_value(a.time_ms)) - 1)
                AS swing_pct,
            bool_and(fits) AS fits
        FROM {SCHEMA}.phase_roofline AS p
        JOIN report_steps AS r ON p.scenario = concat_ws(' / ', 'report knobs', p.phase, r.knob, r.side)
        JOIN (SELECT phase, time_ms FROM {SCHEMA}.phase_roofline
            WHERE study = 'report anchor' AND execution = $main) AS a ON a.phase = p.phase
        {_FITS}
        GROUP BY r.title, p.phase
        ORDER BY list_position(['decode', 'prefill', 'training'], p.phase), swing_pct DESC, r.title"""),
    "sources": Query("Chips", "hardware", f"""
        SELECT hardware, name AS chip_name, hbm_gb, hbm_gbps, link_gbps, domain_size, scaleout_gbps, h.trusted,
            concat_ws('; beyond the links: ', h.source, t.source) AS source
        FROM {SCHEMA}.hardware AS h LEFT JOIN {SCHEMA}.topologies AS t USING (hardware)
        ORDER BY list_position($chips, hardware)"""),
}  # fmt: skip


def read(connection: duckdb.DuckDBPyConnection, work: Workload, name: str) -> Table:
    """Return a table of the report by its name."""
    query = QUERIES[name]
    columns, rows = records(connection, work, name)
    kept = [nth for nth, column in enumerate(columns) if column not in work.formulas.unread]
    known = {
        column: (heading, unit, format)
        for column, heading, unit, format in connection.execute(
            "SELECT column_name, heading, unit, format FROM report_columns"
        ).fetchall()
    }
    chosen = [known[columns[nth]] for nth in kept]
    headings = tuple(heading_of(heading, unit, format) for heading, unit, format in chosen)
    cells = tuple(tuple(cell(row[nth], known[columns[nth]][2]) for nth in kept) for row in rows)
    numeric = tuple(format not in _WORDS for _, _, format in chosen)
    return Table(headings, numeric, cells, query.title, query.source)


def records(
    connection: duckdb.DuckDBPyConnection, work: Workload, name: str
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and the rows of a table of the report, numbers unrounded."""
    sql = QUERIES[name].sql
    dtypes: list[str] = []
    if "$dtypes" in sql:
        dtypes = computed_in(connection)
    values = {
        "main": work.main, "base": work.base, "formulas": work.formulas.name, "executions": list(work.executions),
        "chips": list(work.hardware), "dtypes": dtypes,
    }  # fmt: skip
    answer = connection.execute(sql, {key: value for key, value in values.items() if f"${key}" in sql})
    return [column[0] for column in answer.description or ()], answer.fetchall()


def computed_in(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the types that the products compute in; none by formulas with one peak for all."""
    rows = connection.execute(f"SELECT DISTINCT dtype FROM {SCHEMA}.computed_types ORDER BY dtype").fetchall()
    return [dtype for (dtype,) in rows]


def heading_of(heading: str, unit: str | None, format: str) -> str:
    """Return a heading with its unit.

    Raises:
        UsageError: a column of numbers has no unit: a lake's own report_columns is wrong.
    """
    if format in _WORDS:
        return heading if unit is None else f"{heading} ({unit})"
    if not unit:
        raise UsageError(f"report_columns: {heading} has numbers and no unit.")
    return f"{heading} ({unit})"
