-- One row per side of a comparison with steps to measure: its size.
--
-- side        VARCHAR  side
-- traces      BIGINT   traces
-- runs        BIGINT   runs; a trace without a run is one
-- replicates  BIGINT   replicates that noise is measured between, see _side_blocks
-- steps       BIGINT   steps of all traces
-- samples     BIGINT   steps of all traces, each counted once per device
CREATE VIEW _side_sizes AS
SELECT
    side, count(DISTINCT trace_id) AS traces, count(DISTINCT unit) AS runs,
    count(DISTINCT replicate) AS replicates, CAST(sum(steps) AS BIGINT) AS steps,
    CAST(sum(samples) AS BIGINT) AS samples
FROM _side_blocks
GROUP BY side;
