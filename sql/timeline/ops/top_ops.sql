-- One row per operation of a trace, those with the most own time, over all devices and all copies
-- of the operation in the layers of a model.
--
-- `FROM top_ops(trace)` with the name or the id of a trace, or `top_ops(trace, how_many := 30)`;
-- ops has all of them, by device.
--
-- trace_id        VARCHAR  trace
-- place           BIGINT   order by own time, from 1
-- program         VARCHAR  compiled program, NULL if there are none
-- op              VARCHAR  name shared by the copies if the trace marks them, else the name
-- class           VARCHAR  compute, communication, copy, dma or wait
-- family          VARCHAR  family by family_rules, else the kernel category
-- calls           BIGINT   calls
-- devices         BIGINT   devices that run it
-- self_us         DOUBLE   own time of all calls, µs
-- mean_us         DOUBLE   mean duration, µs
-- busy_pct        DOUBLE   share of the own times of all operations of all devices
-- flop            DOUBLE   floating-point operations of the calls where they are known
-- flop_source     VARCHAR  model_flops, shapes, both or none, see ops
-- tflops          DOUBLE   those over the own time of those calls, TFLOP/s
-- bytes           DOUBLE   bytes read and written, of the calls where known
-- shape           VARCHAR  shapes of the name with the most own time
-- path            VARCHAR  its scopes
CREATE MACRO top_ops(of_trace, how_many := 10) AS TABLE
WITH summed AS (
    SELECT
        trace_id, program, op, arg_max(class, (self_us, class)) AS class,
        arg_max(family, (self_us, family)) AS family, CAST(sum(calls) AS BIGINT) AS calls,
        count(DISTINCT device) AS devices, sum(self_us) AS self_us,
        sum(sum_us) / sum(calls) AS mean_us, CAST(sum(flop) AS DOUBLE) AS flop,
        _flop_sources(flop_source) AS flop_source,
        sum(self_us * flop_known_pct) / 100 AS known_us,
        CAST(sum(bytes) AS DOUBLE) AS bytes,
        arg_max(shape, (self_us, shape)) AS shape,
        arg_max(path, (self_us, path)) AS path
    FROM _named_ops
    SEMI JOIN _named_traces(of_trace) AS wanted USING (trace_id)
    GROUP BY trace_id, program, op
),
ranked AS (
    SELECT
        trace_id,
        row_number() OVER (PARTITION BY trace_id ORDER BY self_us DESC, op, program) AS place,
        program, op, class, family, calls, devices, self_us, mean_us,
        100 * self_us / nullif(sum(self_us) OVER (PARTITION BY trace_id), 0) AS busy_pct, flop,
        flop_source, flop / nullif(known_us, 0) / 1e6 AS tflops, bytes, shape,
        path
    FROM summed
)
SELECT
    trace_id, place, program, op, class, family, calls, devices, self_us, mean_us, busy_pct, flop,
    flop_source, tflops, bytes, shape, path
FROM ranked
WHERE place <= how_many
ORDER BY trace_id, place;
