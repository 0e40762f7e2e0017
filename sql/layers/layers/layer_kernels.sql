-- One row per kernel, copy or fill of memory inside a layer. Kernels decide where a layer begins
-- and ends; a copy that the layer launched may run outside these limits, as may a kernel on another
-- stream that runs beside other layers, such as a gather of weights ahead of time.
--
-- key: trace_id, kernel_id
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device the kernel ran on
-- pass_id       BIGINT   pass, from 0 in time order
-- layer_id      BIGINT   layer, from 0
-- half          VARCHAR  attn, ffn or moe; self or cross where a decoder attends to an
--                        encoder; full where the layer has one block
-- position      BIGINT   place in the layer by start, from 0
-- hot_rank      BIGINT   place in the layer by duration, from 0; equal ones by start
-- kernel_id     BIGINT   the operation
-- name          VARCHAR  its name
-- display_name  VARCHAR  its name, shortened for people
-- category      VARCHAR  its category
-- kind          VARCHAR  compute, communication or memory
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- dur_us        DOUBLE   its duration
-- layer_pct     DOUBLE   share of the layer's summed durations
-- rel_ms        DOUBLE   its start, counted from the start of the trace
-- input_dims    VARCHAR  shapes of the operator that launched it, NULL if unknown
CREATE VIEW layer_kernels AS
WITH ranked AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, half, kernel_id, start_ns, end_ns, dur_ns,
        row_number() OVER (layer ORDER BY seq) - 1 AS position,
        row_number() OVER (layer ORDER BY dur_ns DESC, start_ns, seq) - 1 AS hot_rank,
        100.0 * dur_ns / nullif(sum(dur_ns) OVER layer, 0) AS layer_pct
    FROM _places
    WHERE layer_id IS NOT NULL
    WINDOW layer AS (PARTITION BY trace_id, device, pass_id, layer_id)
)
SELECT
    r.trace_id, r.rank, r.device, r.pass_id, r.layer_id, r.half, r.position, r.hot_rank,
    r.kernel_id, k.name, k.display_name, k.category, k.kind, r.start_ns, r.end_ns,
    r.dur_ns / 1000.0 AS dur_us, r.layer_pct, (r.start_ns - t.origin_ns) / 1000000.0 AS rel_ms,
    k.input_dims
FROM ranked AS r
JOIN kernels AS k ON k.trace_id = r.trace_id AND k.kernel_id = r.kernel_id
JOIN traces AS t ON t.trace_id = r.trace_id;
