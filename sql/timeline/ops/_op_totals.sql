-- One row per operation of a device, program and line role with the sums over its calls. Sums of
-- times may exceed 64 bits; as DOUBLE they are exact to the nanosecond up to 104 days.
--
-- stored: per trace
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job
-- device          INTEGER  device
-- program         VARCHAR  compiled program, NULL if there are none
-- name            VARCHAR  name
-- role            VARCHAR  op, or async
-- op_number       BIGINT   number of the row in its trace, from 1
-- canonical_name  VARCHAR  name shared by all instances
-- dedup_name      VARCHAR  name shared by the copies of one operation
-- class           VARCHAR  compute, communication, copy, dma or wait
-- category        VARCHAR  kernel category
-- hlo_category    VARCHAR  category that XLA gives it
-- path            VARCHAR  most frequent scopes
-- phase           VARCHAR  phase of these
-- shape           VARCHAR  most frequent shapes
-- dtype           VARCHAR  types of these
-- source          VARCHAR  most frequent source line
-- calls           BIGINT   calls
-- total_ns        DOUBLE   sum of durations, ns
-- self_ns         DOUBLE   sum of own times, ns
-- max_ns          BIGINT   longest, ns
-- xla_model_flop  HUGEINT  operations as XLA counts them
-- flop            HUGEINT  operations of the calls where they are known
-- flop_source     VARCHAR  model_flops, shapes, both or none
-- flop_ns         DOUBLE   own time of those calls, ns
-- bytes           HUGEINT  bytes of the calls where known
-- bytes_ns        DOUBLE   own time of those calls, ns
-- overlapping     BIGINT   calls that partly overlap another of their line
CREATE VIEW _op_totals AS
WITH variants AS (
    SELECT
        trace_id, rank, device, program, name, role, path, phase, shape, dtype, source,
        min(canonical_name) AS canonical_name, min(dedup_name) AS dedup_name,
        -- Operations of several classes may share a name: the longest call decides.
        max_by(class, row(dur_ns, class)) AS class,
        max_by(category, row(dur_ns, category)) AS category,
        min(hlo_category) AS hlo_category, count(*) AS calls, sum(dur_ns) AS total_ns,
        sum(self_ns) AS self_ns, max(dur_ns) AS max_ns, sum(xla_model_flop) AS xla_model_flop,
        sum(flop) AS flop, sum(self_ns) FILTER (flop IS NOT NULL) AS flop_ns,
        bool_or(flop_source = 'model_flops') AS is_given,
        bool_or(flop_source = 'shapes') AS is_derived, sum(bytes_accessed) AS bytes,
        sum(self_ns) FILTER (bytes_accessed IS NOT NULL) AS bytes_ns,
        count(*) FILTER (is_overlapping) AS overlapping
    FROM _device_ops
    GROUP BY
        trace_id, rank, device, program, name, role, path, phase, shape, dtype, source
)
SELECT
    trace_id, rank, device, program, name, role,
    row_number() OVER (
        PARTITION BY trace_id ORDER BY rank, device, program, name, role
    ) AS op_number,
    min(canonical_name) AS canonical_name,
    min(dedup_name) AS dedup_name,
    max_by(class, row(max_ns, class)) AS class,
    max_by(category, row(max_ns, category)) AS category,
    min(hlo_category) AS hlo_category,
    arg_max(path, (calls, path)) AS path,
    arg_max(phase, (calls, path, phase)) FILTER (path IS NOT NULL) AS phase,
    arg_max(shape, (calls, shape)) AS shape,
    arg_max(dtype, (calls, shape, dtype)) FILTER (shape IS NOT NULL) AS dtype,
    arg_max(source, (calls, source)) AS source,
    CAST(sum(calls) AS BIGINT) AS calls,
    CAST(sum(total_ns) AS DOUBLE) AS total_ns,
    CAST(sum(self_ns) AS DOUBLE) AS self_ns,
    max(max_ns) AS max_ns,
    CAST(sum(xla_model_flop) AS HUGEINT) AS xla_model_flop,
    CAST(sum(flop) AS HUGEINT) AS flop,
    CASE
        WHEN bool_or(is_given) AND bool_or(is_derived) THEN 'both'
        WHEN bool_or(is_given) THEN 'model_flops'
        WHEN bool_or(is_derived) THEN 'shapes'
        ELSE 'none'
    END AS flop_source,
    CAST(sum(flop_ns) AS DOUBLE) AS flop_ns,
    CAST(sum(bytes) AS HUGEINT) AS bytes,
    CAST(sum(bytes_ns) AS DOUBLE) AS bytes_ns,
    CAST(sum(overlapping) AS BIGINT) AS overlapping
FROM variants
GROUP BY trace_id, rank, device, program, name, role;
