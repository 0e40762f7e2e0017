"""The tables of a model report: rows of the relations, with the headings and units of report_columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...analysis.studies import SCHEMA
from ...analysis.workloads import Workload
from ...engine.errors import UsageError
from .format import cell

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Table:
    """A printed table.

    Attributes:
        headings: of the columns, with their units.
        numeric: which columns are numbers.
        rows: the cells, as text.
        title: what it shows.
        source: the relation of its rows.
    """

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    source: str = ""


@dataclass(frozen=True)
class Query:
    """A table's query, and the relation of its rows."""

    title: str
    source: str
    sql: str


#: Text formats: the headings of all other columns have a unit.
_WORDS = ("words", "flag", "yes_no")

_PHASES = "list_position(['training', 'prefill', 'decode'], phase)"
_PROFILES = "list_position($executions, execution)"
_POINTS = f"{SCHEMA}._report_points"
_SIDES = (
    "base_intensity, main_intensity, base_ms, main_ms, base_tflops, main_tflops, base_bound, main_bound, fits "
    f"FROM {SCHEMA}._report_sides"
)
#: Rates that times were computed with.
_RATES = (
    "tflops / mfu AS peak_tflops, hbm_bytes / hbm_ms / 1e6 AS hbm_gbps, "
    "1e3 * (tflops / mfu) / (hbm_bytes / hbm_ms / 1e6) AS knee"
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
        SELECT layer_kind, layers, layer_ids FROM {SCHEMA}._report_layer_kinds ORDER BY first_layer"""),
    "parameter_categories": Query("Parameters by part", "parameters", f"""
        SELECT part, parameters, parameters_pct, active_parameters FROM {SCHEMA}._report_parts
        ORDER BY parameters DESC, part"""),
    "module_sizes": Query("Largest kinds of modules", "parameters", f"""
        SELECT module, instances, instance_parameters, parameters, parameters_pct FROM {SCHEMA}.parameters
        ORDER BY parameters DESC, module LIMIT 20"""),
    "modules": Query("Modules of decode at the anchor", "module_roofline", f"""
        SELECT module, category, flop, weight_bytes, activation_bytes, kv_bytes, net_bytes, intensity, time_ms, bound
        FROM {SCHEMA}._report_modules WHERE phase = 'decode' AND is_main ORDER BY time_ms DESC, module, category"""),
    "byte_shares": Query("Shares of the bytes in memory", "byte_shares", f"""
        SELECT phase, execution, weights_pct, activations_pct, kv_pct, temporary_pct, advice
        FROM {SCHEMA}._report_byte_shares ORDER BY phase_place, profile_place"""),
    "bytes": Query("Bytes in memory", "phase_roofline", f"""
        SELECT phase, execution, weight_bytes, activation_bytes, kv_bytes, temporary_bytes, hbm_bytes
        FROM {_POINTS} WHERE study = 'report anchor' ORDER BY phase_place, profile_place"""),
    "chips": Query("Chips", "hardware_peaks", f"""
        SELECT hardware, chip_name, dtype, peak_tflops, hbm_gbps, knee, hbm_gb, link_gbps FROM {SCHEMA}._report_chips
        ORDER BY chip_place, peak_tflops DESC"""),
    "single_peaks": Query("Chips", "phase_roofline", f"""
        SELECT DISTINCT hardware, {_RATES} FROM {_POINTS}
        WHERE study IN ('report anchor', 'report chips') AND phase = 'prefill' AND is_main
        ORDER BY list_position($chips, hardware)"""),
    "phase_knees": Query("Rates of each phase", "phase_roofline", f"""
        SELECT phase, hardware, {_RATES}, net_bytes / nullif(net_ms, 0) / 1e6 AS net_gbps,
            1e3 * (tflops / mfu) / (net_bytes / nullif(net_ms, 0) / 1e6) AS net_knee
        FROM {_POINTS} WHERE study IN ('report anchor', 'report chips') AND is_main
        ORDER BY chip_place, phase_place"""),
    "kpi": Query("Headline figures", "phase_roofline", f"""
        SELECT phase, execution, flop, realizable_flop, hbm_bytes, intensity, compute_ms, hbm_ms, net_ms, time_ms,
            serial_ms, mfu, tokens_per_s, bound, fits
        FROM {_POINTS} WHERE study = 'report anchor' ORDER BY phase_place, profile_place"""),
    "chips_kpi": Query("The same on other chips", "phase_roofline", f"""
        SELECT hardware, phase, intensity, compute_ms, hbm_ms, net_ms, time_ms, mfu, tokens_per_s, bound, fits
        FROM {_POINTS} WHERE study = 'report chips' OR study = 'report anchor' AND is_main
        ORDER BY chip_place, phase_place"""),
    "categories": Query("Categories of work", "module_roofline", f"""
        SELECT phase, category, base_intensity, main_intensity, intensity_change_pct, base_bytes, main_bytes
        FROM {SCHEMA}._report_category_sides ORDER BY phase_place, category"""),
    "cross_mode": Query("Phases beside each other", "phase_roofline", f"""
        SELECT phase, base_intensity, main_intensity, base_ms, main_ms, base_tokens_per_s, main_tokens_per_s
        FROM {SCHEMA}._report_sides WHERE study = 'report anchor' ORDER BY phase_place"""),
    "batches": Query("Decode by batch", "phase_roofline", f"""
        SELECT batch, {_SIDES} WHERE study = 'report batch' ORDER BY batch"""),
    "prompts": Query("Prefill by prompt length", "phase_roofline", f"""
        SELECT seq_len, {_SIDES} WHERE study = 'report prompt' ORDER BY seq_len"""),
    "shares": Query("Shares of the categories", "module_roofline", f"""
        SELECT phase, category, flop_pct, bytes_pct, time_pct FROM {SCHEMA}._report_categories
        WHERE is_main ORDER BY phase_place, category"""),
    "frontier": Query("Least batch that is bound by compute", "decode_frontier", f"""
        SELECT ep, kv_len, memory_intensity, knee, net_intensity, net_knee, min_batch, limiter, frontier_fits
        FROM {SCHEMA}._report_frontier ORDER BY ep, kv_len"""),
    "memory": Query("Resident at the anchor", "memory_per_gpu", f"""
        SELECT phase, other_weight_bytes, expert_bytes, kv_bytes AS held_kv_bytes, gradient_bytes, optimizer_bytes,
            activation_bytes AS held_activation_bytes, total_bytes, budget_bytes, fits, max_batch
        FROM {SCHEMA}.memory_per_gpu WHERE study = 'report anchor' AND execution = $main ORDER BY {_PHASES}"""),
    "layouts": Query("Layouts tried in decode, the smallest twenty", "memory_per_gpu", f"""
        SELECT tp, ep, dp, held_weight_bytes, held_kv_bytes, total_bytes, budget_bytes, fits, max_batch, time_ms,
            tokens_per_chip_s
        FROM {_POINTS} WHERE study = 'report layout' ORDER BY tp * dp * pp, tp, ep LIMIT 20"""),
    "communication": Query("Sent in a pass", "communication_envelope", f"""
        SELECT * EXCLUDE (scenario, study, formulas, execution, model, hardware) FROM {SCHEMA}.communication_envelope
        WHERE execution = $main ORDER BY {_PHASES}"""),
    "grid": Query("Fastest and slowest points", "phase_roofline", f"""
        SELECT execution, kv_dtype, top_k, kv_rank_scale, hidden_scale, kv_len, intensity, time_ms, mfu, bound, fits
        FROM {SCHEMA}._report_grid ORDER BY profile_place, time_ms"""),
    "regimes": Query("What limits the points of the grid", "regime_transitions", f"""
        SELECT execution, kv_len, points, compute_bound, memory_bound, network_bound FROM {SCHEMA}.regime_transitions
        ORDER BY {_PROFILES}, kv_len"""),
    "ranking": Query("Knobs of the grid", "sensitivity", f"""
        SELECT title, effect_size, elasticity, array_to_string(list_transform(
            list_zip(knob_values, medians_ms),
            lambda pair: concat(printf('%g', pair[1]), ': ', printf('%.2f', pair[2]))), ', ') AS medians
        FROM {SCHEMA}.sensitivity WHERE execution = $main ORDER BY effect_rank, knob"""),
    "knobs": Query("One knob at a time", "phase_roofline", f"""
        SELECT title, phase, anchor_ms, low_setting, low_ms, low_bound, high_setting, high_ms, high_bound, swing_pct,
            fits
        FROM {SCHEMA}._report_knobs
        ORDER BY list_position(['decode', 'prefill', 'training'], phase), swing_pct DESC, title"""),
    "sources": Query("Chips", "hardware", f"""
        SELECT hardware, chip_name, hbm_gb, hbm_gbps, link_gbps, domain_size, scaleout_gbps, trusted, source
        FROM {SCHEMA}._report_sources ORDER BY chip_place"""),
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
    """Return the columns and the rows of a table of the report, with numbers unrounded."""
    sql = QUERIES[name].sql
    values = {
        "main": work.main, "formulas": work.formulas.name, "executions": list(work.executions),
        "chips": list(work.hardware),
    }  # fmt: skip
    answer = connection.execute(sql, {key: value for key, value in values.items() if f"${key}" in sql})
    return [column[0] for column in answer.description or ()], answer.fetchall()


def heading_of(heading: str, unit: str | None, format: str) -> str:
    """Return a heading with its unit.

    Raises:
        UsageError: a column of numbers has no unit: the lake's own report_columns are wrong.
    """
    if format in _WORDS:
        return heading if unit is None else f"{heading} ({unit})"
    if not unit:
        raise UsageError(f"report_columns: {heading} has numbers and no unit.")
    return f"{heading} ({unit})"
