-- One row per pass, layer and kernel category: where a layer's time goes.
--
-- key: trace_id, device, pass_id, layer_id, category
--
-- stored: per trace
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device the layer ran on
-- pass_id         BIGINT   pass, from 0 in time order
-- layer_id        BIGINT   layer, from 0
-- category        VARCHAR  kernel category, from category_rules
-- category_group  VARCHAR  its group, from category_groups
-- kernel_count    BIGINT   kernels of the category in the layer, without copies and fills of memory
-- memory_count    BIGINT   copies and fills of the category
-- sum_us          DOUBLE   sum of the durations of both; overlaps count twice
-- layer_pct       DOUBLE   share of the layer's sum_us
CREATE VIEW layer_categories AS
SELECT
    k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, k.category,
    coalesce(any_value(g.category_group), 'other') AS category_group,
    count(*) FILTER (k.kind <> 'memory') AS kernel_count,
    count(*) FILTER (k.kind = 'memory') AS memory_count,
    sum(k.end_ns - k.start_ns) / 1000.0 AS sum_us,
    100.0 * sum(k.end_ns - k.start_ns) / nullif(sum(sum(k.end_ns - k.start_ns)) OVER layer, 0)
        AS layer_pct
FROM layer_kernels AS k
LEFT JOIN category_groups AS g ON g.category = k.category
GROUP BY k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, k.category
WINDOW layer AS (PARTITION BY k.trace_id, k.device, k.pass_id, k.layer_id);
