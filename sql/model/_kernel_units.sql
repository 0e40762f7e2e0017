-- One row per kernel of a forward pass that runs a matrix product of the template: known by the
-- product's columns and inner dimension, else by its place.
--
-- In a layer a product of fused operators, or a whole one, takes the place of its parts when a
-- kernel of its shape is there. Of products of one shape the order in the layer decides. Where no
-- kernel of a layer tells a shape, and there are as many kernels as fused products or as single
-- ones, each is taken for the one of its place; the products of experts are counted apart.
--
-- trace_id   VARCHAR    trace
-- kernel_id  BIGINT     the kernel
-- unit       VARCHAR    operator, or what several are fused to
-- part       BIGINT     part of the operator, from 1
-- parts      BIGINT     parts that it runs in
-- rule       VARCHAR    shape_match or position
CREATE VIEW _kernel_units AS
WITH kinds AS (
    SELECT m.trace_id, l.layer_id, l.layer_kind
    FROM _trace_models AS m
    JOIN model_layers AS l ON l.model = m.model
),
units AS MATERIALIZED (
    SELECT trace_id, device, pass_id, layer_kind, n, k, unit, ops, op_seq, is_fused, is_expert
    FROM _pass_units
    WHERE n IS NOT NULL
),
slots AS (
    -- Products that run whole, or in parts of equal size.
    SELECT
        u.trace_id, u.device, u.pass_id, u.layer_kind, u.n // s.parts AS n, u.k, u.unit, u.ops,
        u.op_seq, u.is_fused, unnest(range(1, 1 + s.parts)) AS part, s.parts
    FROM units AS u
    JOIN (
        SELECT CAST(NULL AS VARCHAR) AS op, 1 AS parts
        UNION ALL
        SELECT op, parts FROM operator_parts
    ) AS s ON coalesce(s.op, u.unit) = u.unit
),
fusing AS (
    SELECT trace_id, device, pass_id, layer_kind, unnest(ops) AS op FROM units WHERE is_fused
),
expected AS (
    -- Whole products as engines fuse them, and one by one.
    SELECT
        e.trace_id, e.device, e.pass_id, e.layer_kind, e.unit, e.is_expert, e.fuses,
        count(*) OVER one_kind AS products, row_number() OVER (one_kind ORDER BY op_seq) AS place
    FROM (
        SELECT u.*, TRUE AS fuses
        FROM units AS u
        ANTI JOIN fusing AS f
            ON f.trace_id = u.trace_id AND f.device IS NOT DISTINCT FROM u.device
            AND f.pass_id = u.pass_id AND f.layer_kind = u.layer_kind AND f.op = u.unit
        UNION ALL
        SELECT *, FALSE FROM units WHERE NOT is_fused
    ) AS e
    WINDOW one_kind AS (PARTITION BY trace_id, device, pass_id, layer_kind, is_expert, fuses)
),
running AS (
    -- Kernels that may run a product: by the operator's family, else by their category.
    SELECT
        w.trace_id, w.device, w.pass_id, w.layer_id, w.kernel_id, w.start_ns, w.n, w.k,
        coalesce(kinds.layer_kind, 'ends') AS layer_kind,
        coalesce(w.family = 'moe', w.category_op = 'experts', FALSE) AS is_expert
    FROM _kernel_works AS w
    LEFT JOIN kinds ON kinds.trace_id = w.trace_id AND kinds.layer_id = w.layer_id
    WHERE
        w.pass_id IS NOT NULL AND w.is_worker AND NOT w.is_combine
        AND (w.layer_id IS NULL OR kinds.layer_kind IS NOT NULL)
        AND (w.family IN ('product', 'moe') OR (w.family IS NULL AND (
            contains(w.families, 'product') OR w.category_op = 'experts'
        )))
),
placed AS (
    SELECT
        *, count(n) OVER one_layer AS shaped, count(*) OVER one_layer AS products,
        row_number() OVER (one_layer ORDER BY start_ns, kernel_id) AS place,
        row_number() OVER (
            PARTITION BY trace_id, device, pass_id, layer_id, n, k ORDER BY start_ns, kernel_id
        ) AS turn
    FROM running
    WINDOW one_layer AS (PARTITION BY trace_id, device, pass_id, layer_id, is_expert)
),
candidates AS (
    SELECT
        p.trace_id, p.device, p.pass_id, p.layer_id, p.kernel_id, p.n, p.k, p.turn, s.unit, s.ops,
        s.part, s.parts, s.op_seq, s.is_fused, e.unit AS place_unit, e.fuses
    FROM placed AS p
    LEFT JOIN slots AS s
        ON s.trace_id = p.trace_id AND s.device IS NOT DISTINCT FROM p.device
        AND s.pass_id = p.pass_id AND s.layer_kind = p.layer_kind AND s.n = p.n AND s.k = p.k
    LEFT JOIN expected AS e
        ON e.trace_id = p.trace_id AND e.device IS NOT DISTINCT FROM p.device
        AND e.pass_id = p.pass_id AND e.layer_kind = p.layer_kind
        AND e.is_expert = p.is_expert AND e.products = p.products AND e.place = p.place
        AND p.shaped = 0
    WHERE s.unit IS NOT NULL OR e.unit IS NOT NULL
),
weighed AS (
    SELECT
        *,
        flatten(list(CASE WHEN is_fused THEN ops ELSE [] END) OVER (
            PARTITION BY trace_id, device, pass_id, layer_id
        )) AS fused_here,
        bool_or(parts = 1) OVER (PARTITION BY trace_id, device, pass_id, layer_id, unit)
            AS is_whole_here
    FROM candidates
),
open_slots AS (
    SELECT
        *,
        dense_rank() OVER (
            PARTITION BY trace_id, device, pass_id, layer_id, n, k ORDER BY op_seq, part, unit
        ) AS slot
    FROM weighed
    WHERE
        place_unit IS NOT NULL OR is_fused
        OR NOT (list_contains(fused_here, unit) OR (parts > 1 AND is_whole_here))
)
SELECT
    trace_id, kernel_id, coalesce(unit, place_unit) AS unit, coalesce(part, 1) AS part,
    coalesce(parts, 1) AS parts, CASE WHEN unit IS NULL THEN 'position' ELSE 'shape_match' END
    AS rule
FROM open_slots
WHERE unit IS NULL OR turn = slot
QUALIFY row_number() OVER (PARTITION BY trace_id, kernel_id ORDER BY unit, fuses DESC) = 1;
