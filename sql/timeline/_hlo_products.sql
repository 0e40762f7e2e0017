-- One row per distinct XLA instruction that multiplies matrices or convolves and whose shapes tell
-- how much: 2 operations for each element of the result and each product that it sums up.
--
-- A dot names the dimensions that it contracts. A convolution, as which XLA for TPU writes matrix
-- products too, labels its dimensions: each element of the result sums all elements of the kernel
-- but those of the other output features (padding counts as if it were multiplied). Calls of
-- cuBLAS and cuDNN carry the same in their attributes. A fusion shows its operands and its result
-- alone: of those two are the factors whose elements fit the result's with one inner dimension that
-- both have, with the same batch in front of all three or none. Operands of the result's own shape
-- are rather added to it. Where two pairs give different figures, none counts. What is fused to the
-- product is not counted.
--
-- layout       VARCHAR  result with its layout (shape_with_layout)
-- instruction  VARCHAR  the whole instruction (long_name)
-- flops        BIGINT   floating-point operations of a call
CREATE VIEW _hlo_products AS
WITH wanted AS (
    SELECT DISTINCT layout, instruction, coalesce(hlo_categories.category, '') = 'gemm' AS is_gemm
    FROM _xla_texts
    LEFT JOIN hlo_categories USING (hlo_category)
    WHERE
        hlo_categories.category = 'gemm'
        OR regexp_matches(
            instruction, '\s(dot|convolution)\(|"__cublas|"__cudnn\$conv[A-Za-z]*Forward'
        )
),
parts AS (
    SELECT
        wanted.layout, instruction, is_gemm,
        _dims(shape)[1] AS result,
        _dims(operand_shape) AS operands,
        list_transform(
            string_split(
                replace(
                    nullif(
                        regexp_extract(
                            instruction, 'lhs_contracting_dim(?:s=\{|ensions":\[)([\d,"]+)', 1
                        ), ''
                    ), '"', ''
                ), ','
            ),
            LAMBDA place: CAST(place AS BIGINT) + 1
        ) AS contracted,
        strpos(regexp_extract(instruction, 'dim_labels=\w+_(\w+)->', 1), 'o') AS feature
    FROM wanted
    JOIN _op_shapes USING (instruction)
    WHERE _op_shapes.layout IS NOT DISTINCT FROM wanted.layout
),
sized AS (
    SELECT
        layout, instruction, is_gemm, result, operands, contracted, feature,
        CAST(list_product(result) AS HUGEINT) AS elements
    FROM parts
    WHERE len(operands) >= 2 AND list_product(result) > 0
),
told AS (
    SELECT
        layout, instruction,
        CASE
            WHEN contracted IS NOT NULL THEN 2 * elements * list_product(
                list_transform(contracted, LAMBDA place: operands[1][place])
            )
            WHEN feature > 0
                THEN 2 * elements * list_product(operands[2]) / operands[2][feature]
        END AS flops
    FROM sized
),
fused AS (
    SELECT
        layout, instruction, result, elements,
        unnest(operands) AS dims, generate_subscripts(operands, 1) AS place
    FROM sized
    WHERE is_gemm AND contracted IS NULL AND feature = 0
),
pairs AS (
    SELECT
        a.layout, a.instruction, a.elements, a.dims AS a, b.dims AS b,
        CAST(list_product(a.dims) AS HUGEINT) AS a_elements,
        CAST(list_product(b.dims) AS HUGEINT) AS b_elements,
        CAST(a.dims = a.result AS INTEGER) + CAST(b.dims = b.result AS INTEGER) AS likeness,
        -- The dimensions in front that are the same in all three.
        unnest(list_filter(
            range(0, len(a.result)),
            LAMBDA count: a.dims[:count] = a.result[:count] AND b.dims[:count] = a.result[:count]
        )) AS batch_dims
    FROM fused AS a
    JOIN fused AS b
        ON b.layout IS NOT DISTINCT FROM a.layout AND b.instruction = a.instruction
        AND b.place > a.place
    WHERE len(a.dims) > 0 AND len(b.dims) > 0
),
batched AS (
    SELECT
        layout, instruction, elements, likeness, a[batch_dims + 1:] AS a, b[batch_dims + 1:] AS b,
        a_elements * b_elements AS products,
        elements * CAST(coalesce(list_product(a[:batch_dims]), 1) AS HUGEINT) AS divisor
    FROM pairs
    WHERE a_elements > 0 AND b_elements > 0
),
inner_dimensions AS (
    SELECT
        layout, instruction, elements, likeness, a, b, products, divisor,
        CAST(round(sqrt(products / divisor)) AS BIGINT) AS k
    FROM batched
),
fitting AS (
    SELECT layout, instruction, elements, likeness, k
    FROM inner_dimensions
    WHERE
        products = divisor * k * k
        AND list_contains(_runs(a), k)
        AND list_contains(_runs(b), k)
),
chosen AS (
    SELECT layout, instruction, 2 * any_value(elements) * any_value(k) AS flops
    FROM (
        SELECT
            layout, instruction, elements, k, likeness,
            min(likeness) OVER (PARTITION BY layout, instruction) AS least
        FROM fitting
    )
    WHERE likeness = least
    GROUP BY layout, instruction
    HAVING count(DISTINCT k) = 1
)
SELECT layout, instruction, CAST(flops AS BIGINT) AS flops FROM told WHERE flops IS NOT NULL
UNION ALL
SELECT layout, instruction, CAST(flops AS BIGINT) FROM chosen;
