-- One row per distinct name of an XLA device operation: its classification by name alone.
CREATE VIEW _op_classes AS
WITH names AS (
    SELECT name, regexp_replace(ltrim(trim(name), '%'), '\.\d+$', '') AS canonical_name
    FROM (SELECT DISTINCT name FROM _xla_texts)
),
ruled AS (
    SELECT canonical_name, arg_min({'class': class, 'collective': collective}, priority) AS found
    FROM (
        SELECT canonical_name, unnest(_matching_op_name_rules(lower(canonical_name))) AS priority
        FROM (SELECT DISTINCT canonical_name FROM names)
    )
    JOIN op_name_rules USING (priority)
    GROUP BY canonical_name
)
SELECT
    name, canonical_name,
    CASE
        WHEN contains(name, '=>') THEN name
        WHEN regexp_matches(name, '^[\w.]+(::[\w.]+)+$') THEN replace(name, '::', '=>')
    END AS path,
    coalesce(found.class, 'compute') AS class,
    found.collective AS collective
FROM names
LEFT JOIN ruled USING (canonical_name);

-- One row per distinct framework path of XLA's operations (tf_op): its scopes.
CREATE VIEW _op_paths AS
WITH RECURSIVE texts AS (
    SELECT DISTINCT tf_op FROM _xla_texts WHERE tf_op <> ''
),
pieces AS (
    SELECT tf_op, generate_subscripts(parts, 1) AS place, unnest(parts) AS piece
    FROM (SELECT tf_op, string_split(tf_op, '/') AS parts FROM texts)
),
unwrapped (piece, role, scope, round) AS (
    SELECT piece, role, trim(trim(trim(piece), ':')), 0
    FROM (SELECT DISTINCT piece FROM pieces)
    CROSS JOIN (VALUES ('unwrap'), ('show_inside')) AS roles (role)
    UNION ALL
    SELECT
        piece, unwrapped.role, regexp_extract(scope, '^\w+\((.*)\)$', 1), round + 1
    FROM unwrapped
    JOIN path_words AS wrapper
        ON wrapper.word = regexp_extract(scope, '^(\w+)\(.*\)$', 1)
        AND wrapper.role IN ('unwrap', unwrapped.role)
    -- The first bracket closes at the end: inside, none closes before it opens.
    WHERE NOT contains(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        regexp_extract(scope, '^\w+\((.*)\)$', 1), '\([^()]*\)', '', 'g'
                    ), '\([^()]*\)', '', 'g'
                ), '\([^()]*\)', '', 'g'
            ), '\([^()]*\)', '', 'g'
        ), ')'
    )
),
scopes AS (
    SELECT
        piece, role,
        regexp_replace(trim(arg_max(scope, round), ':'), '^dynamic_donated[^.]*\.', '') AS scope
    FROM unwrapped
    GROUP BY piece, role
),
named AS (
    SELECT piece, scopes.role, scope
    FROM scopes
    LEFT JOIN path_words
        ON path_words.word = trim(regexp_replace(lower(scope), '[^a-z0-9_]+', '_', 'g'), '_')
    WHERE scope <> '' AND NOT coalesce(path_words.role IN ('unwrap', 'drop'), FALSE)
),
joined AS (
    SELECT
        tf_op,
        string_agg(scope, '=>' ORDER BY place) FILTER (role = 'unwrap') AS path,
        string_agg(scope, '=>' ORDER BY place) FILTER (role = 'show_inside') AS display_path
    FROM pieces
    JOIN named USING (piece)
    GROUP BY tf_op
)
SELECT
    tf_op, path, display_path,
    CASE
        WHEN contains(tf_op, 'rematted_computation') THEN 'recompute'
        WHEN contains(tf_op, 'transpose(') THEN 'backward'
        WHEN contains(tf_op, 'jvp(') THEN 'forward'
    END AS phase
FROM texts
LEFT JOIN joined USING (tf_op);

-- The dimensions in a list of shapes in the format of _op_shapes, each a list: [[128,512], [64],
-- []] for 128,512|64|[]; NULL if one is not a number. No device holds 2^48 elements: a shape with
-- more, or with a negative number, is NULL.
CREATE MACRO _dims(shapes) AS
list_transform(
    TRY_CAST('[[' || replace(replace(shapes, '[]', ''), '|', '], [') || ']]' AS BIGINT[][]),
    LAMBDA dims: CASE
        WHEN len(dims) = 0 OR list_min(dims) >= 0 AND list_product(dims) < pow(2, 48) THEN dims
    END
);

-- Products of all contiguous sublists of a list of numbers: 2, 3, 4, 6, 12, 24 for [2, 3, 4].
CREATE MACRO _runs(dims) AS
list_distinct(flatten(list_transform(
    range(1, len(dims) + 1),
    LAMBDA first: list_transform(
        range(first, len(dims) + 1),
        LAMBDA last: TRY_CAST(list_product(dims[first:last]) AS BIGINT)
    )
)));

