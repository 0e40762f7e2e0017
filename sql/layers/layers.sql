-- One row per pass and layer: when it ran, how long it took and how full it was.
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device the layer ran on
-- stream          BIGINT   stream that most of its kernels ran on
-- pass_id         BIGINT   pass, from 0 in time order
-- layer_id        BIGINT   layer, from 0
-- layer_type      VARCHAR  type by the model's config, such as FULL_ATTN or C4; NULL when unknown
-- compress_ratio  INTEGER  compression of the attention's keys, NULL when the model has none
-- is_first        BOOLEAN  first layer of the model
-- is_final        BOOLEAN  last layer of the model
-- is_hash         BOOLEAN  its experts are chosen by hash: the first num_hash_layers layers
-- start_ns        BIGINT   start of its first kernel
-- end_ns          BIGINT   latest end of its kernels
-- wall_us         DOUBLE   from that start to that end
-- sum_us          DOUBLE   sum of the durations of its kernels, copies and fills; what overlaps
--                          counts twice
-- busy_us         DOUBLE   time from start to end with at least one of them running
-- gap_after_us    DOUBLE   from its end to the next layer's start, negative when they overlap
-- pitch_us        DOUBLE   from its start to the next layer's start
-- kernel_count    BIGINT   kernels, without copies and fills of memory
-- comm_count      BIGINT   communication kernels among them
-- memory_count    BIGINT   copies and fills of memory: those that the layer launched, or, where no
--                          host shows it, those on the stream of its kernels between these
-- memory_us       DOUBLE   sum of their durations, part of sum_us
CREATE VIEW layers AS
SELECT
    l.trace_id, l.rank, l.device, l.stream, l.pass_id, l.layer_id,
    s.layer_labels[l.layer_id + 1] AS layer_type,
    s.compress_ratios[l.layer_id + 1] AS compress_ratio,
    l.layer_id = 0 AS is_first, l.layer_id = l.num_layers - 1 AS is_final,
    l.layer_id < s.num_hash_layers AS is_hash, l.start_ns, l.end_ns,
    (l.end_ns - l.start_ns) / 1000.0 AS wall_us, l.sum_ns / 1000.0 AS sum_us,
    l.busy_ns / 1000.0 AS busy_us,
    (lead(l.start_ns) OVER pass - l.end_ns) / 1000.0 AS gap_after_us,
    (lead(l.start_ns) OVER pass - l.start_ns) / 1000.0 AS pitch_us,
    l.kernel_count, l.comm_count, l.memory_count, l.memory_ns / 1000.0 AS memory_us
FROM _layer_spans AS l
JOIN _layer_settings AS s ON s.trace_id = l.trace_id
WINDOW pass AS (PARTITION BY l.trace_id, l.rank, l.device, l.pass_id ORDER BY l.layer_id);
