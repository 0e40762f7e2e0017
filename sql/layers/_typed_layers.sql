-- One row per pass and layer, with what it is counted under: its type by the model's config, or its
-- kind. Layers of a kind run the same kernels, on attention of the same shapes, and are equally
-- fast; the first of these that parts some of them is the reason.
--
-- Materialised per trace.
--
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL when unknown
-- device       INTEGER  device the layer ran on
-- pass_id      BIGINT   pass, from 0 in time order
-- layer_id     BIGINT   layer, from 0
-- layer_type   VARCHAR  type by the model's config, NULL when unknown
-- layer_kind   VARCHAR  A for the kind of the pass's first layer, B for the next, and so on; NULL
--                       where the type is known
-- kind_reason  VARCHAR  what tells it: config, kernels, shapes or times
-- wall_us      DOUBLE   start of its first kernel to the latest end
-- sum_us       DOUBLE   sum of the durations of its kernels, copies and fills
-- busy_us      DOUBLE   time with at least one of them running
CREATE VIEW _typed_layers AS
WITH told AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, k.layer_kind,
        -- Layers without shapes go with the first ones of their kernels.
        coalesce(s.first_layer, min(s.first_layer) OVER (
            PARTITION BY k.trace_id, k.rank, k.device, k.pass_id, k.layer_kind
        )) AS shape,
        CASE WHEN s.first_layer IS NULL THEN p.is_slow END AS is_slow
    FROM _layer_kinds AS k
    LEFT JOIN _layer_shapes AS s
        ON s.trace_id = k.trace_id
        AND s.rank IS NOT DISTINCT FROM k.rank
        AND s.device IS NOT DISTINCT FROM k.device
        AND s.pass_id = k.pass_id
        AND s.layer_id = k.layer_id
    LEFT JOIN _layer_speeds AS p
        ON p.trace_id = k.trace_id
        AND p.rank IS NOT DISTINCT FROM k.rank
        AND p.device IS NOT DISTINCT FROM k.device
        AND p.pass_id = k.pass_id
        AND p.layer_id = k.layer_id
),
grouped AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id,
        CASE
            WHEN shape IS NOT NULL THEN 'shapes'
            WHEN is_slow IS NOT NULL THEN 'times'
            ELSE 'kernels'
        END AS kind_reason,
        min(layer_id) OVER (
            PARTITION BY
                trace_id, rank, device, pass_id, layer_kind, shape,
                CASE WHEN shape IS NULL THEN is_slow END
        ) AS first_layer
    FROM told
),
numbered AS (
    SELECT *, dense_rank() OVER pass - 1 AS number
    FROM grouped
    WINDOW pass AS (PARTITION BY trace_id, rank, device, pass_id ORDER BY first_layer)
)
SELECT
    l.trace_id, l.rank, l.device, l.pass_id, l.layer_id, l.layer_type,
    CASE
        WHEN l.layer_type IS NULL
            THEN concat(chr(CAST(65 + k.number % 26 AS INTEGER)), nullif(k.number // 26, 0))
    END AS layer_kind,
    CASE WHEN l.layer_type IS NULL THEN k.kind_reason ELSE 'config' END AS kind_reason,
    l.wall_us, l.sum_us, l.busy_us
FROM layers AS l
LEFT JOIN numbered AS k
    ON k.trace_id = l.trace_id
    AND k.rank IS NOT DISTINCT FROM l.rank
    AND k.device IS NOT DISTINCT FROM l.device
    AND k.pass_id = l.pass_id
    AND k.layer_id = l.layer_id;
