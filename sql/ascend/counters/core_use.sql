-- One row per Ascend trace, type of operation and kind of core: how well its kernels use the cores,
-- by their counters. Kernels without a counter count only in calls and sum_us.
--
-- key: trace_id, op_type, core
--
-- trace_id              VARCHAR  trace
-- op_type               VARCHAR  type of operation
-- core                  VARCHAR  kind of core that ran it
-- calls                 BIGINT   kernels
-- sum_us                DOUBLE   sum of their durations, µs
-- cube_utilization_pct  DOUBLE   share of all cube cores' cycles during the kernels, as the
--                                profiler counted it: mean over their time
-- mac_pct               DOUBLE   share of the cubes' cycles in which they multiply
-- mte2_pct              DOUBLE   share of the cubes' cycles in which memory is read
-- vector_pct            DOUBLE   share of cycles in which the vector units work: of the vector
--                                cores, if the chip has them
-- pmu_tflops            DOUBLE   work of the cubes by their counters over the time of the kernels
--                                for which it is known, TFLOP/s
CREATE VIEW core_use AS
WITH rows_with_cycles AS (
    SELECT
        trace_id, op_type, core, dur_us, cube_utilization_pct, cube_cycles, mac_ratio, mte2_ratio,
        vector_ratio, pmu_flop,
        coalesce(nullif(vector_cycles, 0), cube_cycles) AS vector_side_cycles
    FROM kernel_pmu
    WHERE counted
)
SELECT
    trace_id, op_type, core, count(*) AS calls, sum(dur_us) AS sum_us,
    sum(cube_utilization_pct * dur_us)
        / nullif(sum(dur_us) FILTER (cube_utilization_pct IS NOT NULL), 0) AS cube_utilization_pct,
    100 * sum(mac_ratio * cube_cycles)
        / nullif(sum(cube_cycles) FILTER (mac_ratio IS NOT NULL), 0) AS mac_pct,
    100 * sum(mte2_ratio * cube_cycles)
        / nullif(sum(cube_cycles) FILTER (mte2_ratio IS NOT NULL), 0) AS mte2_pct,
    100 * sum(vector_ratio * vector_side_cycles)
        / nullif(sum(vector_side_cycles) FILTER (vector_ratio IS NOT NULL), 0) AS vector_pct,
    sum(pmu_flop) / nullif(sum(dur_us) FILTER (pmu_flop IS NOT NULL), 0) / 1e6 AS pmu_tflops
FROM rows_with_cycles
GROUP BY trace_id, op_type, core
HAVING coalesce(
    sum(cube_utilization_pct), sum(mac_ratio), sum(mte2_ratio), sum(vector_ratio), sum(pmu_flop)
) IS NOT NULL;
