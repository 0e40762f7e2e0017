-- One row per side of a comparison with steps to measure: how much there is of it.
--
-- side        VARCHAR  side
-- traces      BIGINT   traces
-- runs        BIGINT   runs; a trace of none is one
-- replicates  BIGINT   replicates that noise is measured between, see _side_blocks
-- steps       BIGINT   steps of all traces
-- samples     BIGINT   these, each once for each device
CREATE VIEW _side_sizes AS
SELECT
    side, count(DISTINCT trace_id) AS traces, count(DISTINCT unit) AS runs,
    count(DISTINCT replicate) AS replicates, CAST(sum(steps) AS BIGINT) AS steps,
    CAST(sum(samples) AS BIGINT) AS samples
FROM _side_blocks
GROUP BY side;
