"""The numbers that a model report's sentences rest on, and the sentences that they call for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...analysis.workloads import SCHEMA, Workload
from .format import NOTHING, written

if TYPE_CHECKING:
    import duckdb

Facts = dict[str, str]

#: Peak of the mix of types that a phase computes in, and bandwidth, as its times were computed with them.
_KNEE = "achieved_tflops / nullif(mfu, 0) * 1e12 / nullif(1e3 * hbm_bytes / nullif(hbm_ms, 0), 0)"

_OF_PHASES = f"""
    WITH points AS (
        SELECT p.*, {_KNEE} AS knee, m.fits, m.total_bytes, m.budget_bytes, m.max_batch, m.activation_bytes AS saved,
            list_sort([compute_ms, hbm_ms, net_ms])[2] AS second_ms,
            CASE execution WHEN $main THEN '' ELSE 'base_' END AS side
        FROM {SCHEMA}.phase_roofline AS p
        JOIN (SELECT scenario, fits, total_bytes, budget_bytes, max_batch, activation_bytes
            FROM {SCHEMA}.memory_per_gpu) AS m USING (scenario)
        WHERE study = 'report anchor'
    ),
    told AS (
        SELECT phase || '_' || side AS prefix, unnest([
            {{'fact': 'ms', 'value': time_ms, 'words': NULL, 'unit': 'ms'}},
            {{'fact': 'serial_ms', 'value': serial_ms, 'words': NULL, 'unit': 'ms'}},
            {{'fact': 'compute_ms', 'value': compute_ms, 'words': NULL, 'unit': 'ms'}},
            {{'fact': 'hbm_ms', 'value': hbm_ms, 'words': NULL, 'unit': 'ms'}},
            {{'fact': 'net_ms', 'value': net_ms, 'words': NULL, 'unit': 'ms'}},
            {{'fact': 'second_ms', 'value': second_ms, 'words': NULL, 'unit': 'ms'}},
            {{'fact': 'net_gb', 'value': net_bytes, 'words': NULL, 'unit': 'bytes'}},
            {{'fact': 'intensity', 'value': intensity, 'words': NULL, 'unit': 'FLOP/byte'}},
            {{'fact': 'knee', 'value': knee, 'words': NULL, 'unit': 'FLOP/byte'}},
            {{'fact': 'weights_pct', 'value': 100 * weight_bytes / hbm_bytes, 'words': NULL, 'unit': '%'}},
            {{'fact': 'activations_pct', 'value': 100 * activation_bytes / hbm_bytes, 'words': NULL, 'unit': '%'}},
            {{'fact': 'kv_pct', 'value': 100 * kv_bytes / hbm_bytes, 'words': NULL, 'unit': '%'}},
            {{'fact': 'temporary_pct', 'value': 100 * temporary_bytes / hbm_bytes, 'words': NULL, 'unit': '%'}},
            {{'fact': 'total_gb', 'value': total_bytes, 'words': NULL, 'unit': 'bytes'}},
            {{'fact': 'budget_gb', 'value': budget_bytes, 'words': NULL, 'unit': 'bytes'}},
            {{'fact': 'max_batch', 'value': max_batch, 'words': NULL, 'unit': 'sequences'}},
            {{'fact': 'tokens', 'value': batch * seq_len, 'words': NULL, 'unit': 'tokens'}},
            {{'fact': 'overlap_gain_pct', 'value': 100 * (serial_ms / time_ms - 1), 'words': NULL, 'unit': '%'}},
            {{'fact': 'relief_gain_pct', 'value': 100 * (time_ms / nullif(second_ms, 0) - 1), 'words': NULL,
                'unit': '%'}},
            {{'fact': 'bound', 'value': NULL, 'words': bound, 'unit': NULL}},
            {{'fact': 'side', 'value': NULL, 'words': CASE WHEN intensity >= knee
                THEN 'right of the knee, under the peak' ELSE 'left of the knee, under the memory''s slope' END,
                'unit': NULL}},
            {{'fact': 'fits', 'value': NULL, 'words': CASE WHEN fits THEN 'yes' ELSE 'no' END, 'unit': NULL}}
        ], max_depth := 2)
        FROM points
    )
    SELECT prefix || fact, value, words, unit FROM told
    """

_OF_KERNELS = f"""
    WITH both_sides AS (
        SELECT phase, max(time_ms) FILTER (execution = $main) AS ms, max(time_ms) FILTER (execution = $base) AS base_ms,
            max(bound) FILTER (execution = $main) AS bound, max(bound) FILTER (execution = $base) AS base_bound
        FROM {SCHEMA}.phase_roofline WHERE study = 'report anchor' GROUP BY phase
    )
    SELECT phase || '_kernels_gain_pct', 100 * (base_ms / ms - 1), NULL, '%' FROM both_sides
    UNION ALL
    SELECT 'kernels_move_a_bound', NULL, CASE WHEN bool_or(bound <> base_bound) THEN 'yes' ELSE 'no' END, NULL
    FROM both_sides WHERE phase <> 'decode'
    """

#: What each category of work takes of a phase: experts and dense MLPs.
_OF_CATEGORIES = f"""
    WITH shares AS (
        SELECT phase, CASE WHEN category IN ('moe', 'experts') THEN 'experts' ELSE 'mlp' END AS part,
            100 * sum(flop) / any_value(phase_flop) AS flop_pct,
            100 * sum(hbm_bytes) / any_value(phase_bytes) AS bytes_pct
        FROM (
            SELECT *, sum(flop) OVER (PARTITION BY phase) AS phase_flop,
                sum(hbm_bytes) OVER (PARTITION BY phase) AS phase_bytes
            FROM {SCHEMA}.module_roofline WHERE study = 'report anchor' AND execution = $main
        )
        WHERE category IN ('moe', 'experts', 'mlp', 'ffn')
        GROUP BY ALL
    ),
    held AS (
        SELECT
            sum(parameters_pct) FILTER (part IN ('routed', 'shared')) AS experts_pct,
            sum(parameters_pct) FILTER (part = 'dense') AS mlp_pct
        FROM {SCHEMA}.parameters
    )
    SELECT concat(phase, '_', part, '_flop_pct'), flop_pct, NULL, '%' FROM shares
    UNION ALL SELECT concat(phase, '_', part, '_bytes_pct'), bytes_pct, NULL, '%' FROM shares
    UNION ALL SELECT 'experts_pct', experts_pct, NULL, '%' FROM held WHERE experts_pct > 0
    UNION ALL SELECT 'mlp_pct', mlp_pct, NULL, '%' FROM held WHERE experts_pct IS NULL
    """

_OF_BATCHES = f"""
    WITH points AS (
        SELECT batch, bound,
            count(CASE WHEN bound <> before THEN 1 END) OVER (ORDER BY batch ROWS UNBOUNDED PRECEDING) AS run
        FROM (
            SELECT batch, bound, lag(bound) OVER (ORDER BY batch) AS before
            FROM {SCHEMA}.phase_roofline WHERE study = 'report batch' AND execution = $main
        )
    ),
    runs AS (
        SELECT run, any_value(bound) AS bound, min(batch) AS low, max(batch) AS high FROM points GROUP BY run
    ),
    critical AS (SELECT * FROM {SCHEMA}.critical_batch WHERE execution = $main),
    room AS (
        SELECT max_batch FROM {SCHEMA}.memory_per_gpu
        WHERE study = 'report anchor' AND phase = 'decode' AND execution = $main
    )
    SELECT 'sweep_bounds', NULL, string_agg(
        CASE WHEN low = high THEN format('{{}}-bound at {{:,}}', bound, low)
            ELSE format('{{}}-bound from {{:,}} to {{:,}}', bound, low, high) END, ', ' ORDER BY low
    ), NULL FROM runs
    UNION ALL SELECT 'decode_intensity_batch', intensity_batch, NULL, 'sequences' FROM critical
    UNION ALL SELECT 'decode_time_batch', CASE WHEN time_batch > smallest_batch THEN time_batch END, NULL, 'sequences'
        FROM critical
    UNION ALL SELECT 'crossing_fits', NULL, CASE WHEN time_batch <= max_batch THEN 'yes' ELSE 'no' END, NULL
        FROM critical, room
    UNION ALL SELECT 'sweep_compute_bound_pct', 100 * compute_bound_points / points, NULL, '%' FROM critical
    UNION ALL SELECT 'smallest_batch', smallest_batch, NULL, NULL FROM critical
    UNION ALL SELECT 'largest_batch', largest_batch, NULL, NULL FROM critical
    UNION ALL SELECT 'dense_product_tokens', dense_product_tokens, NULL, 'tokens' FROM critical
    UNION ALL SELECT 'expert_tokens', expert_tokens, NULL, 'tokens' FROM critical
    """

_OF_KNOBS = f"""
    WITH turned AS (
        SELECT p.scenario, p.phase, split_part(p.scenario, ' / ', 3) AS knob, split_part(p.scenario, ' / ', 4) AS side,
            p.time_ms, 100 * (p.tokens_per_s / (p.tp * p.pp) / (a.tokens_per_s / (a.tp * a.pp)) - 1) AS gain,
            f.scenario IS NULL AS runs
        FROM {SCHEMA}.phase_roofline AS p
        JOIN {SCHEMA}.phase_roofline AS a
            ON a.phase = p.phase AND a.study = 'report anchor' AND a.execution = $main
        LEFT JOIN (SELECT DISTINCT scenario FROM {SCHEMA}.scenario_faults) AS f ON f.scenario = p.scenario
        WHERE p.study = 'report knobs'
    )
    SELECT concat_ws('_', phase, knob, side, 'ms'), time_ms, NULL, 'ms' FROM turned
    UNION ALL SELECT concat_ws('_', phase, knob, side, 'gain_pct'), gain, NULL, '%' FROM turned
    UNION ALL SELECT concat_ws('_', phase, knob, side, 'runs'), NULL, CASE WHEN runs THEN 'yes' ELSE 'no' END, NULL
        FROM turned
    """

_OF_GRID = f"""
    WITH ranked AS (SELECT * FROM {SCHEMA}.regime_transitions WHERE execution = $main),
    sizes AS (
        SELECT count(*) AS points, count(*) FILTER (m.fits) AS fit
        FROM {SCHEMA}.memory_per_gpu AS m
        WHERE starts_with(m.study, 'report grid') AND m.execution = $main
    ),
    bounds AS (
        SELECT sum(points) AS points, sum(compute_bound) AS compute, sum(memory_bound) AS memory,
            sum(network_bound) AS network
        FROM ranked
    )
    SELECT 'grid_points', points, NULL, 'points' FROM sizes
    UNION ALL SELECT 'grid_fit', fit, NULL, 'points' FROM sizes
    UNION ALL SELECT 'grid_unfit', points - fit, NULL, 'points' FROM sizes
    UNION ALL SELECT 'grid_bounds', sign(compute) + sign(memory) + sign(network), NULL, NULL FROM bounds
    UNION ALL SELECT 'grid_bound', NULL, CASE WHEN compute = points THEN 'compute' WHEN memory = points THEN 'memory'
        WHEN network = points THEN 'network' END, NULL FROM bounds
    UNION ALL SELECT 'grid_by_length', NULL, string_agg(
        concat('L = ', kv_len, ': ', compute_bound, ' compute-, ', memory_bound, ' memory- and ', network_bound,
            ' network-bound of ', points), '; ' ORDER BY kv_len), NULL FROM ranked
    """

_OF_LAYOUTS = f"""
    WITH layouts AS (SELECT * FROM {SCHEMA}.memory_per_gpu WHERE study = 'report layout'),
    -- What hinders every layout, as too long a context, is not for a layout to mend.
    hindered AS (
        SELECT scenario FROM {SCHEMA}.scenario_faults WHERE study = 'report layout'
        QUALIFY count(*) OVER (PARTITION BY fault) < (SELECT count(*) FROM layouts)
    ),
    smallest AS (
        SELECT tp, ep, dp, pp FROM layouts ANTI JOIN hindered USING (scenario)
        WHERE fits ORDER BY tp * dp * pp, tp LIMIT 1
    ),
    longest AS (
        SELECT memory_intensity, knee, kv_len FROM {SCHEMA}.decode_frontier
        WHERE ep = $ep AND memory_intensity IS NOT NULL ORDER BY kv_len DESC LIMIT 1
    )
    SELECT 'smallest_layout', NULL, coalesce(
        (SELECT concat('TP = ', tp, ', EP = ', ep, ', DP = ', dp, ' (', tp * dp * pp, CASE tp * dp * pp WHEN 1
            THEN ' chip)' ELSE ' chips)' END) FROM smallest), 'none'), NULL
    UNION ALL SELECT 'floor_intensity', memory_intensity, NULL, 'FLOP/byte' FROM longest
    UNION ALL SELECT 'floor_knee', knee, NULL, 'FLOP/byte' FROM longest
    UNION ALL SELECT 'floor_over_knee', memory_intensity / knee, NULL, NULL FROM longest
    UNION ALL SELECT 'floor_kv_len', kv_len, NULL, 'tokens' FROM longest
    """

#: A reason that not all phases have is said with those that have it. Training alone lacks memory at most, as a rule of
#: its own says.
_OF_FAULTS = f"""
    WITH reasons AS (
        SELECT fault, string_agg(phase, ' and ' ORDER BY phase) AS phases, count(*) AS many
        FROM {SCHEMA}.scenario_faults JOIN (SELECT scenario, phase, execution FROM {SCHEMA}.scenarios) USING (scenario)
        WHERE study = 'report anchor' AND execution = $main
        GROUP BY fault
        HAVING bool_or(phase <> 'training')
    ),
    said AS (
        SELECT fault <> 'does not fit the memory' AS is_fault,
            CASE many WHEN 3 THEN fault ELSE concat(fault, ' (', phases, ')') END AS reason
        FROM reasons
    )
    SELECT 'hindrances', NULL, string_agg(reason, '; ' ORDER BY reason), NULL FROM said HAVING count(*) > 0
    UNION ALL SELECT 'faults', NULL, string_agg(reason, '; ' ORDER BY reason), NULL FROM said WHERE is_fault
        HAVING count(*) > 0
    """

_OF_MODEL = f"""
    WITH model AS (SELECT * FROM {SCHEMA}.architectures),
    active AS (SELECT * FROM {SCHEMA}.active_parameters)
    SELECT 'model_name', NULL, coalesce(name, model), NULL FROM model
    UNION ALL SELECT 'model_source', NULL, coalesce(source, 'its config.json'), NULL FROM model
    UNION ALL SELECT 'model_revision', NULL, coalesce(source_revision, 'not recorded'), NULL FROM model
    UNION ALL SELECT 'chip_name', NULL, coalesce(name, hardware), NULL FROM {SCHEMA}.hardware WHERE hardware = $hardware
    UNION ALL SELECT 'active_parameters', active, NULL, 'parameters' FROM active
    UNION ALL SELECT 'active_embedded', active_embedded, NULL, 'parameters' FROM active
    UNION ALL SELECT 'published_active', 1e9 * published_active_b, NULL, 'parameters' FROM active
    UNION ALL SELECT 'active_difference_pct', difference_pct, NULL, '%' FROM active
    UNION ALL SELECT 'active_agrees', NULL, CASE agrees WHEN TRUE THEN 'yes' WHEN FALSE THEN 'no' ELSE 'unknown' END,
        NULL FROM active
    UNION ALL SELECT 'main', NULL, $main, NULL
    UNION ALL SELECT 'base', NULL, $base, NULL
    UNION ALL SELECT 'formulas', NULL, $formulas, NULL
    UNION ALL SELECT 'layout', NULL, concat('TP = ', $tp, ', EP = ', $ep, ', DP = ', $dp, ', PP = ', $pp), NULL
    UNION ALL SELECT 'ranks', $tp * $dp * $pp, NULL, 'chips'
    UNION ALL SELECT 'batch', $batch, NULL, 'sequences'
    UNION ALL SELECT 'seq_len', $seq_len, NULL, 'tokens'
    UNION ALL SELECT 'kv_len', $kv_len, NULL, 'tokens'
    """


def find_facts(connection: duckdb.DuckDBPyConnection, work: Workload) -> Facts:
    """Fill report_facts from what the lake answered, and return the facts as people read them, with their units."""
    known = {
        "main": work.main, "base": work.base, "formulas": work.formulas.name, "hardware": work.hardware[0],
        "tp": work.tp, "ep": work.ep, "dp": work.dp, "pp": work.pp, "batch": work.batch, "seq_len": work.seq_len,
        "kv_len": work.kv_len,
    }  # fmt: skip
    connection.execute("DELETE FROM report_facts")
    for query in (
        _OF_PHASES, _OF_KERNELS, _OF_CATEGORIES, _OF_BATCHES, _OF_KNOBS, _OF_GRID, _OF_LAYOUTS, _OF_FAULTS, _OF_MODEL,
    ):  # fmt: skip
        used = {name: known[name] for name in set(re.findall(r"\$([a-z_]+)", query))}
        connection.execute(f"INSERT OR REPLACE INTO report_facts {query}", used)
    if work.base == work.main:
        connection.execute(
            "INSERT OR REPLACE INTO report_facts "
            "SELECT regexp_replace(fact, '^(training|prefill|decode)_', '\\1_base_'), value, words, unit "
            "FROM report_facts WHERE regexp_matches(fact, '^(training|prefill|decode)_') "
            "AND NOT contains(fact, '_base_')"
        )
    rows = connection.execute("SELECT fact, value, words, unit FROM report_facts").fetchall()
    facts = {fact: words if words is not None else written(value, unit) for fact, value, words, unit in rows}
    facts["crossing_sentence"] = _crossing({fact: value for fact, value, *_ in rows})
    return facts


def advice(
    connection: duckdb.DuckDBPyConnection, work: Workload, facts: Facts, place: str, most: int | None = None
) -> list[str]:
    """Return the sentences that the facts call for at a place of the report, the largest gain first."""
    rows = connection.execute(
        f"SELECT text, gain_pct FROM {work.formulas.relation('report_advice')} WHERE place = $1 "
        "ORDER BY priority = 1 DESC, gain_pct DESC NULLS LAST, priority",
        [place],
    ).fetchall()
    return [filled(text, facts) for text, _ in rows[:most]]


def filled(text: str, facts: Facts) -> str:
    """Return a text with its facts in place of the names in braces."""
    return re.sub(r"\{([a-z0-9_]+)\}", lambda name: facts.get(name.group(1), "unknown"), text)


def _crossing(values: dict[str, float | None]) -> str:
    """Return where the limit of decode changes; between the batches tried, so with two decimals, as reports have it."""
    by_time, by_intensity = (
        f"{value:,.2f} sequences" if (value := values.get(f"decode_{of}_batch")) is not None else NOTHING
        for of in ("time", "intensity")
    )
    if by_time == by_intensity == NOTHING:
        return "`B_crit`: none, neither by the times nor by `AI_hbm`."
    return f"`B_crit` by the times, which count: {by_time}; by `AI_hbm` reaching the knee: {by_intensity}."
