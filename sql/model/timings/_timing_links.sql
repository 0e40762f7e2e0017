-- One row per timed kernel and operator that its time belongs to. A kernel may belong to several,
-- and several kernels to one.
--
-- stored: in memory
--
-- request   VARCHAR  scenario
-- position  BIGINT   kernel
-- op_seq    INTEGER  operator of the layer
-- op        VARCHAR  its name
-- map_rule  VARCHAR  operator (the category is its name), shape_match or category
CREATE VIEW _timing_links AS
WITH layer_operators AS (
    SELECT request, op_seq, op, fused_op
    FROM timing_template
    WHERE is_measured
),
named AS (
    SELECT request, position, op_seq, op, 'operator' AS map_rule
    FROM _timing_rows
    JOIN layer_operators USING (request)
    ANTI JOIN timing_rules USING (category)
    WHERE category = op OR category = fused_op
),
shaped AS (
    SELECT request, position, product, op_seq, kernels.n, kernels.k
    FROM _timing_rows AS kernels
    JOIN timing_rules USING (category)
    JOIN _timing_products AS products USING (request)
    WHERE fate = 'product' AND products.n = kernels.n AND products.k = kernels.k
),
fused AS (
    SELECT DISTINCT request, product, op_seq
    FROM shaped
    QUALIFY count(*) OVER (PARTITION BY request, position, product) > 1
),
possible AS (
    -- What runs as part of a fused product does not run by itself.
    SELECT shaped.request, position, shaped.product, shaped.op_seq, shaped.n, shaped.k
    FROM shaped
    LEFT JOIN fused
        ON fused.request = shaped.request AND fused.op_seq = shaped.op_seq
    WHERE fused.product IS NULL OR fused.product = shaped.product
),
certain AS (
    -- A shape that two products have identifies neither by itself.
    SELECT request, position
    FROM possible
    GROUP BY request, position
    HAVING count(DISTINCT product) = 1
),
-- If a shape has as many kernels as products, they are matched in the layer's order.
numbered AS (
    SELECT
        request, n, k, position, product,
        dense_rank() OVER (PARTITION BY request, n, k ORDER BY position) AS kernel_place,
        dense_rank() OVER (PARTITION BY request, n, k ORDER BY first_seq, product)
            AS product_place
    FROM (
        SELECT request, n, k, position, product, min(op_seq) AS first_seq
        FROM possible
        ANTI JOIN certain USING (request, position)
        GROUP BY request, n, k, position, product
    )
),
ordered AS (
    SELECT request, position, product
    FROM numbered
    WINDOW alike AS (PARTITION BY request, n, k)
    QUALIFY
        max(kernel_place) OVER alike = max(product_place) OVER alike
        AND kernel_place = product_place
)
SELECT request, position, op_seq, op, map_rule
FROM named
UNION ALL
SELECT request, position, op_seq, op, 'shape_match'
FROM certain
JOIN possible USING (request, position)
JOIN layer_operators USING (request, op_seq)
UNION ALL
SELECT request, position, op_seq, op, 'shape_match'
FROM ordered
JOIN possible USING (request, position, product)
JOIN layer_operators USING (request, op_seq)
UNION ALL
SELECT request, position, op_seq, op, 'category'
FROM _timing_rows
JOIN timing_rules USING (category)
JOIN layer_operators USING (request)
WHERE fate = 'operators' AND list_contains(operators, op);
