-- One row per pass and type of layer: its mean and median times.
-- Without a config that gives the types, layers that run the same kernels are one kind, unless the
-- shapes or the times of their attention differ.
--
-- An average is moved by a single slow layer, often the first of a pass; the median is not.
--
-- key: trace_id, device, pass_id, layer_type?, layer_kind?
--
-- trace_id        VARCHAR   trace
-- rank            INTEGER   rank in the job, NULL if unknown
-- device          INTEGER   device the layers ran on
-- pass_id         BIGINT    pass, from 0 in time order
-- layer_type      VARCHAR   type by the model's config, such as FULL_ATTN or C4; NULL if unknown
-- layer_kind      VARCHAR   kind, A for that of the first layer; NULL if the type is known, unless
--                           the config tells only which layers have experts, and the kernels of
--                           those with its type are of several kinds
-- kind_reason     VARCHAR   source of the type, config, or of the kind: kernels, shapes (of the
--                           attention) or times: the same kernels at two speeds, alternating every
--                           few layers
-- layers          BIGINT    layers of the type
-- layer_ids       BIGINT[]  which
-- mean_wall_us    DOUBLE    mean of the layers' wall times
-- median_wall_us  DOUBLE    median of them
-- min_wall_us     DOUBLE    shortest of them
-- max_wall_us     DOUBLE    longest of them
-- mean_sum_us     DOUBLE    mean of the layers' summed kernel durations
-- median_sum_us   DOUBLE    median of them
-- mean_busy_us    DOUBLE    mean of the times with a kernel of the layer running
-- sum_us          DOUBLE    summed kernel durations of all layers of the type
-- pass_pct        DOUBLE    share of the summed wall times of all layers of the pass
CREATE VIEW layer_types AS
SELECT
    trace_id, rank, device, pass_id, layer_type, layer_kind,
    any_value(kind_reason) AS kind_reason, count(*) AS layers,
    list(layer_id ORDER BY layer_id) AS layer_ids,
    sum(_whole_ns(wall_us)) / count(*) / 1000.0 AS mean_wall_us, median(wall_us) AS median_wall_us,
    min(wall_us) AS min_wall_us, max(wall_us) AS max_wall_us,
    sum(_whole_ns(sum_us)) / count(*) / 1000.0 AS mean_sum_us, median(sum_us) AS median_sum_us,
    sum(_whole_ns(busy_us)) / count(*) / 1000.0 AS mean_busy_us,
    sum(_whole_ns(sum_us)) / 1000.0 AS sum_us,
    100.0 * sum(_whole_ns(wall_us)) / nullif(sum(sum(_whole_ns(wall_us))) OVER pass, 0) AS pass_pct
FROM _typed_layers
GROUP BY trace_id, rank, device, pass_id, layer_type, layer_kind
WINDOW pass AS (PARTITION BY trace_id, device, pass_id);
