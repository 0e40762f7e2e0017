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
-- start_ns      BIGINT   start of its first kernel
-- end_ns        BIGINT   latest end of its kernels
-- wall_us       DOUBLE   from that start to that end
-- sum_us        DOUBLE   sum of durations, copies and fills of memory included; overlaps count
--                        twice
-- kernel_count  BIGINT   kernels, without copies and fills of memory
-- memory_count  BIGINT   copies and fills of memory
-- memory_us     DOUBLE   sum of their durations, part of sum_us
CREATE VIEW layer_halves AS
SELECT
    trace_id, rank, device, pass_id, layer_id, half,
    min(start_ns) FILTER (kind <> 'memory') AS start_ns,
    max(end_ns) FILTER (kind <> 'memory') AS end_ns,
    (max(end_ns) FILTER (kind <> 'memory') - min(start_ns) FILTER (kind <> 'memory')) / 1000.0
        AS wall_us,
    sum(dur_ns) / 1000.0 AS sum_us, count(*) FILTER (kind <> 'memory') AS kernel_count,
    count(*) FILTER (kind = 'memory') AS memory_count,
    coalesce(sum(dur_ns) FILTER (kind = 'memory'), 0) / 1000.0 AS memory_us
FROM _places
WHERE layer_id IS NOT NULL
GROUP BY trace_id, rank, device, pass_id, layer_id, half;
