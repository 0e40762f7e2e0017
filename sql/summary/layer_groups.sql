-- One row per pass, layer and group of kernel categories: where a layer's time goes, in few rows.
--
-- key: trace_id, device, pass_id, layer_id, category_group
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- pass_id         BIGINT   pass
-- layer_id        BIGINT   layer
-- category_group  VARCHAR  group of categories, see the table category_groups
-- sum_us          DOUBLE   sum of its kernels' durations, µs
-- layer_pct       DOUBLE   share of all kernels' durations in the layer
CREATE VIEW layer_groups AS
SELECT
    trace_id, rank, device, pass_id, layer_id, coalesce(category_group, 'other') AS category_group,
    sum(sum_us) AS sum_us, sum(layer_pct) AS layer_pct
FROM layer_categories
GROUP BY ALL;
