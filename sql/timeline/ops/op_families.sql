-- One row per device and family of operations: all operations, none cut off.
--
-- key: trace_id, device, family
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device
-- family           VARCHAR  family by family_rules, else the kernel category
-- ops              BIGINT   distinct operations
-- calls            BIGINT   calls
-- total_us         DOUBLE   sum of their durations, µs
-- self_us          DOUBLE   time in which they were the innermost of their line, µs
-- mean_us          DOUBLE   mean duration, µs
-- busy_pct         DOUBLE   share of the own times of all operations of the device; sums to 100
-- window_pct       DOUBLE   share of the device's window
-- model_flops      HUGEINT  floating-point operations as XLA counts them
-- flops            HUGEINT  floating-point operations of the calls of which they are known, see ops
-- flops_source     VARCHAR  where they are from: model_flops, shapes, both or none
-- flops_known_pct  DOUBLE   share of self_us in calls of which they are known
-- achieved_tflops  DOUBLE   those operations by the own time of those calls, TFLOP/s
-- bytes_accessed   HUGEINT  bytes read and written, of the calls where known
-- achieved_gbps    DOUBLE   those bytes by the own time of those calls, GB/s
-- example          VARCHAR  the operation with most own time
-- example_shape    VARCHAR  its shapes
CREATE VIEW op_families AS
SELECT
    trace_id, rank, device, family,
    count(*) AS ops,
    CAST(sum(calls) AS BIGINT) AS calls,
    sum(total_us) AS total_us,
    sum(self_us) AS self_us,
    sum(total_us) / sum(calls) AS mean_us,
    sum(busy_pct) AS busy_pct,
    sum(window_pct) AS window_pct,
    CAST(sum(model_flops) AS HUGEINT) AS model_flops,
    CAST(sum(flops) AS HUGEINT) AS flops,
    CASE
        WHEN bool_or(flops_source IN ('model_flops', 'both'))
            THEN if(bool_or(flops_source IN ('shapes', 'both')), 'both', 'model_flops')
        WHEN bool_or(flops_source = 'shapes') THEN 'shapes'
        ELSE 'none'
    END AS flops_source,
    sum(flops_known_pct * self_us) / nullif(sum(self_us), 0) AS flops_known_pct,
    sum(CAST(flops AS DOUBLE)) / nullif(sum(flops_known_pct * self_us) / 100, 0) / 1e6
        AS achieved_tflops,
    CAST(sum(bytes_accessed) AS HUGEINT) AS bytes_accessed,
    sum(CAST(bytes_accessed AS DOUBLE))
        / nullif(sum(CAST(bytes_accessed AS DOUBLE) / nullif(achieved_gbps, 0)), 0)
        AS achieved_gbps,
    arg_max(name, (self_us, name)) AS example,
    arg_max(shape, (self_us, name)) AS example_shape
FROM ops
WHERE role = 'op'
GROUP BY trace_id, rank, device, family;
