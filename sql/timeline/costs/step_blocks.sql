-- One row per trace and block of the steps that it is compared by: how many there are, and how long
-- they take. The noise of a comparison is measured between blocks, see _compared_steps.
--
-- stored: per trace
--
-- key: trace_id, step_block
--
-- trace_id    VARCHAR  trace
-- step_block  BIGINT   block of consecutive steps, from 0 in time order; 0 for a whole trace
-- steps       BIGINT   steps in it; 1 for a whole trace
-- samples     BIGINT   pairs of such a step and a device with work of it; mean times are over these
-- dur_ns      BIGINT   time of all samples, ns; NULL beyond 64 bits
-- dur_us      DOUBLE   the same, µs
-- slowest_ns  BIGINT   time of its steps, each on the device where it takes longest, ns; NULL
--                      beyond 64 bits
CREATE VIEW step_blocks AS
SELECT
    trace_id, step_block, count(*) AS steps, CAST(sum(devices) AS BIGINT) AS samples,
    TRY_CAST(sum(total_ns) AS BIGINT) AS dur_ns, sum(total_ns) / 1000.0 AS dur_us,
    TRY_CAST(sum(longest_ns) AS BIGINT) AS slowest_ns
FROM (
    SELECT
        trace_id, step_block, step_id, count(*) AS devices, sum(end_ns - start_ns) AS total_ns,
        max(end_ns - start_ns) AS longest_ns
    FROM _compared_steps
    GROUP BY trace_id, step_block, step_id
)
GROUP BY trace_id, step_block;
