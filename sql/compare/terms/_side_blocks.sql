-- One row per side of a comparison, replicate of it and block of steps: the times of a side differ
-- between its replicates by noise alone. The replicates of a side are its runs or, if it has only
-- one run, blocks of steps, of all its ranks together.
--
-- side        VARCHAR  side
-- trace_id    VARCHAR  trace
-- step_block  BIGINT   block of steps
-- unit        VARCHAR  run, or trace without one
-- units       BIGINT   number of these that the side has
-- replicate   VARCHAR  replicate
-- steps       BIGINT   steps in the block
-- samples     BIGINT   steps in the block, each counted once per device
-- slowest_ns  BIGINT   time of the steps, each on its slowest device, ns
CREATE VIEW _side_blocks AS
WITH units AS (
    SELECT side, count(DISTINCT unit) AS units
    FROM comparison_sides
    JOIN step_blocks USING (trace_id)
    GROUP BY side
)
SELECT
    side, trace_id, step_block, unit, units,
    if(units > 1, unit, CAST(step_block AS VARCHAR)) AS replicate, steps, samples,
    slowest_ns
FROM comparison_sides
JOIN units USING (side)
JOIN step_blocks USING (trace_id);
