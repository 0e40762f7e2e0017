-- One row per trace with device operations and steps, and check of its steps. Is the work of the
-- steps known, and is it most of what the trace shows? The work that an engine marks as drafts of
-- speculative decoding belongs to no step, and is not missed.
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
CREATE VIEW step_checks AS
WITH marked AS (
    SELECT
        trace_id,
        count(*) FILTER (ops = 0 AND NOT is_partial) AS steps_without_work,
        count(*) FILTER (work_source = 'host time') AS steps_by_host_time
    FROM steps
    WHERE work_source IS NOT NULL
    GROUP BY trace_id
),
held AS (
    SELECT trace_id, sum(end_ns - start_ns) / 1000.0 AS held_us
    FROM _idle_intervals
    WHERE cause = 'work not recorded'
    GROUP BY trace_id
),
windows AS (
    SELECT trace_id, sum(window_us) AS window_us FROM time_breakdown GROUP BY trace_id
),
measures AS (
    SELECT
        trace_id, steps_without_work, steps_by_host_time, outside_steps_pct AS outside_steps,
        coalesce(100.0 * held_us / nullif(window_us, 0), 0) AS work_not_recorded
    FROM marked
    JOIN _outside_work USING (trace_id)
    LEFT JOIN held USING (trace_id)
    LEFT JOIN windows USING (trace_id)
)
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM judged_checks(measures);
