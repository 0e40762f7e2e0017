-- One row per pass and layer: its kind, by the kernels it runs. Used where no config gives the
-- type, or where it tells only which layers have experts.
-- A layer is identified by its traits. Its frame consists of which attention kernels it runs and
-- how often, and which categories of other heavy work are present: no more, as matmul names depend
-- on their size. Its other traits are the names of the light kernels around them. Layers with the
-- same traits are one kind. A layer unlike all others (the first one has no residual to add) joins
-- the most similar kind with the same frame; unique layers that share a frame without such a kind
-- form one kind together.
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL if unknown
-- device      INTEGER  device the layer ran on
-- pass_id     BIGINT   pass, from 0 in time order
-- layer_id    BIGINT   layer, from 0
-- layer_kind  VARCHAR  A for the kind of the pass's first layer, B for the next, and so on
CREATE VIEW _layer_kinds AS
WITH plain_names AS (
    -- XLA numbers the instructions of a program: RPA.1 and RPA.2 are alike.
    SELECT name, regexp_replace(name, '([.]\d+)+$', '') AS plain_name
    FROM (SELECT DISTINCT name FROM layer_kernels)
),
names AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, n.plain_name AS name, k.category,
        coalesce(g.told_by, 'kernel') AS told_by, count(*) AS calls
    FROM layer_kernels AS k
    JOIN plain_names AS n ON n.name = k.name
    LEFT JOIN category_groups AS g ON g.category = k.category
    WHERE coalesce(g.told_by, 'kernel') <> 'nothing'
    GROUP BY
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, n.plain_name, k.category, g.told_by
),
traits AS (
    SELECT DISTINCT
        trace_id, rank, device, pass_id, layer_id, told_by <> 'kernel' AS is_frame,
        CASE told_by WHEN 'category' THEN category WHEN 'call' THEN name || calls ELSE name END
            AS trait
    FROM names
),
layer_traits AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id,
        coalesce(list(trait ORDER BY trait) FILTER (is_frame), []) AS frame,
        coalesce(list(trait ORDER BY trait) FILTER (NOT is_frame), []) AS others
    FROM traits
    GROUP BY trace_id, rank, device, pass_id, layer_id
),
shared AS (
    SELECT *, count(*) OVER same > 1 AS is_shared, min(layer_id) OVER same AS first_layer
    FROM layer_traits
    WINDOW same AS (PARTITION BY trace_id, device, pass_id, frame, others)
),
models AS (
    SELECT * FROM shared WHERE is_shared AND layer_id = first_layer
),
nearest AS (
    SELECT
        s.trace_id, s.rank, s.device, s.pass_id, s.layer_id,
        arg_min(m.layer_id, (
            len(s.others) + len(m.others) - 2 * len(list_intersect(s.others, m.others)), m.layer_id
        )) AS first_layer
    FROM shared AS s
    JOIN models AS m
        ON m.trace_id = s.trace_id
        AND m.device = s.device
        AND m.pass_id = s.pass_id
        AND m.frame = s.frame
    WHERE NOT s.is_shared
    GROUP BY s.trace_id, s.rank, s.device, s.pass_id, s.layer_id
),
joined AS (
    SELECT
        s.trace_id, s.rank, s.device, s.pass_id, s.layer_id,
        CASE
            WHEN s.is_shared THEN s.first_layer
            ELSE coalesce(n.first_layer, min(s.layer_id) OVER frame)
        END AS model_layer
    FROM shared AS s
    LEFT JOIN nearest AS n
        ON n.trace_id = s.trace_id
        AND n.device = s.device
        AND n.pass_id = s.pass_id
        AND n.layer_id = s.layer_id
    WINDOW frame AS (
        PARTITION BY s.trace_id, s.device, s.pass_id, s.frame, s.is_shared
    )
),
kinds AS (
    SELECT
        *, min(layer_id) OVER (PARTITION BY trace_id, device, pass_id, model_layer)
            AS first_layer
    FROM joined
),
numbered AS (
    SELECT *, dense_rank() OVER pass - 1 AS number
    FROM kinds
    WINDOW pass AS (PARTITION BY trace_id, device, pass_id ORDER BY first_layer)
)
SELECT
    trace_id, rank, device, pass_id, layer_id,
    concat(chr(CAST(65 + number % 26 AS INTEGER)), nullif(number // 26, 0)) AS layer_kind
FROM numbered;
