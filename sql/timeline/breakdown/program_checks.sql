-- One row per trace of JAX or TensorFlow with operations, and check of what its devices show. Are
-- the operations of a line nested or apart, does each device show its programs, and does each show
-- as many operations of the programs that all of them run?
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
CREATE VIEW program_checks AS
WITH shown AS (
    SELECT
        trace_id, device, program, sum(calls) AS calls, sum(overlapping) AS overlapping,
        count(*) OVER (PARTITION BY trace_id, program) AS devices_with_it
    FROM _op_totals
    SEMI JOIN (SELECT trace_id FROM traces WHERE format = 'jax') USING (trace_id)
    WHERE role = 'op'
    GROUP BY trace_id, device, program
),
counted AS (
    SELECT trace_id, count(DISTINCT device) AS device_count FROM shown GROUP BY trace_id
),
devices AS (
    SELECT
        trace_id, device, sum(overlapping) AS overlapping, count(program) = 0 AS lacks_programs,
        sum(calls) FILTER (program IS NOT NULL AND devices_with_it = device_count) AS shared_calls
    FROM shown
    JOIN counted USING (trace_id)
    GROUP BY trace_id, device
),
measures AS (
    SELECT
        trace_id, sum(overlapping) AS overlapping_operations,
        count(*) FILTER (lacks_programs) AS devices_without_programs,
        coalesce(100 * (1 - min(shared_calls) / max(shared_calls)), 0) AS uneven_operations
    FROM devices
    GROUP BY trace_id
)
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM judged_checks(measures);
