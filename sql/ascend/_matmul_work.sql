-- One row per trace and distinct matrix product of its Ascend kernels.
--
-- trace_id  VARCHAR  trace
-- shape_id  UBIGINT  name of the work
-- m         BIGINT   rows of the result, in all its batches
-- n         BIGINT   columns
-- k         BIGINT   inner dimension, NULL where the shapes fit no product
-- flop      DOUBLE   2 x elements of the result x k
-- fits      BOOLEAN  the shapes are those of a product; NULL where a tensor is missing
CREATE VIEW _matmul_work AS
WITH tensors AS (
    SELECT
        trace_id, shape_id, rule,
        inputs[a_slot + 1] AS a, inputs[b_slot + 1] AS b, outputs[1] AS result
    FROM _shapes
    JOIN _type_rules USING (trace_id, op_type)
    WHERE ends_with(rule, 'matmul')
),
layouts AS (
    SELECT
        trace_id, shape_id, rule, b, result,
        CASE
            -- A result of two dimensions has the first matrix's leading ones in its rows.
            WHEN rule = 'matmul' AND len(a) > 2 AND len(b) = 2 AND len(result) = 2
                THEN [CAST(list_product(a[:-2]) AS BIGINT), a[-1]]
            ELSE a
        END AS a
    FROM tensors
),
inner_dimensions AS (
    SELECT
        trace_id, shape_id, rule, a, b, result,
        CASE
            WHEN len(a) < 2 OR len(b) < 2 OR len(result) < 1 THEN NULL
            WHEN rule = 'grouped_matmul' THEN list_intersect(
                [a[-1]],
                -- A gated product keeps half of the columns.
                list_concat(
                    CASE WHEN result[-1] IN (b[-1], b[-1] // 2) THEN [b[-2]] ELSE [] END,
                    CASE WHEN result[-1] IN (b[-2], b[-2] // 2) THEN [b[-1]] ELSE [] END
                )
            )[1]
            WHEN _matmul_k(a, b, result) IS NOT NULL THEN _matmul_k(a, b, result)
            WHEN rule = 'transposed_matmul' AND len(a) = 3 AND len(b) = 3 THEN list_intersect(
                [a[-1]],
                list_concat(
                    CASE
                        WHEN list_contains(a[:-2], b[1]) AND _elements(a) * b[-1]
                            = _elements(result) * b[-2] THEN [b[-2]] ELSE []
                    END,
                    CASE
                        WHEN list_contains(a[:-2], b[1]) AND _elements(a) * b[-2]
                            = _elements(result) * b[-1] THEN [b[-1]] ELSE []
                    END
                )
            )[1]
        END AS k
    FROM layouts
),
products AS (
    SELECT
        trace_id, shape_id, k,
        CASE
            -- Rows count once, whatever the number of experts; columns before any gate.
            WHEN rule = 'grouped_matmul' THEN CASE WHEN b[-2] = k THEN b[-1] ELSE b[-2] END
            WHEN rule = 'transposed_matmul' THEN CASE WHEN b[-2] = k THEN b[-1] ELSE b[-2] END
            ELSE result[-1]
        END AS n,
        CASE
            WHEN rule = 'grouped_matmul' THEN _elements(a) / k
            WHEN rule = 'transposed_matmul'
                THEN _elements(result) / CASE WHEN b[-2] = k THEN b[-1] ELSE b[-2] END
            ELSE _elements(result) / result[-1]
        END AS m,
        CASE WHEN a IS NOT NULL AND b IS NOT NULL AND result IS NOT NULL THEN k IS NOT NULL END
            AS fits
    FROM inner_dimensions
)
SELECT
    trace_id, shape_id,
    CASE WHEN k IS NOT NULL THEN CAST(m AS BIGINT) END AS m,
    CASE WHEN k IS NOT NULL THEN n END AS n,
    k,
    2.0 * m * n * k AS flop,
    fits
FROM products;
