-- One row per pass and layer as reports show it, with the time of each group of kernel categories.
-- trace_id        VARCHAR  trace
-- device          INTEGER  device
-- pass_id         BIGINT   pass, from 0 in time order
-- layer_id        BIGINT   layer, from 0
-- compress_ratio  INTEGER  compression of the attention's keys
-- type            VARCHAR  type by the model's config, else kind
-- flags           VARCHAR  first, final, hash
-- wall_us         DOUBLE   from its first kernel to the end of its last
-- sum_us          DOUBLE   sum of the durations of its kernels, copies and fills
-- busy_us         DOUBLE   time with at least one of them running
-- group_us        MAP      by group of kernel categories, the sum of their durations, µs
-- comm_count      BIGINT   communication kernels
-- kernel_count    BIGINT   kernels
-- memory_count    BIGINT   copies and fills of memory
CREATE VIEW _layer_groups AS
WITH sums AS (
    SELECT
        trace_id, device, pass_id, layer_id, category_group, sum(sum_us) AS sum_us
    FROM layer_categories
    GROUP BY trace_id, device, pass_id, layer_id, category_group
),
groups AS (
    SELECT
        trace_id, device, pass_id, layer_id,
        map(list(category_group), list(sum_us)) AS group_us
    FROM sums
    GROUP BY trace_id, device, pass_id, layer_id
)
SELECT
    p.trace_id, p.device, p.pass_id, p.layer_id, p.compress_ratio, p.type, p.flags, p.wall_us,
    p.sum_us, p.busy_us, g.group_us, p.comm_count, p.kernel_count, p.memory_count
FROM _layer_pages AS p
JOIN groups AS g
    ON g.trace_id = p.trace_id
    AND g.device = p.device
    AND g.pass_id = p.pass_id
    AND g.layer_id = p.layer_id;
