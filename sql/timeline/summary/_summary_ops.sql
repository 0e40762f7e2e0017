-- One row per trace, program and operation, over all devices.
-- trace_id         VARCHAR  trace
-- op               VARCHAR  name shared by the copies if the trace marks them, else the name
-- program          VARCHAR  compiled program, NULL if there are none
-- class            VARCHAR  compute, communication, copy, dma or wait
-- family           VARCHAR  family by family_rules, else the kernel category
-- calls            BIGINT   calls
-- self_us          DOUBLE   own time of all calls
-- share_pct        DOUBLE   share of the time of all devices; of all own times, where these are
--                           more
-- mean_us          DOUBLE   mean duration
-- flop             DOUBLE   floating-point operations of the calls where they are known
-- flop_source      VARCHAR  where they are from: model_flops, shapes, both or none
-- tflops           DOUBLE   those by the own time of those calls, TFLOP/s
-- shape            VARCHAR  shapes of the name with most own time
-- path             VARCHAR  its scopes
CREATE VIEW _summary_ops AS
SELECT
    o.trace_id, op, program, arg_max(class, (self_us, class)) AS class,
    arg_max(family, (self_us, family)) AS family,
    CAST(sum(calls) AS BIGINT) AS calls, sum(self_us) AS self_us,
    100 * sum(self_us) / greatest(any_value(device_time_us), any_value(own_us)) AS share_pct,
    sum(sum_us) / sum(calls) AS mean_us, CAST(sum(flop) AS DOUBLE) AS flop,
    _flop_sources(flop_source) AS flop_source,
    sum(tflops * self_us) / nullif(sum(self_us) FILTER (tflops IS NOT NULL), 0)
        AS tflops,
    arg_max(shape, (self_us, shape)) AS shape, arg_max(path, (self_us, path)) AS path
FROM _named_ops AS o
LEFT JOIN _trace_times AS t ON t.trace_id = o.trace_id
LEFT JOIN _own_times AS own ON own.trace_id = o.trace_id
GROUP BY o.trace_id, op, program;
