-- One row per trace: the unit that its measures are per when traces are compared.
--
-- stored: per trace
--
-- key: trace_id
--
-- trace_id           VARCHAR  trace
-- basis              VARCHAR  steady step, with the source of the steps and what they run; whole
--                             trace where it has none
-- step_source        VARCHAR  source of those steps, NULL if there are none
-- work_source        VARCHAR  source of their work, see steps
-- program            VARCHAR  what they run, NULL if not shown
-- steps              BIGINT   steady steps of the main program
-- without_work       BIGINT   of these, steps to which no device operation belongs
-- program_pct        DOUBLE   share of the steady steps' time that these take, %; NULL if there are
--                             none
-- other_steps        BIGINT   steady steps of other programs, which no measure of a comparison
--                             counts
-- devices            BIGINT   devices
-- outside_steps_pct  DOUBLE   share of the time of its device operations, of all devices, that
--                             belong to no step and to no drafts of speculative decoding that an
--                             engine marks, %; NULL without steps
-- between_steps_us   DOUBLE   median, over its steady steps but the last, of the time of operations
--                             that belong to no step, drafts included, and begin between the step's
--                             first operation and that of the next, per device, µs; NULL with fewer
--                             than two
CREATE VIEW comparison_bases AS
WITH devices AS (
    SELECT trace_id, count(*) AS devices FROM time_breakdown GROUP BY trace_id
),
programs AS (
    SELECT
        trace_id, step_source, work_source, program, is_main, steps, without_work,
        100 * mean_us * (steps - without_work)
            / nullif(sum(mean_us * (steps - without_work)) OVER of_trace, 0) AS program_pct,
        CAST(sum(steps) OVER of_trace AS BIGINT) - steps AS other_steps
    FROM step_summary
    WHERE scope = 'steady' AND steps > 0
    WINDOW of_trace AS (PARTITION BY trace_id)
),
mains AS (
    SELECT
        trace_id, step_source, work_source, program, steps, without_work, program_pct, other_steps
    FROM programs
    WHERE is_main
)
SELECT
    trace_id,
    CASE
        WHEN mains.steps > 0 THEN
            concat('steady step (', mains.step_source, coalesce(' of ' || mains.program, ''), ')')
        ELSE 'whole trace'
    END AS basis,
    mains.step_source, mains.work_source, mains.program, coalesce(mains.steps, 0) AS steps,
    coalesce(mains.without_work, 0) AS without_work, program_pct,
    coalesce(other_steps, 0) AS other_steps, devices, outside_steps_pct, between_steps_us
FROM devices
LEFT JOIN mains USING (trace_id)
LEFT JOIN _outside_work USING (trace_id);
