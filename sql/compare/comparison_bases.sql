-- One row per trace: what its measures are taken per when traces are compared.
--
-- trace_id  VARCHAR  trace
-- basis     VARCHAR  steady step, with what tells the steps and what they run; whole trace where it
--                    has none
-- program   VARCHAR  what those steps run, NULL when not shown
-- steps     BIGINT   steady steps of the main program
-- devices   BIGINT   devices
CREATE VIEW comparison_bases AS
WITH devices AS (
    SELECT trace_id, count(*) AS devices FROM time_breakdown GROUP BY trace_id
),
mains AS (
    SELECT trace_id, step_source, program, steps
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
    mains.program, coalesce(mains.steps, 0) AS steps, devices
FROM devices
LEFT JOIN mains USING (trace_id);
