-- One row per pass and layer whose attention runs on other shapes than that of another layer with
-- the same kernels. Shapes that a single layer has tell nothing, nor do layers without shapes: they
-- have no row.
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL when unknown
-- device       INTEGER  device the layer ran on
-- pass_id      BIGINT   pass, from 0 in time order
-- layer_id     BIGINT   layer, from 0
-- first_layer  BIGINT   first layer of the pass with the same kernels and shapes
CREATE VIEW _layer_shapes AS
WITH shapes AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id,
        list(k.input_dims ORDER BY k.position) AS shapes
    FROM layer_kernels AS k
    JOIN category_groups AS g ON g.category = k.category AND g.told_by = 'call'
    GROUP BY k.trace_id, k.rank, k.device, k.pass_id, k.layer_id
    HAVING count(*) = count(k.input_dims)
),
alike AS (
    SELECT
        s.trace_id, s.rank, s.device, s.pass_id, s.layer_id, n.layer_kind,
        min(s.layer_id) OVER same AS first_layer
    FROM shapes AS s
    JOIN _layer_kinds AS n
        ON n.trace_id = s.trace_id
        AND n.rank IS NOT DISTINCT FROM s.rank
        AND n.device IS NOT DISTINCT FROM s.device
        AND n.pass_id = s.pass_id
        AND n.layer_id = s.layer_id
    WINDOW same AS (
        PARTITION BY s.trace_id, s.rank, s.device, s.pass_id, n.layer_kind, s.shapes
    )
    QUALIFY count(*) OVER same > 1
)
SELECT trace_id, rank, device, pass_id, layer_id, first_layer
FROM alike
WINDOW kind AS (PARTITION BY trace_id, rank, device, pass_id, layer_kind)
QUALIFY min(first_layer) OVER kind < max(first_layer) OVER kind;
