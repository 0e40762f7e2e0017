-- The inner dimension of a matrix product: the dimension of the first matrix other than the
-- result's rows, and of the second other than its columns, either of them transposed or not; NULL
-- if no number is both.
CREATE MACRO _matmul_k(a, b, result) AS list_intersect(
    list_concat(
        CASE WHEN a[-2] = result[-2] THEN [a[-1]] ELSE [] END,
        CASE WHEN a[-1] = result[-2] THEN [a[-2]] ELSE [] END
    ),
    list_concat(
        CASE WHEN b[-1] = result[-1] THEN [b[-2]] ELSE [] END,
        CASE WHEN b[-2] = result[-1] THEN [b[-1]] ELSE [] END
    )
)[1];

-- A dimension that is filled up to whole blocks of a size; NULL without one.
CREATE MACRO _filled(items, size) AS CAST(ceil(items / size) * size AS BIGINT);

-- The products of a grouped matrix product whose rows or weights are separate tensors: first all
-- first matrices, then all second ones, in the order of the results. Rows that are one tensor are
-- those of all groups, and so is a result that is one tensor. Each product is [rows, inner
-- dimension, columns]; NULL if the tensors do not fit.
CREATE MACRO _separate_products(inputs, results) AS list_filter(
    list_transform(
        -- The number of groups, and how many of the inputs are first matrices.
        list_concat(
            [{'groups': len(results), 'firsts': 1}],
            list_transform(range(2, len(inputs) // 2 + 1), lambda n: {'groups': n, 'firsts': n})
        ),
        lambda of: list_transform(
            range(1, of.groups + 1),
            lambda nth: CASE
                WHEN len(inputs[least(nth, of.firsts)]) = 2 AND len(inputs[of.firsts + nth]) = 2
                    AND list_sort(inputs[of.firsts + nth]) = list_sort([
                        inputs[least(nth, of.firsts)][2], results[least(nth, len(results))][2]
                    ])
                    THEN [
                        CASE WHEN of.firsts = 1 THEN results[nth][1] ELSE inputs[nth][1] END,
                        inputs[least(nth, of.firsts)][2], results[least(nth, len(results))][2]
                    ]
            END
        )
    ),
    lambda products: len(products) > 1
        AND len(list_filter(products, lambda of: of IS NULL)) = 0
        AND len(results) IN (1, len(products))
        AND list_sum(list_transform(products, lambda of: of[1]))
            = list_sum(list_transform(results, lambda of: of[1]))
)[1];

-- One row per trace and distinct matrix product of its Ascend kernels.
--
-- trace_id  VARCHAR  trace
-- shape_id  UBIGINT  name of the work
-- m         BIGINT   rows of all its products
-- n         BIGINT   columns, NULL if its products differ
-- k         BIGINT   inner dimension, NULL if its products differ
-- flop      DOUBLE   FLOP
-- fits      BOOLEAN  the shapes are those of a product; NULL if a tensor is missing
CREATE VIEW _matmul_work AS
WITH works AS (
    SELECT
        trace_id, shape_id, rule,
        inputs[a_slot + 1] AS a, inputs[b_slot + 1] AS b, outputs[1] AS result,
        in_blocks[b_slot + 1] AS block,
        CASE
            WHEN rule = 'grouped_matmul' THEN _separate_products(
                inputs, list_filter(outputs, lambda dims: len(dims) = 2)
            )
        END AS parts
    FROM _shapes
    LEFT JOIN _type_rules USING (trace_id, op_type)
),
layouts AS (
    SELECT
        trace_id, shape_id, rule, parts,
        CASE
            WHEN rule = 'collective_matmul' AND len(result) > 2
                THEN [CAST(list_product(result[:-2]) AS BIGINT), result[-1]]
            ELSE result
        END AS result,
        CASE
            -- A second matrix in blocks has its columns filled up, transposed its rows.
            WHEN b[-1] = _filled(result[-1], block[2]) THEN list_concat(b[:-2], [result[-1]])
            WHEN b[-2] = _filled(result[-1], block[1])
                THEN list_concat(b[:-3], [result[-1], b[-1]])
            ELSE b
        END AS b,
        CASE
            -- A two-dimensional result folds the first matrix's leading dimensions into its rows.
            WHEN len(a) > 2 AND len(b) = 2
                AND (rule = 'matmul' AND len(result) = 2 OR rule = 'collective_matmul')
                THEN [CAST(list_product(a[:-2]) AS BIGINT), a[-1]]
            ELSE a
        END AS a
    FROM works
    WHERE ends_with(rule, 'matmul')
),
inner_dimensions AS (
    SELECT
        trace_id, shape_id, rule, parts, a, b, result,
        CASE
            WHEN len(a) < 2 OR len(b) < 2 OR len(result) < 1 THEN NULL
            WHEN rule = 'grouped_matmul' THEN coalesce(
                list_intersect(
                    [a[-1]],
                    -- A gated product keeps half of the columns.
                    list_concat(
                        CASE WHEN result[-1] IN (b[-1], b[-1] // 2) THEN [b[-2]] ELSE [] END,
                        CASE WHEN result[-1] IN (b[-2], b[-2] // 2) THEN [b[-1]] ELSE [] END
                    )
                )[1],
                -- Gradient of the weights: the rows of both are grouped, and summed over.
                CASE
                    WHEN len(a) = 2 AND len(b) = 2 AND a[1] = b[1] AND result[-2] = a[2]
                        AND result[-1] = b[2] THEN a[1]
                END
            )
            -- Rows of the ranks together are a multiple of those of one.
            WHEN rule = 'collective_matmul' THEN CASE
                WHEN len(a) = 2 AND len(b) = 2 AND len(result) = 2
                    AND greatest(a[1], result[1]) % nullif(least(a[1], result[1]), 0) = 0
                    THEN list_intersect(
                        [a[2]],
                        list_concat(
                            CASE WHEN b[1] = result[2] THEN [b[2]] ELSE [] END,
                            CASE WHEN b[2] = result[2] THEN [b[1]] ELSE [] END
                        )
                    )[1]
            END
            -- Ranks exchange the whole result, and may add it up first.
            WHEN rule = 'exchanging_matmul' THEN CASE
                WHEN list_contains(b[-2:], a[-1]) AND _elements(a) * _elements(b[-2:])
                    % nullif(_elements(result) * a[-1] * a[-1], 0) = 0 THEN a[-1]
            END
            -- Ranks exchange the first matrix, and may gather it then.
            WHEN rule = 'exchanged_matmul' THEN CASE
                WHEN list_contains(b[-2:], result[-1]) AND _elements(result) * _elements(b[-2:])
                    % nullif(_elements(a) * result[-1] * result[-1], 0) = 0
                    THEN CASE WHEN b[-1] = result[-1] THEN b[-2] ELSE b[-1] END
            END
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
        trace_id, shape_id, parts, k,
        CASE
            -- Rows count once, whatever the number of experts; columns before any gate.
            WHEN rule IN ('grouped_matmul', 'transposed_matmul', 'exchanging_matmul')
                THEN CASE WHEN b[-2] = k THEN b[-1] ELSE b[-2] END
            ELSE result[-1]
        END AS n,
        CASE
            WHEN rule IN ('grouped_matmul', 'exchanging_matmul') THEN _elements(a) / k
            WHEN rule = 'transposed_matmul'
                THEN _elements(result) / CASE WHEN b[-2] = k THEN b[-1] ELSE b[-2] END
            -- Each rank multiplies all rows that it gathers, or that are scattered afterwards.
            WHEN rule = 'collective_matmul' THEN greatest(a[1], result[1])
            -- Products side by side whose results are summed up.
            WHEN len(a) > 2 AND len(result) = 2 AND a[:-3] = b[:-3]
                THEN list_product(a[:-3]) * result[1]
            ELSE _elements(result) / result[-1]
        END AS m,
        CASE WHEN a IS NOT NULL AND b IS NOT NULL AND result IS NOT NULL THEN k IS NOT NULL END
            AS fits
    FROM inner_dimensions
),
columns AS (
    SELECT
        *, list_distinct(list_transform(parts, lambda of: of[2])) AS inner_of,
        list_distinct(list_transform(parts, lambda of: of[3])) AS columns_of
    FROM products
)
SELECT
    trace_id, shape_id,
    CASE
        WHEN parts IS NOT NULL
            THEN CAST(list_sum(list_transform(parts, lambda of: of[1])) AS BIGINT)
        WHEN k IS NOT NULL THEN CAST(m AS BIGINT)
    END AS m,
    CASE
        WHEN parts IS NOT NULL THEN CASE WHEN len(columns_of) = 1 THEN columns_of[1] END
        WHEN k IS NOT NULL THEN n
    END AS n,
    CASE
        WHEN parts IS NOT NULL THEN CASE WHEN len(inner_of) = 1 THEN inner_of[1] END
        ELSE k
    END AS k,
    CASE
        WHEN parts IS NOT NULL
            THEN list_sum(list_transform(parts, lambda of: 2.0 * of[1] * of[2] * of[3]))
        ELSE 2.0 * columns.m * columns.n * columns.k
    END AS flop,
    parts IS NOT NULL OR fits AS fits
FROM columns;
