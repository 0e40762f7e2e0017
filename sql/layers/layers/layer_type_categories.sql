-- One row per pass, type of layer and kernel category: where the time of such layers goes.
--
-- key: trace_id, device, pass_id, layer_type?, layer_kind?, category
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device the layers ran on
-- pass_id         BIGINT   pass, from 0 in time order
-- layer_type      VARCHAR  type by the model's config, NULL if unknown
-- layer_kind      VARCHAR  kind by the kernels, as in layer_types
-- category        VARCHAR  kernel category, from category_rules
-- category_group  VARCHAR  its group, from category_groups
-- kernel_count    BIGINT   kernels of the category in all layers of the type, without copies and
--                          fills of memory
-- memory_count    BIGINT   copies and fills of the category
-- sum_us          DOUBLE   sum of the durations of both; overlaps count twice
-- pct             DOUBLE   share of the summed durations of all operations in layers of the type
CREATE VIEW layer_type_categories AS
SELECT
    l.trace_id, l.rank, l.device, l.pass_id, l.layer_type, l.layer_kind, c.category,
    any_value(c.category_group) AS category_group,
    CAST(sum(c.kernel_count) AS BIGINT) AS kernel_count,
    CAST(sum(c.memory_count) AS BIGINT) AS memory_count,
    sum(_whole_ns(c.sum_us)) / 1000.0 AS sum_us,
    100.0 * sum(_whole_ns(c.sum_us)) / nullif(sum(sum(_whole_ns(c.sum_us))) OVER type, 0) AS pct
FROM _typed_layers AS l
JOIN layer_categories AS c
    ON c.trace_id = l.trace_id
    AND c.device = l.device
    AND c.pass_id = l.pass_id
    AND c.layer_id = l.layer_id
GROUP BY
    l.trace_id, l.rank, l.device, l.pass_id, l.layer_type, l.layer_kind, c.category
WINDOW type AS (
    PARTITION BY l.trace_id, l.device, l.pass_id, l.layer_type, l.layer_kind
);
