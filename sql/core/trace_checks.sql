-- One row per trace: a column for each check of the trace itself, named like the check.
CREATE VIEW _trace_measures AS
WITH totals AS (
    SELECT
        trace_id,
        count(*) AS operations,
        count(*) FILTER (launch_id IS NULL) AS without_launch,
        count(*) FILTER (kind = 'compute') AS compute,
        count(*) FILTER (kind = 'compute' AND input_dims IS NULL) AS without_shapes,
        max(launch_kernels) AS largest_launch,
        count(*) FILTER (dur_ns < 0) AS negative,
        (max(end_ns) - min(start_ns)) / 3.6e12 AS span_hours,
        -- The time of a loop of XLA is that of the operations in it.
        sum(dur_ns) FILTER (e.kernel_id IS NULL) AS all_ns,
        sum(dur_ns) FILTER (e.kernel_id IS NULL AND category = 'other') AS other_ns,
        sum(dur_ns) FILTER (category = 'graph') AS graph_ns,
        sum(dur_ns) FILTER (is_contradicted) AS contradicted_ns
    FROM kernels
    LEFT JOIN enclosing_kernels AS e USING (trace_id, kernel_id)
    GROUP BY trace_id
),
unfinished AS (
    SELECT events.trace_id, count(*) AS no_duration
    FROM events
    SEMI JOIN event_categories AS named
        ON named.category = events.category AND named.role = 'operation'
    WHERE events.lane = 'device' AND events.dur_ns IS NULL
    GROUP BY events.trace_id
),
tables AS (
    -- Ascend's statistics, of a cluster or a simulator, are no traces: they have no operations.
    SELECT trace_id
    FROM traces
    WHERE
        format = 'ascend' AND json_array_length(metadata, '$.files') > 0
        AND NOT list_contains(
            CAST(json_extract_string(metadata, '$.files[*].kind') AS VARCHAR[]), 'kernels'
        )
),
placed AS (
    SELECT
        trace_id, max(merged_devices) AS merged_devices,
        -- XLA and Ascend show a device as several processes.
        count(*) FILTER (processes > 1 AND format NOT IN ('jax', 'ascend')) AS shared_devices
    FROM (
        SELECT
            trace_id, count(*) AS processes,
            count(max(merged_device)) OVER (PARTITION BY trace_id) AS merged_devices
        FROM device_processes
        GROUP BY trace_id, device
    )
    JOIN traces USING (trace_id)
    GROUP BY trace_id
),
capped AS (
    -- Metadata apart.
    SELECT trace_id
    FROM traces
    JOIN events USING (trace_id)
    WHERE format = 'jax' AND event_count >= 1000000 AND lane = 'meta'
    GROUP BY trace_id
    HAVING any_value(event_count + rejected_count) - count(*) = 1000000
),
rounded AS (
    SELECT trace_id, count(*) AS rounded_starts
    FROM _ascend_rows
    WHERE start_rounded
    GROUP BY trace_id
)
SELECT
    trace_id,
    truncated,
    capped.trace_id IS NOT NULL AS capped,
    rejected_count AS rejected,
    repaired_count AS repaired,
    coalesce(skipped_bytes, 0) AS skipped,
    coalesce(array_count, 1) AS event_arrays,
    coalesce(redacted_count, 0) AS redacted,
    unmatched_count AS unmatched,
    operations IS NULL AND tables.trace_id IS NULL AS no_device_operations,
    coalesce(100.0 * without_launch / operations, 0) AS without_launch,
    coalesce(100.0 * without_shapes / nullif(compute, 0), 0) AS without_shapes,
    coalesce(largest_launch, 0) AS graph_launch,
    coalesce(100.0 * graph_ns / nullif(all_ns, 0), 0) AS whole_graphs,
    coalesce(negative, 0) AS negative_duration,
    coalesce(no_duration, 0) AS no_duration,
    coalesce(rounded_starts, 0) AS rounded_starts,
    coalesce(span_hours, 0) AS long_span,
    coalesce(merged_devices, 0) AS merged_devices,
    coalesce(shared_devices, 0) AS shared_devices,
    coalesce(100.0 * other_ns / nullif(all_ns, 0), 0) AS other_category,
    coalesce(100.0 * contradicted_ns / nullif(all_ns, 0), 0) AS category_conflicts,
    operations IS NOT NULL AND hardware IS NULL AS unknown_hardware,
    rank IS NULL AND rank_source IS DISTINCT FROM 'devices' AS unknown_rank
FROM traces
LEFT JOIN totals USING (trace_id)
LEFT JOIN unfinished USING (trace_id)
LEFT JOIN tables USING (trace_id)
LEFT JOIN placed USING (trace_id)
LEFT JOIN capped USING (trace_id)
LEFT JOIN rounded USING (trace_id);

-- One row per trace and check of the trace itself. Can its events answer queries at all?
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW trace_checks AS
WITH measures AS (
    SELECT
        trace_id, truncated, capped, rejected, repaired, skipped, event_arrays, redacted, unmatched,
        no_device_operations, without_launch, without_shapes, graph_launch, whole_graphs,
        negative_duration, no_duration, rounded_starts, long_span, merged_devices,
        shared_devices, other_category, category_conflicts, unknown_hardware, unknown_rank
    FROM _trace_measures
)
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM judged_checks(measures);
