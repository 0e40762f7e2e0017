-- One row per operation of a device: all calls of one name in one program.
--
-- Each share has one denominator: busy_pct the own times of all operations of the device,
-- window_pct the window that the devices of a trace share. If several streams run at once, the
-- device's busy time is split among them in proportion to their own times, so that no sum of shares
-- exceeds 100. Asynchronous calls (role async) have no shares.
--
-- key: trace_id, device, program?, name?, role
--
-- trace_id           VARCHAR  trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- device             INTEGER  device
-- program            VARCHAR  compiled program, NULL if there are none
-- name               VARCHAR  name as the trace has it
-- role               VARCHAR  op, or async
-- canonical_name     VARCHAR  name shared by all instances
-- dedup_name         VARCHAR  name shared by the copies of one operation in the layers of a model,
--                             if the trace marks them; else the name
-- class              VARCHAR  compute, communication, copy, dma or wait
-- category           VARCHAR  kernel category, other where no rule fits
-- hlo_category       VARCHAR  category that XLA gives it
-- family             VARCHAR  family by family_rules, else the category
-- path               VARCHAR  scopes it belongs to most often, joined by =>
-- phase              VARCHAR  forward, backward or recompute, if these scopes show it
-- shape              VARCHAR  its most frequent shapes
-- dtype              VARCHAR  types of these
-- source             VARCHAR  file and line of the user's program it most often comes from
-- calls              BIGINT   calls
-- sum_us             DOUBLE   sum of their durations; a call contains those nested in it, µs
-- self_us            DOUBLE   time in which they were the innermost on their line, µs; their
--                             duration where they have no line or stream
-- mean_us            DOUBLE   mean duration, µs
-- max_us             DOUBLE   longest, µs
-- busy_pct           DOUBLE   share of the own times of all operations of the device
-- window_pct         DOUBLE   share of the device's window
-- xla_model_flop     HUGEINT  floating-point operations as XLA counts them (model_flops); 0 for
--                             custom calls and matrix products counts as unknown
-- flop               HUGEINT  floating-point operations of the calls where they are known: as XLA
--                             counts them, else 2 for each product that a matrix product, a
--                             convolution or an attention of these shapes sums up (operator_works)
-- flop_source        VARCHAR  where they are from: model_flops, shapes, both (of different calls)
--                             or none
-- flop_known_pct     DOUBLE   share of self_us in calls where they are known
-- tflops             DOUBLE   those operations over the own time of those calls, TFLOP/s
-- bytes              HUGEINT  bytes read and written, of the calls where known; unknown for calls
--                             that only begin or end a transfer beside the operations, and for
--                             custom calls (Pallas) of which XLA counts none
-- gbps               DOUBLE   those bytes over the own time of those calls, GB/s
-- overlapping_calls  BIGINT   calls that partly overlap another on their line
CREATE VIEW ops AS
WITH texts AS (
    SELECT
        trace_id, op_number,
        unnest([
            {'field': 'name', 'value': lower(canonical_name)},
            {'field': 'dedup_name', 'value': lower(dedup_name)},
            {'field': 'path', 'value': lower(path)},
            {'field': 'hlo_category', 'value': lower(hlo_category)},
            {'field': 'source', 'value': lower(source)},
            {'field': 'category', 'value': category},
            {'field': 'class', 'value': class}
        ]) AS text
    FROM _op_totals
),
fields AS (
    SELECT trace_id, op_number, text.field, text.value
    FROM texts
    WHERE text.value IS NOT NULL
),
matches AS (
    -- Rules are tried once per distinct text.
    SELECT field, value, min(priority) AS priority
    FROM (
        SELECT field, value, unnest(_matching_family_rules(value)) AS priority
        FROM (SELECT DISTINCT field, value FROM fields)
    )
    JOIN family_rules USING (priority, field)
    GROUP BY field, value
),
ruled AS (
    SELECT trace_id, op_number, min(priority) AS priority
    FROM fields
    JOIN matches USING (field, value)
    GROUP BY trace_id, op_number
),
busy AS (
    SELECT trace_id, device, sum(self_ns) AS self_ns
    FROM _op_totals
    WHERE role = 'op'
    GROUP BY trace_id, device
),
windows AS (
    SELECT
        trace_id, device,
        1.0 - (idle_us - wait_us) / nullif(window_us, 0) AS busy_share
    FROM time_breakdown
)
SELECT
    o.trace_id, o.rank, o.device, o.program, o.name, o.role, o.canonical_name, o.dedup_name,
    o.class, o.category, o.hlo_category, coalesce(family_rules.family, o.category) AS family,
    o.path, o.phase, o.shape, o.dtype, o.source, o.calls,
    o.total_ns / 1000.0 AS sum_us,
    o.self_ns / 1000.0 AS self_us,
    o.total_ns / o.calls / 1000.0 AS mean_us,
    o.max_ns / 1000.0 AS max_us,
    CASE WHEN o.role = 'op' THEN 100.0 * o.self_ns / nullif(busy.self_ns, 0) END AS busy_pct,
    CASE WHEN o.role = 'op' THEN 100.0 * busy_share * o.self_ns / nullif(busy.self_ns, 0) END
        AS window_pct,
    o.xla_model_flop, o.flop, o.flop_source,
    100.0 * coalesce(o.flop_ns, 0) / nullif(o.self_ns, 0) AS flop_known_pct,
    CAST(o.flop AS DOUBLE) / nullif(o.flop_ns, 0) / 1000 AS tflops,
    o.bytes,
    CAST(o.bytes AS DOUBLE) / nullif(o.bytes_ns, 0) AS gbps,
    o.overlapping AS overlapping_calls
FROM _op_totals AS o
LEFT JOIN ruled ON ruled.trace_id = o.trace_id AND ruled.op_number = o.op_number
LEFT JOIN family_rules ON family_rules.priority = ruled.priority
LEFT JOIN busy
    ON busy.trace_id = o.trace_id AND busy.device = o.device
LEFT JOIN windows
    ON windows.trace_id = o.trace_id AND windows.device = o.device;
