-- One row per Ascend trace and check of what its counters, shapes and companion files say.
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  that of check_rules where the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   the value from which on the check speaks
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW ascend_checks AS
WITH measured AS (
    SELECT trace_id, "check", value
    FROM _ascend_measures
    UNPIVOT (
        value FOR "check" IN (
            clock_varies, shape_inconsistent, flop_mismatch, unknown_dtype, peak_exceeded,
            slow_aicpu, hardware_differs, msprof_differs, op_sums_differ
        )
    )
)
SELECT
    trace_id,
    "check",
    CASE WHEN value >= threshold THEN severity ELSE 'ok' END AS severity,
    value,
    unit,
    threshold,
    message
FROM measured
JOIN check_rules USING ("check");
