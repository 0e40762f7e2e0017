-- One row per trace and family of operations, over all devices.
-- trace_id         VARCHAR  trace
-- family           VARCHAR  family by family_rules, else the kernel category
-- calls            HUGEINT  calls
-- self_us          DOUBLE   own time of all calls
-- share_pct        DOUBLE   share of all own times
-- mean_us          DOUBLE   mean own time
-- flop             HUGEINT  floating-point operations of the calls where they are known
-- flop_source      VARCHAR  where they are from: model_flops, shapes, both or none
-- tflops           DOUBLE   those by the own time of those calls, TFLOP/s
-- example          VARCHAR  operation of the family with most own time
-- example_shape    VARCHAR  its shapes
CREATE VIEW _summary_families AS
SELECT
    f.trace_id, family, sum(calls) AS calls, sum(self_us) AS self_us,
    100 * sum(self_us) / nullif(any_value(own_us), 0) AS share_pct,
    sum(self_us) / sum(calls) AS mean_us, sum(flop) AS flop,
    _flop_sources(flop_source) AS flop_source,
    sum(tflops * self_us * flop_known_pct)
        / nullif(sum(self_us * flop_known_pct), 0) AS tflops,
    arg_max(example, (self_us, example)) AS example,
    arg_max(example_shape, (self_us, example, example_shape)) AS example_shape
FROM op_families AS f
LEFT JOIN _own_times AS own ON own.trace_id = f.trace_id
GROUP BY f.trace_id, family;
