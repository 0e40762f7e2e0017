-- One row per Ascend trace: a column for each check of its counters, shapes and companion
-- tables, named like the check.
CREATE VIEW _ascend_measures AS
WITH clocks AS (
    SELECT
        trace_id,
        100 * (1 - min(clocked.cube_mhz / nullif(evidence.cube_mhz, 0))) AS drop_pct
    FROM (
        SELECT trace_id, device, cube_mhz
        FROM kernel_pmu
        JOIN ascend_constants AS long
            ON long.constant = 'clock_kernel_us' AND cube_us >= long.value
    ) AS clocked
    JOIN (SELECT trace_id, device, cube_mhz FROM device_evidence) AS evidence
        USING (trace_id, device)
    GROUP BY trace_id
),
works AS (
    SELECT
        o.trace_id,
        count(*) FILTER (shape_inconsistent) AS shape_inconsistent,
        count(*) FILTER (flop_mismatch) AS flop_mismatch,
        count(*) FILTER (unknown_dtypes IS NOT NULL) AS unknown_dtype,
        count(*) FILTER (tflops > measured_tflops * cube_flop_per_cycle / flop.value)
            AS peak_exceeded
    FROM ascend_operators AS o
    LEFT JOIN device_evidence AS d
        ON d.trace_id = o.trace_id AND d.device = o.device
    LEFT JOIN (
        SELECT dtype, max(cube_flop_per_cycle) AS cube_flop_per_cycle FROM dtypes GROUP BY dtype
    ) USING (dtype)
    JOIN ascend_constants AS flop ON flop.constant = 'cube_flop_per_cycle'
    WHERE counted
    GROUP BY o.trace_id
),
aicpu AS (
    SELECT trace_id, count(*) AS slow_aicpu
    FROM ascend_kernels
    JOIN ascend_constants AS slow
        ON slow.constant = 'slow_kernel_us' AND dur_ns > slow.value * 1000
    WHERE core_group = 'aicpu' AND comm_role = 'compute' AND counted
    GROUP BY trace_id
),
devices AS (
    SELECT trace_id, bool_or(NOT agrees) AS differs
    FROM device_evidence
    GROUP BY trace_id
),
step_checks AS (
    SELECT trace_id, max(abs(diff_pct)) AS diff_pct
    FROM step_trace_comparison
    GROUP BY trace_id
),
op_sums AS (
    SELECT trace_id, max(abs(diff_pct)) AS diff_pct
    FROM op_statistic_comparison
    GROUP BY trace_id
)
SELECT
    traces.trace_id,
    coalesce(drop_pct, 0) AS clock_varies,
    coalesce(shape_inconsistent, 0) AS shape_inconsistent,
    coalesce(flop_mismatch, 0) AS flop_mismatch,
    coalesce(unknown_dtype, 0) AS unknown_dtype,
    coalesce(peak_exceeded, 0) AS peak_exceeded,
    coalesce(slow_aicpu, 0) AS slow_aicpu,
    coalesce(differs, FALSE) AS hardware_differs,
    coalesce(step_checks.diff_pct, 0) AS msprof_differs,
    coalesce(op_sums.diff_pct, 0) AS op_sums_differ
FROM traces
LEFT JOIN clocks ON clocks.trace_id = traces.trace_id
LEFT JOIN works ON works.trace_id = traces.trace_id
LEFT JOIN aicpu ON aicpu.trace_id = traces.trace_id
LEFT JOIN devices ON devices.trace_id = traces.trace_id
LEFT JOIN step_checks ON step_checks.trace_id = traces.trace_id
LEFT JOIN op_sums ON op_sums.trace_id = traces.trace_id
WHERE traces.format = 'ascend';

-- One row per Ascend trace and check of its counters, shapes and companion files.
--
-- rows: of ascend traces
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
CREATE VIEW ascend_checks AS
WITH measures AS (
    SELECT
        trace_id, clock_varies, shape_inconsistent, flop_mismatch, unknown_dtype, peak_exceeded,
        slow_aicpu, hardware_differs, msprof_differs, op_sums_differ
    FROM _ascend_measures
)
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM judged_checks(measures);
