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
SELECT
    p.trace_id, p.rank, p.device, p.pass_id, p.layer_id, p.half,
    row_number() OVER (layer ORDER BY p.seq) - 1 AS position,
    row_number() OVER (layer ORDER BY p.dur_ns DESC, p.start_ns, p.seq) - 1 AS hot_rank,
    p.kernel_id, k.name, k.display_name, k.category, k.kind, p.start_ns, p.end_ns,
    p.dur_ns / 1000.0 AS dur_us,
    100.0 * p.dur_ns / nullif(sum(p.dur_ns) OVER layer, 0) AS layer_pct,
    (p.start_ns - t.origin_ns) / 1000000.0 AS rel_ms, k.input_dims
FROM _places AS p
JOIN kernels AS k ON k.trace_id = p.trace_id AND k.kernel_id = p.kernel_id
JOIN traces AS t ON t.trace_id = p.trace_id
WHERE p.layer_id IS NOT NULL
WINDOW layer AS (PARTITION BY p.trace_id, p.device, p.pass_id, p.layer_id);
