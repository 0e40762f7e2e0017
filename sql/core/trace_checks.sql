-- One row per trace and check of the trace itself. Can its events answer questions at all?
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  that of check_rules where the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   the value from which on the check speaks
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW trace_checks AS
WITH measured AS (
    SELECT trace_id, "check", value
    FROM _trace_measures
    UNPIVOT (
        value FOR "check" IN (
            truncated, rejected, repaired, unmatched, no_device_operations, without_launch,
            without_shapes, graph_launch, negative_duration, other_category, category_conflicts,
            unknown_hardware, unknown_rank
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
