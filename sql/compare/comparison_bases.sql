-- One row per trace: what its measures are taken per when traces are compared.
--
-- Materialised per trace.
--
-- trace_id      VARCHAR  trace
-- basis         VARCHAR  steady step, with what tells the steps and what they run; whole trace
--                        where it has none
-- step_source   VARCHAR  what tells those steps, NULL where there are none
-- work_source   VARCHAR  what tells the work of those steps, see steps
-- program       VARCHAR  what they run, NULL when not shown
-- steps         BIGINT   steady steps of the main program
-- without_work  BIGINT   of these, steps to which no device operation belongs
-- devices       BIGINT   devices
CREATE VIEW comparison_bases AS
WITH devices AS (
    SELECT trace_id, count(*) AS devices FROM time_breakdown GROUP BY trace_id
),
mains AS (
    SELECT trace_id, step_source, work_source, program, steps, without_work
    FROM step_summary
    WHERE is_main AND scope = 'steady' AND steps > 0
)
SELECT
    trace_id,
    CASE
        WHEN mains.steps > 0 THEN
            concat('steady step (', mains.step_source, coalesce(' of ' || mains.program, ''), ')')
        ELSE 'whole trace'
    END AS basis,
    mains.step_source, mains.work_source, mains.program, coalesce(mains.steps, 0) AS steps,
    coalesce(mains.without_work, 0) AS without_work, devices
FROM devices
LEFT JOIN mains USING (trace_id);
