-- One row per trace: the unit that its measures are per when traces are compared.
--
-- stored: per trace
--
-- key: trace_id
--
-- trace_id      VARCHAR  trace
-- basis         VARCHAR  steady step, with the source of the steps and what they run; whole trace
--                        where it has none
-- step_source   VARCHAR  source of those steps, NULL if there are none
-- work_source   VARCHAR  source of their work, see steps
-- program       VARCHAR  what they run, NULL if not shown
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
