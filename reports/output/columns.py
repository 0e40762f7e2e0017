"""The main columns of relations that have many, which tables show. Other formats have all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from ...engine.store import Store

#: From the catalog: making `traces` ready takes longer than everything else here.
_ORIGINS = "(SELECT trace_id, origin_ns FROM _catalog)"
#: Groups of categories with a column of their own in the table of layers.
_GROUPS = ("attention", "moe", "gemm", "communication", "norm")
_GROUP_SUMS = ", ".join(f"sum(sum_us) FILTER (category_group = '{group}') AS {group}" for group in _GROUPS)
_GROUP_COLUMNS = ", ".join(f"round(coalesce({group}, 0), 1) AS {group}_us" for group in (*_GROUPS, "other"))
#: The query that selects them from the rows of a relation, by its name.
COLUMNS = {
    "traces": """
        SELECT
            trace, trace_id, run, rank, format, hardware, model, event_count, rejected_count, truncated,
            round((end_ns - start_ns) / 1e6, 3) AS span_ms
        FROM rows
        ORDER BY trace, trace_id
        """,
    "passes": f"""
        SELECT
            rank, device, pass_id,
            series, direction, stage, CAST((rows.start_ns - origin_ns) / 1e9 AS DECIMAL(18, 6)) AS start_s,
            CAST((rows.end_ns - origin_ns) / 1e9 AS DECIMAL(18, 6)) AS end_s, round(span_us, 1) AS span_us,
            round(busy_us, 1) AS busy_us, round(avg_layer_us, 1) AS avg_layer_us,
            round(first_layer_us, 1) AS first_layer_us, num_layers, complete, note, chosen,
            round(coverage_pct, 1) AS coverage_pct
        FROM rows JOIN {_ORIGINS} USING (trace_id)
        ORDER BY rank, device, pass_id
        """,
    "layers": f"""
        WITH kinds AS (
            SELECT trace_id, device, pass_id, layer_kind, unnest(layer_ids) AS layer_id FROM layer_types
        ),
        groups AS (
            SELECT
                trace_id, device, pass_id, layer_id, {_GROUP_SUMS},
                sum(sum_us) FILTER (coalesce(category_group, '') NOT IN {_GROUPS}) AS other
            FROM layer_categories
            GROUP BY trace_id, device, pass_id, layer_id
        )
        SELECT
            rank, device, series, direction, pass_id, layer_id, compress_ratio,
            nullif(concat_ws(' ', layer_type, layer_kind), '') AS layer_type,
            round((start_ns - origin_ns) / 1e6, 6) AS start_ms, round(wall_us, 1) AS wall_us,
            round(sum_us, 1) AS sum_us, round(busy_us, 1) AS busy_us,
            {_GROUP_COLUMNS},
            round(gap_after_us, 3) AS gap_after_us, kernel_count, comm_count
        FROM rows JOIN {_ORIGINS} USING (trace_id) LEFT JOIN kinds USING (trace_id, device, pass_id, layer_id)
        LEFT JOIN groups USING (trace_id, device, pass_id, layer_id)
        ORDER BY rank, device, pass_id, layer_id
        """,
    "layer_kernels": """
        SELECT
            pass_id, layer_id, hot_rank, half, category, display_name, round(dur_us, 3) AS dur_us,
            round(layer_pct, 1) AS layer_pct, round(rel_ms, 6) AS rel_ms, input_dims
        FROM rows
        ORDER BY rank, device, pass_id, layer_id, hot_rank
        """,
    "comparisons": """
        SELECT
            side, traces, runs, steps, round(before_ns / 1e6, 3) AS before_ms, round(after_ns / 1e6, 3) AS after_ms,
            round(change_ns / 1e6, 4) AS change_ms, round(change_pct, 2) AS change_pct,
            round(detectable_pct, 2) AS noise_pct, verdict, round(before_matched_pct, 1) AS before_matched_pct,
            round(after_matched_pct, 1) AS after_matched_pct, doubts
        FROM rows
        """,
    "comparison_terms": """
        SELECT
            side,
            repeat('  ', list_position(['step', 'part', 'category', 'module', 'operator'], level) - 1)
            || if(name = '', '(unknown)', name) AS term,
            round(before_ns / 1e6, 3) AS before_ms, round(after_ns / 1e6, 3) AS after_ms,
            round(change_ns / 1e6, 4) AS change_ms, round(more_work_ns / 1e6, 4) AS more_work_ms,
            round(slower_work_ns / 1e6, 4) AS slower_work_ms, round(detectable_ns / 1e6, 4) AS noise_ms,
            round(matched_pct, 1) AS matched_pct, verdict
        FROM rows
        ORDER BY side, place
        """,
    "layer_diff": """
        SELECT
            device, side, category, display_name, a_count, b_count, round(a_us, 3) AS a_us,
            round(b_us, 3) AS b_us, diff_us
        FROM rows
        ORDER BY rank, device, abs(diff_us) DESC, list_position(['a', 'b', 'both'], side), a_us DESC, rows.name
        """,
    "shapes": """
        SELECT
            op_type, core, count, round(sum_us, 3) AS sum_us, round(min_us, 3) AS min_us, round(mean_us, 3) AS mean_us,
            round(median_us, 3) AS median_us, round(p95_us, 3) AS p95_us, round(max_us, 3) AS max_us,
            round(std_us, 3) AS std_us, block_num, input_dims, output_dims
        FROM rows
        ORDER BY rows.sum_us DESC, op_type, input_dims
        """,
    "align_type": """
        SELECT
            kernel_type, op_names, status, round(simulated_us, 3) AS simulated_us, simulated_count,
            round(measured_us, 3) AS measured_us, measured_count, round(error_pct, 1) AS error_pct,
            round(count_error_pct, 1) AS count_error_pct, round(measured_pct, 1) AS measured_pct
        FROM rows
        ORDER BY greatest(rows.simulated_us, rows.measured_us) DESC, kernel_type
        """,
    "align_shape": """
        SELECT
            kernel_type, shape_key, side, round(simulated_us, 3) AS simulated_us, simulated_count,
            round(measured_us, 3) AS measured_us, measured_count, round(error_pct, 1) AS error_pct, sources
        FROM rows
        ORDER BY greatest(rows.simulated_us, rows.measured_us) DESC, kernel_type, shape_key
        """,
    "align_summary": """
        SELECT
            round(m6, 6) AS m6, round(coverage, 4) AS coverage, round(calibration, 4) AS calibration,
            round(surplus, 4) AS surplus, round(hit_us, 3) AS hit_us, round(simulated_us, 3) AS simulated_us,
            round(measured_us, 3) AS measured_us, round(compute_us, 3) AS compute_us,
            round(communication_us, 3) AS communication_us
        FROM rows
        """,
    "perfetto_ranges": """
        SELECT
            rank, device, pass_id, range, layer_id, layer_type,
            CAST(start_s AS DECIMAL(18, 6)) AS start_s, CAST(end_s AS DECIMAL(18, 6)) AS end_s, start_ms, wall_ms,
            start_ns
        FROM rows
        ORDER BY rank, device, pass_id, range <> 'pass', rows.start_ns
        """,
    "kernels": f"""
        SELECT
            device, stream, kernel_id, round((start_ns - origin_ns) / 1e6, 6) AS start_ms, dur_us,
            category, display_name, launch_kernels, input_dims
        FROM rows JOIN {_ORIGINS} USING (trace_id)
        ORDER BY rank, device, start_ns, kernel_id
        """,
    "ranks": """
        SELECT
            rank, device, steps, round(step_ms, 3) AS step_ms, round(compute_ms, 3) AS compute_ms,
            round(exposed_communication_ms, 3) AS exposed_comm_ms, round(idle_ms, 3) AS idle_ms,
            round(waiting_ms, 3) AS waiting_ms, round(waited_for_ms, 3) AS waited_for_ms, waited_for_steps,
            late_start_steps AS late_start, slow_compute_steps AS slow_compute, slow_link_steps AS slow_link,
            earlier_call_steps AS earlier_call, verdict, calls, unpaired_calls AS unpaired,
            round(clock_offset_us, 1) AS clock_offset_us, round(clock_residual_us, 3) AS residual_us, unpaired_reason,
            missing_reason
        FROM rows
        ORDER BY rank, trace, device
        """,
    "history": """
        SELECT
            run, recorded_at, source, traces, round(value, 4) AS value, round(low, 4) AS low, round(high, 4) AS high,
            round(level, 4) AS level, round(shift_pct, 2) AS shift_pct, round(shift_low_pct, 2) AS low_pct,
            round(shift_high_pct, 2) AS high_pct, verdict
        FROM rows
        ORDER BY recorded_at, run
        """,
    "rank_steps": """
        SELECT
            step, rank, device, is_steady AS steady, round(step_us / 1e3, 3) AS step_ms,
            round(compute_us / 1e3, 3) AS compute_ms, round(exposed_communication_us / 1e3, 3) AS exposed_comm_ms,
            round(waiting_us / 1e3, 3) AS waiting_ms, round(waited_for_us / 1e3, 3) AS waited_for_ms,
            is_waited_for AS waited_for, cause
        FROM rows
        ORDER BY step, rank, trace_id, device
        """,
    "rank_waits": """
        SELECT
            step_id AS step, kind, rank, device, round(others_waited_us, 3) AS others_waited_us,
            round(behind_us, 3) AS behind_us,
            round(gap_us, 3) + 0 AS gap_us, round(compute_us, 3) + 0 AS compute_us, round(link_us, 3) + 0 AS link_us,
            round(earlier_us, 3) + 0 AS earlier_us, cause
        FROM rows
        ORDER BY arrival_ns, call
        """,
}


def for_people(store: Store, name: str, answer: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the main columns of an answer that has every column of a relation."""
    store.prepare(COLUMNS[name])
    if name not in ("passes", "layers"):
        shown = answer.query("rows", COLUMNS[name])
        assert shown is not None  # a SELECT has an answer
        return shown
    shape = COLUMNS[name].strip()
    rest = f", {shape.removeprefix('WITH ')}" if shape.startswith("WITH ") else f" {shape}"
    shown = store.kept(f"WITH rows AS ({answer.sql_query()}){rest}")
    [(series, directions)] = shown.aggregate("count(DISTINCT series), count(DISTINCT direction)").fetchall()
    plain = [*(["series"] if series == 1 else []), *(["direction"] if directions == 0 else [])]
    return shown.project(f"* EXCLUDE ({', '.join(plain)})") if plain else shown
