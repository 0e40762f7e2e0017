-- One row per trace: a column for each check of the trace itself, named like the check.
-- trace_id              VARCHAR  trace
-- truncated             DOUBLE   1 where the file ends before its end
-- rejected              DOUBLE   events not stored
-- repaired              DOUBLE   events mended
-- unmatched             DOUBLE   begin or end events without a partner
-- no_device_operations  DOUBLE   1 where there are none
-- without_launch        DOUBLE   percent of the device operations
-- without_shapes        DOUBLE   percent of the compute kernels
-- graph_launch          DOUBLE   most operations of one launch
-- negative_duration     DOUBLE   device operations that end before they start
-- other_category        DOUBLE   percent of the time of all device operations
-- category_conflicts    DOUBLE   percent of the time of all device operations
-- unknown_hardware      DOUBLE   1 where there are kernels of no known hardware
-- unknown_rank          DOUBLE   1 where the rank is not known
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
        sum(dur_ns) AS all_ns,
        sum(dur_ns) FILTER (category = 'other') AS other_ns,
        sum(dur_ns) FILTER (is_contradicted) AS contradicted_ns
    FROM kernels
    GROUP BY trace_id
)
SELECT
    trace_id,
    CAST(truncated AS DOUBLE) AS truncated,
    CAST(rejected_count AS DOUBLE) AS rejected,
    CAST(repaired_count AS DOUBLE) AS repaired,
    CAST(unmatched_count AS DOUBLE) AS unmatched,
    CAST(operations IS NULL AS DOUBLE) AS no_device_operations,
    coalesce(100.0 * without_launch / operations, 0) AS without_launch,
    coalesce(100.0 * without_shapes / nullif(compute, 0), 0) AS without_shapes,
    CAST(coalesce(largest_launch, 0) AS DOUBLE) AS graph_launch,
    CAST(coalesce(negative, 0) AS DOUBLE) AS negative_duration,
    coalesce(100.0 * other_ns / nullif(all_ns, 0), 0) AS other_category,
    coalesce(100.0 * contradicted_ns / nullif(all_ns, 0), 0) AS category_conflicts,
    CAST(operations IS NOT NULL AND hardware IS NULL AS DOUBLE) AS unknown_hardware,
    CAST(rank IS NULL AS DOUBLE) AS unknown_rank
FROM traces
LEFT JOIN totals USING (trace_id);
