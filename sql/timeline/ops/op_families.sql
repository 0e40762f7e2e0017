-- One row per device and family of operations: all operations, without a cutoff.
--
-- key: trace_id, device, family
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device
-- family           VARCHAR  family by family_rules, else the kernel category
-- ops              BIGINT   distinct operations
-- calls            BIGINT   calls
-- sum_us           DOUBLE   sum of their durations, µs
-- self_us          DOUBLE   time in which they were the innermost on their line, µs
-- mean_us          DOUBLE   mean duration, µs
-- busy_pct         DOUBLE   share of the own times of all operations of the device; sums to 100
-- window_pct       DOUBLE   share of the device's window
-- xla_model_flop   HUGEINT  floating-point operations as XLA counts them
-- flop             HUGEINT  floating-point operations of the calls where they are known, see ops
-- flop_source      VARCHAR  where they are from: model_flops, shapes, both or none
-- flop_known_pct   DOUBLE   share of self_us in calls where they are known
-- tflops           DOUBLE   those operations over the own time of those calls, TFLOP/s
-- bytes            HUGEINT  bytes read and written, of the calls where known
-- gbps             DOUBLE   those bytes over the own time of those calls, GB/s
-- example          VARCHAR  the operation with the most own time
-- example_shape    VARCHAR  its shapes
CREATE VIEW op_families AS
SELECT
    trace_id, rank, device, family,
    count(*) AS ops,
    CAST(sum(calls) AS BIGINT) AS calls,
    sum(sum_us) AS sum_us,
    sum(self_us) AS self_us,
    sum(sum_us) / sum(calls) AS mean_us,
    sum(busy_pct) AS busy_pct,
    sum(window_pct) AS window_pct,
    CAST(sum(xla_model_flop) AS HUGEINT) AS xla_model_flop,
    CAST(sum(flop) AS HUGEINT) AS flop,
    CASE
        WHEN bool_or(flop_source IN ('model_flops', 'both'))
            THEN if(bool_or(flop_source IN ('shapes', 'both')), 'both', 'model_flops')
        WHEN bool_or(flop_source = 'shapes') THEN 'shapes'
        ELSE 'none'
    END AS flop_source,
    sum(flop_known_pct * self_us) / nullif(sum(self_us), 0) AS flop_known_pct,
    sum(CAST(flop AS DOUBLE)) / nullif(sum(flop_known_pct * self_us) / 100, 0) / 1e6
        AS tflops,
    CAST(sum(bytes) AS HUGEINT) AS bytes,
    sum(CAST(bytes AS DOUBLE))
        / nullif(sum(CAST(bytes AS DOUBLE) / nullif(gbps, 0)), 0)
        AS gbps,
    arg_max(name, (self_us, name)) AS example,
    arg_max(shape, (self_us, name)) AS example_shape
FROM ops
WHERE role = 'op'
GROUP BY trace_id, rank, device, family;
