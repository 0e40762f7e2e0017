-- What the reference calls the floating-point operations of one call: a number of elements, or for
-- two families a product of the largest dimensions that its shapes have.
CREATE MACRO _reference_proxy(family, signature) AS
(
    WITH shapes AS (
        SELECT
            list_transform(string_split(shape, ','), LAMBDA size: TRY_CAST(size AS HUGEINT)) AS dims
        FROM (SELECT unnest(string_split(signature, '|')) AS shape)
    ),
    sizes AS (
        SELECT
            max(dims[1]) FILTER (len(dims) >= 4 AND dims[1] > 0) AS batch,
            max(dims[2]) FILTER (len(dims) >= 4 AND dims[2] > 0) AS heads,
            max(dims[3]) FILTER (len(dims) >= 4 AND dims[3] > 0) AS tokens,
            max(dims[4]) FILTER (len(dims) >= 4 AND dims[4] > 0) AS widest,
            min(dims[4]) FILTER (len(dims) >= 4 AND dims[4] > 0) AS narrowest,
            max(dims[1]) FILTER (len(dims) >= 2 AND dims[1] > 0) AS total_rows,
            max(dims[2]) FILTER (len(dims) >= 2 AND dims[2] > 0) AS total_columns,
            max(
                CASE
                    WHEN list_min(dims) <= 0 THEN 0
                    ELSE list_reduce(dims, LAMBDA product, size: product * size)
                END
            ) AS elements
        FROM shapes
    )
    SELECT
        CAST(nullif(coalesce(
            CASE
                WHEN starts_with(family, 'attention')
                    THEN 2 * batch * heads * tokens * tokens * (widest + narrowest)
                WHEN family = 'loss_xent' THEN 2 * total_rows * total_columns
            END,
            elements
        ), 0) AS DOUBLE)
    FROM sizes
);
