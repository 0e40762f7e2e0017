-- One row per device row of an Ascend trace that does not count, by the trace's setting dedup.
--
-- The rule compat is that of published figures: of rows with the same type, beginning with hcom_,
-- that start in the same microsecond, the longest counts, the first on a tie; it ignores the
-- device. Kernels of the AI CPU for collectives never count. With the rule none, every row of the
-- table of kernels counts; duplicates that only the timeline has do not.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the row
-- twin_id    BIGINT   event_id of the row that owns the time, NULL if no row does
-- rule       VARCHAR  aiv_exact, aiv_near, aicpu_service, small_task, timeline_twin or compat
CREATE VIEW _duplicates AS
WITH modes AS (
    SELECT trace_id, coalesce(dedup, 'tracelake') AS mode
    FROM traces
    WHERE format = 'ascend'
),
listed AS (
    SELECT _ascend_pairs.trace_id, kernel_id, twin_id, rule, mode, source
    FROM _ascend_pairs
    JOIN modes USING (trace_id)
    JOIN _ascend_rows USING (trace_id, kernel_id)
),
twins AS (
    SELECT trace_id, kernel_id FROM _ascend_pairs WHERE rule = 'timeline_twin'
),
chosen AS (
    SELECT trace_id FROM modes WHERE mode = 'compat'
),
published AS (
    SELECT
        trace_id, kernel_id, op_type,
        first_value(kernel_id) OVER (
            PARTITION BY trace_id, op_type, start_ns // 1000 ORDER BY dur_ns DESC, kernel_id
        ) AS twin_id
    FROM _ascend_rows
    ANTI JOIN twins USING (trace_id, kernel_id)
    SEMI JOIN chosen USING (trace_id)
    WHERE
        (starts_with(op_type, 'hcom_') OR ends_with(op_type, 'AicpuKernel'))
        AND start_ns IS NOT NULL
        AND dur_ns IS NOT NULL
),
removed AS (
    SELECT trace_id, kernel_id, twin_id, rule
    FROM listed
    WHERE
        mode = 'tracelake'
        OR rule = 'timeline_twin'
        OR (rule = 'small_task' AND source = 'timeline')
    UNION ALL
    SELECT trace_id, kernel_id, NULL, 'aicpu_service'
    FROM published
    WHERE ends_with(op_type, 'AicpuKernel')
    UNION ALL
    SELECT trace_id, kernel_id, twin_id, 'compat'
    FROM published
    WHERE NOT ends_with(op_type, 'AicpuKernel') AND kernel_id <> twin_id
)
-- The twin itself may not count.
SELECT
    removed.trace_id, removed.kernel_id, coalesce(beyond.twin_id, removed.twin_id) AS twin_id,
    removed.rule
FROM removed
LEFT JOIN removed AS beyond
    ON beyond.trace_id = removed.trace_id AND beyond.kernel_id = removed.twin_id;
