-- One row per pass and layer: when it ran, how long it took and how full it was.
--
-- stored: per trace
--
-- key: trace_id, device, pass_id, layer_id
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device the layer ran on
-- stream          BIGINT   stream that most of its compute kernels ran on
-- pass_id         BIGINT   pass, from 0 in time order
-- layer_id        BIGINT   layer, from 0
-- series          VARCHAR  model of the pass
-- direction       VARCHAR  forward, backward or weight gradient in training, else NULL
-- layer_type      VARCHAR  type by the model's config, such as FULL_ATTN or C4; NULL if unknown. If
--                          a trace has several series, only for the one with as many layers
-- compress_ratio  INTEGER  compression of the attention's keys, NULL if the model has none
-- is_first        BOOLEAN  first layer of the model
-- is_final        BOOLEAN  last layer of the model
-- is_hash         BOOLEAN  its experts are chosen by hash: the first num_hash_layers layers
-- start_ns        BIGINT   start of its first kernel on its stream, or on another one if no other
--                          layer runs beside it; all kernels count where passes are interleaved
-- end_ns          BIGINT   latest end of such kernels
-- wall_us         DOUBLE   from that start to that end
-- sum_us          DOUBLE   sum of the durations of its kernels, copies and fills; overlaps count
--                          twice
-- busy_us         DOUBLE   time from start to end with at least one of them running
-- gap_after_us    DOUBLE   from its end to the next layer's start, negative when they overlap; the
--                          next one of a backward pass is the one that starts next
-- pitch_us        DOUBLE   from its start to the next layer's start
-- kernel_count    BIGINT   kernels, without copies and fills of memory
-- comm_count      BIGINT   communication kernels among them; on other streams, if the host shows no
--                          layers, only those that the layer's kernels wait for
-- memory_count    BIGINT   copies and fills of memory: those that the layer launched, or, if the
--                          host does not show it, those between its kernels on their stream
-- memory_us       DOUBLE   sum of their durations, part of sum_us
-- is_whole        BOOLEAN  all of it is in the capture, which may begin or end within a layer
CREATE VIEW layers AS
WITH fitting AS (
    SELECT
        l.trace_id, l.rank, l.device, l.stream, l.pass_id, l.layer_id, l.series, l.direction,
        l.num_layers,
        l.start_ns, l.end_ns, l.sum_ns, l.busy_ns, l.kernel_count, l.comm_count,
        l.memory_count, l.memory_ns,
        NOT l.is_cut_short AND l.half_count = max(l.half_count) OVER (
            PARTITION BY l.trace_id, l.device, l.series, l.direction
        ) AS is_whole,
        CASE
            WHEN
                coalesce(
                    l.num_layers = s.num_layers,
                    min(l.series) OVER one_trace = max(l.series) OVER one_trace
                )
                THEN {
                    'labels': s.layer_labels, 'ratios': s.compress_ratios,
                    'hash_layers': s.num_hash_layers
                }
        END AS config
    FROM _layer_spans AS l
    JOIN _layer_settings AS s ON s.trace_id = l.trace_id
    WINDOW one_trace AS (PARTITION BY l.trace_id)
)
SELECT
    trace_id, rank, device, stream, pass_id, layer_id, series, direction,
    config.labels[layer_id + 1] AS layer_type, config.ratios[layer_id + 1] AS compress_ratio,
    layer_id = 0 AS is_first, layer_id = num_layers - 1 AS is_final,
    coalesce(layer_id < config.hash_layers, FALSE) AS is_hash, start_ns, end_ns,
    (end_ns - start_ns) / 1000.0 AS wall_us, sum_ns / 1000.0 AS sum_us,
    busy_ns / 1000.0 AS busy_us,
    (lead(start_ns) OVER pass - end_ns) / 1000.0 AS gap_after_us,
    (lead(start_ns) OVER pass - start_ns) / 1000.0 AS pitch_us,
    kernel_count, comm_count, memory_count, memory_ns / 1000.0 AS memory_us, is_whole
FROM fitting
WINDOW pass AS (
    PARTITION BY trace_id, device, pass_id
    ORDER BY CASE WHEN direction = 'backward' THEN start_ns ELSE layer_id END
);
