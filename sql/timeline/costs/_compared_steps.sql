-- One row per device and step that a trace is compared by: the steady steps of its main program
-- that have work, else the whole trace as one.
--
-- Steps are gathered into at most 32 blocks of consecutive ones; noise is measured between blocks.
-- So a trace of ten thousand steps costs no more than one of 32, and steps that resemble their
-- neighbours, as while a chip warms up, do not count as that many independent ones.
--
-- trace_id    VARCHAR  trace
-- device      INTEGER  device
-- step_id     BIGINT   step; 0 for a whole trace
-- step_block  BIGINT   its block, from 0 in time order
-- start_ns    BIGINT   start, ns
-- end_ns      BIGINT   end, ns
-- is_whole    BOOLEAN  it is the whole trace
CREATE VIEW _compared_steps AS
WITH steady AS (
    SELECT steps.trace_id, device, step_id, start_ns, end_ns
    FROM steps
    JOIN comparison_bases AS bases
        ON bases.trace_id = steps.trace_id AND bases.steps > 0
        AND bases.program IS NOT DISTINCT FROM steps.program
    WHERE NOT is_warm_up AND NOT is_partial AND device >= 0 AND end_ns > start_ns
),
blocks AS (
    SELECT
        trace_id, step_id,
        (row_number() OVER of_trace - 1) * least(count(*) OVER (PARTITION BY trace_id), 32)
            // count(*) OVER (PARTITION BY trace_id) AS step_block
    FROM (SELECT DISTINCT trace_id, step_id FROM steady)
    WINDOW of_trace AS (PARTITION BY trace_id ORDER BY step_id)
)
SELECT trace_id, device, step_id, step_block, start_ns, end_ns, FALSE AS is_whole
FROM steady
JOIN blocks USING (trace_id, step_id)
UNION ALL
SELECT trace_id, device, 0, 0, start_ns, end_ns, TRUE
FROM time_breakdown
JOIN comparison_bases USING (trace_id)
WHERE steps = 0 AND end_ns > start_ns;
