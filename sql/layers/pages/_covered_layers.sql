-- One row per pass and layer, with the coverage of the pass's series.
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device the layer ran on
-- stream          BIGINT   stream that most of its kernels ran on
-- pass_id         BIGINT   pass, from 0 in time order
-- layer_id        BIGINT   layer, from 0
-- series          VARCHAR  model that the pass is of
-- direction       VARCHAR  forward, backward or weight gradient in training, else NULL
-- layer_type      VARCHAR  type by the model's config, such as FULL_ATTN or C4; NULL if unknown. If
--                          a trace has several series, only for the one with as many layers
-- compress_ratio  INTEGER  compression of the attention's keys, NULL if the model has none
-- is_first        BOOLEAN  first layer of the model
-- is_final        BOOLEAN  last layer of the model
-- is_hash         BOOLEAN  its experts are chosen by hash: the first num_hash_layers layers
-- start_ns        BIGINT   start of its first kernel
-- end_ns          BIGINT   latest end of its kernels
-- wall_us         DOUBLE   from that start to that end
-- sum_us          DOUBLE   sum of the durations of its kernels, copies and fills; overlaps count
--                          twice
-- busy_us         DOUBLE   time from start to end with at least one of them running
-- gap_after_us    DOUBLE   from its end to the next layer's start, negative when they overlap; the
--                          next one of a backward pass is the one that starts next
-- pitch_us        DOUBLE   from its start to the next layer's start
-- kernel_count    BIGINT   kernels, without copies and fills of memory
-- comm_count      BIGINT   communication kernels among them
-- memory_count    BIGINT   copies and fills of memory: those that the layer launched, or, if the
--                          host does not show it, those between its kernels on their stream
-- memory_us       DOUBLE   sum of their durations, part of sum_us
-- is_whole        BOOLEAN  all of it is in the capture, which may begin or end within a layer
-- coverage_pct    DOUBLE   share of the device's busy time in the layers of the pass's series
CREATE VIEW _covered_layers AS
SELECT l.*, p.coverage_pct
FROM layers AS l
JOIN passes AS p
    ON p.trace_id = l.trace_id
    AND p.device = l.device
    AND p.pass_id = l.pass_id;
