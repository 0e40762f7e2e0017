-- One row per pass, layer and half: attention and feed-forward, where anchors separate them.
--
-- key: trace_id, device, pass_id, layer_id, half
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device the layer ran on
-- pass_id       BIGINT   pass, from 0 in time order
-- layer_id      BIGINT   layer, from 0
-- half          VARCHAR  attn, ffn or moe; self or cross where a decoder attends to an
--                        encoder; full where the layer has one block
-- start_ns      BIGINT   start of its first kernel, or of the layer if that is later
-- end_ns        BIGINT   latest end of its kernels, or of the layer if that is earlier
-- wall_us       DOUBLE   from that start to that end
-- sum_us        DOUBLE   sum of durations, copies and fills of memory included; overlaps count
--                        twice
-- kernel_count  BIGINT   kernels, without copies and fills of memory
-- memory_count  BIGINT   copies and fills of memory
-- memory_us     DOUBLE   sum of their durations, part of sum_us
CREATE VIEW layer_halves AS
WITH halves AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, half,
        min(start_ns) FILTER (kind <> 'memory') AS start_ns,
        max(end_ns) FILTER (kind <> 'memory') AS end_ns,
        sum(dur_ns) / 1000.0 AS sum_us, count(*) FILTER (kind <> 'memory') AS kernel_count,
        count(*) FILTER (kind = 'memory') AS memory_count,
        coalesce(sum(dur_ns) FILTER (kind = 'memory'), 0) / 1000.0 AS memory_us
    FROM _places
    WHERE layer_id IS NOT NULL
    GROUP BY trace_id, rank, device, pass_id, layer_id, half
)
SELECT
    h.trace_id, h.rank, h.device, h.pass_id, h.layer_id, h.half,
    least(greatest(h.start_ns, l.start_ns), l.end_ns) AS start_ns,
    greatest(least(h.end_ns, l.end_ns), l.start_ns) AS end_ns,
    (
        greatest(least(h.end_ns, l.end_ns), l.start_ns)
        - least(greatest(h.start_ns, l.start_ns), l.end_ns)
    ) / 1000.0 AS wall_us,
    h.sum_us, h.kernel_count, h.memory_count, h.memory_us
FROM halves AS h
JOIN _layer_spans AS l
    ON l.trace_id = h.trace_id
    AND l.device = h.device
    AND l.pass_id = h.pass_id
    AND l.layer_id = h.layer_id;
