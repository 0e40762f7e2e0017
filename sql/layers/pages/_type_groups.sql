-- One row per pass and type of layer as reports show it, with the share of each group of kernel
-- categories.
-- trace_id        VARCHAR   trace
-- rank            INTEGER   rank in the job, NULL if unknown
-- device          INTEGER   device
-- pass_id         BIGINT    pass, from 0 in time order
-- kind_reason     VARCHAR   what distinguishes its layers from others without a config
-- type            VARCHAR   type by the model's config, kind by the kernels, or both
-- layers          BIGINT    layers of the type
-- layer_ids       BIGINT[]  which ones
-- mean_wall_us    DOUBLE    mean wall time of a layer
-- median_wall_us  DOUBLE    median wall time of a layer
-- mean_sum_us     DOUBLE    mean sum of the durations of a layer's kernels
-- median_sum_us   DOUBLE    median of these sums
-- pass_pct        DOUBLE    share of the wall times of the pass's layers, %
-- group_pct       MAP       by group of kernel categories, its share of the type's kernel time, %
CREATE VIEW _type_groups AS
WITH sums AS (
    SELECT
        trace_id, device, pass_id, layer_type, layer_kind, category_group, sum(pct) AS pct
    FROM layer_type_categories
    GROUP BY trace_id, device, pass_id, layer_type, layer_kind, category_group
),
groups AS (
    SELECT
        trace_id, device, pass_id, layer_type, layer_kind,
        map(list(category_group), list(pct)) AS group_pct
    FROM sums
    GROUP BY trace_id, device, pass_id, layer_type, layer_kind
)
SELECT
    t.trace_id, t.rank, t.device, t.pass_id, nullif(t.kind_reason, 'config') AS kind_reason,
    nullif(concat_ws(' ', t.layer_type, t.layer_kind), '') AS type, t.layers, t.layer_ids,
    t.mean_wall_us, t.median_wall_us, t.mean_sum_us, t.median_sum_us, t.pass_pct, g.group_pct
FROM layer_types AS t
JOIN groups AS g
    ON g.trace_id = t.trace_id
    AND g.device = t.device
    AND g.pass_id = t.pass_id
    AND g.layer_type IS NOT DISTINCT FROM t.layer_type
    AND g.layer_kind IS NOT DISTINCT FROM t.layer_kind;