-- One row per distinct XLA instruction that multiplies matrices or convolves and whose shapes give
-- its work: 2 operations for each element of the result and each product summed into it; a row each
-- if traces categorise it both as a product and otherwise.
--
-- A dot names the dimensions that it contracts. A convolution, which XLA for TPU also uses for
-- matrix products, labels its dimensions: each element of the result sums over the kernel's
-- elements for its own output feature (padding counts as if it were multiplied). Calls of cuBLAS
-- and cuDNN have the same in their attributes. A fusion shows only its operands and its result: the
-- factors are the two operands whose elements fit the result's with one inner dimension that both
-- have, with the same leading batch dimensions in all three or none. Operands with the shape of the
-- result are more likely added to it. If two pairs give different figures, neither counts. What is
-- fused to the product is not counted.
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
            LAMBDA place: TRY_CAST(place AS INTEGER) + CAST(1 AS BIGINT)
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
given AS (
    SELECT
        layout, instruction, is_gemm,
        CASE
            WHEN contracted IS NOT NULL THEN 2 * elements * list_product(
                list_transform(contracted, LAMBDA place: operands[1][place])
            )
            WHEN feature > 0
                THEN 2 * elements * list_product(operands[2]) / operands[2][feature]
        END AS flop
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
        -- Numbers of leading dimensions that are the same in all three.
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
    SELECT layout, instruction, 2 * any_value(elements) * any_value(k) AS flop
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
SELECT layout, instruction, is_gemm, TRY_CAST(flop AS BIGINT) AS flop
FROM given
WHERE flop IS NOT NULL
UNION ALL
SELECT layout, instruction, TRUE, TRY_CAST(flop AS BIGINT) FROM chosen;

-- One row per trace and distinct description of operations of XLA, with what follows from it.
-- trace_id        VARCHAR  trace
-- text_id         UBIGINT  as in _xla_ops
-- name            VARCHAR  name
-- canonical_name  VARCHAR  name shared by all instances
-- class           VARCHAR  compute, communication, copy, dma or wait
-- category        VARCHAR  kernel category: XLA's own, else its kernel's, else that of its class;
--                          other where no rule fits
-- collective      VARCHAR  which collective, if the trace or the name has it
-- hlo_category    VARCHAR  category that XLA gives it
-- hlo_module      VARCHAR  program
-- path            VARCHAR  scopes it belongs to, joined by =>
-- display_path    VARCHAR  path with more transformations stripped
-- phase           VARCHAR  forward, backward or recompute
-- shape           VARCHAR  dimensions of its results, | between
-- dtype           VARCHAR  their types
-- dedup_name      VARCHAR  name shared by the copies of one operation
-- xla_model_flop  BIGINT   operations as XLA counts them; a 0 for a custom call or a matrix product
--                          counts as unknown
-- shape_flop      BIGINT   operations of the matrix product or convolution by its shapes
-- bytes_accessed  BIGINT   bytes read and written as XLA counts them; NULL if it only begins or
--                          ends a transfer (is_async of hlo_categories)
-- source          VARCHAR  file and line in the user's program
CREATE VIEW _op_texts AS
WITH described AS (
    SELECT
        t.*, h.class AS hlo_class, h.collective AS hlo_collective,
        h.category AS hlo_kernel_category, h.is_async,
        named.canonical_name, named.class AS named_class, named.collective AS named_collective,
        named.path AS named_path,
        k.category AS kernel_category,
        names_its_work(h.is_wrapper, h.wrapped_names, t.name)
        AND coalesce(k.kind = 'communication', named.class = 'communication') AS wraps_collective
    FROM _xla_texts AS t
    JOIN _op_classes AS named ON named.name = t.name
    LEFT JOIN multislice_traces AS m ON m.trace_id = t.trace_id
    LEFT JOIN hlo_categories AS h
        ON h.hlo_category
        = hlo_category_of(t.hlo_category, m.callbacks, t.name, t.instruction)
    LEFT JOIN kernels AS k ON k.trace_id = t.trace_id AND k.kernel_id = t.kernel_id
)
SELECT
    t.trace_id, t.text_id, t.name, t.canonical_name,
    CASE
        WHEN t.wraps_collective THEN 'communication'
        WHEN t.hlo_class IS NOT NULL THEN t.hlo_class
        WHEN t.hlo_category IS NOT NULL THEN 'compute'
        WHEN t.named_class = 'compute' AND t.copies THEN 'copy'
        ELSE t.named_class
    END AS class,
    CASE
        WHEN t.wraps_collective THEN 'communication'
        WHEN t.hlo_kernel_category IS NOT NULL THEN t.hlo_kernel_category
        WHEN t.kernel_category IS NOT NULL THEN t.kernel_category
        -- What is in flight beside the operations is no kernel.
        WHEN t.named_class IN ('dma', 'copy') THEN 'memcpy'
        WHEN t.named_class = 'compute' THEN 'other'
        ELSE t.named_class
    END AS category,
    CASE
        WHEN t.hlo_category IS NULL OR t.wraps_collective THEN t.named_collective
        ELSE t.hlo_collective
    END AS collective,
    t.hlo_category, t.hlo_module,
    coalesce(_op_paths.path, t.named_path) AS path,
    coalesce(_op_paths.display_path, t.named_path) AS display_path,
    _op_paths.phase,
    _op_shapes.shape, _op_shapes.dtype, t.dedup_name,
    CASE
        WHEN t.hlo_category = 'custom-call' OR t.hlo_kernel_category = 'gemm'
            THEN nullif(t.xla_model_flop, 0)
        ELSE t.xla_model_flop
    END AS xla_model_flop,
    _hlo_products.flop AS shape_flop,
    -- Of a custom call, such as a kernel of Pallas, XLA knows neither: 0 is unknown.
    CASE
        WHEN t.is_async IS NOT TRUE
            THEN if(t.hlo_category = 'custom-call', nullif(t.bytes, 0), t.bytes)
    END AS bytes_accessed,
    t.source
FROM described AS t
LEFT JOIN _op_paths ON _op_paths.tf_op = t.tf_op
LEFT JOIN _op_shapes
    ON _op_shapes.layout IS NOT DISTINCT FROM t.layout
    AND _op_shapes.instruction IS NOT DISTINCT FROM t.instruction
LEFT JOIN _hlo_products
    ON _hlo_products.layout IS NOT DISTINCT FROM t.layout
    AND _hlo_products.instruction = t.instruction
    AND _hlo_products.is_gemm = (coalesce(t.hlo_kernel_category, '') = 'gemm');
