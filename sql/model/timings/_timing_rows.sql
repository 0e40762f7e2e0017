-- One row per timed kernel, or per category if only sums are given, with what its name, its types
-- and its shapes show.
--
-- stored: in memory
--
-- request       VARCHAR  scenario
-- position      BIGINT   order in which they were given
-- category      VARCHAR  kernel category as given; if other or missing, by the name
-- name          VARCHAR  name of the kernel
-- short_name    VARCHAR  the same, shortened for reading
-- half          VARCHAR  part of the layer
-- shape         VARCHAR  shapes of its inputs, as given
-- dur_us        DOUBLE   duration, µs
-- dtype         VARCHAR  type that it multiplies in; NULL if unknown
-- dtype_source  VARCHAR  source of dtype: input types, name or category
-- n             BIGINT   columns of a product's result; NULL without shapes
-- k             BIGINT   inner dimension
-- flop          BIGINT   FLOP of a product by its shapes
CREATE VIEW _timing_rows AS
WITH given AS (
    SELECT
        request, position, category, name, short_name, half, dur_us, input_dims AS shape,
        list_filter(TRY_CAST(input_dims AS BIGINT[][]), lambda dims: len(dims) >= 2) AS matrices,
        nullif(regexp_extract(lower(input_types), '[a-z][a-z0-9_:]*'), '') AS first_type
    FROM kernel_timings
    UNION ALL
    SELECT request, position, category, category, NULL, NULL, dur_us, NULL, NULL, NULL
    FROM category_timings
    ANTI JOIN kernel_timings USING (request)
),
classified AS (
    SELECT given.*, category_rules.category AS by_name, dtypes.dtype AS input_dtype
    FROM given
    LEFT JOIN category_rules ON category_rules.priority = _category_rule(lower(name), NULL)
    LEFT JOIN dtypes ON dtypes.token = replace(first_type, 'c10::', '')
),
marked AS (
    SELECT request, position, value AS named_dtype
    FROM classified
    JOIN kernel_marks
        ON mark = 'dtype' AND regexp_matches(lower(name), pattern)
        AND (inputs IS NULL OR inputs = input_dtype)
    QUALIFY row_number() OVER (PARTITION BY request, position ORDER BY priority) = 1
),
shaped AS (
    SELECT
        request, position, name, short_name, half, dur_us, shape, input_dtype,
        coalesce(nullif(classified.category, 'other'), by_name, 'other') AS category,
        matrices[1][-1] AS k, list_product(matrices[1][:-2]) AS row_count,
        CASE
            WHEN matrices[2][-2] = k THEN matrices[2][-1]
            WHEN matrices[2][-1] = k THEN matrices[2][-2]
        END AS n
    FROM classified
)
SELECT
    request, position, category, name, short_name, half, shape, dur_us,
    coalesce(input_dtype, named_dtype, rules.dtype) AS dtype,
    CASE
        WHEN input_dtype IS NOT NULL THEN 'input types'
        WHEN named_dtype IS NOT NULL THEN 'name'
        WHEN rules.dtype IS NOT NULL THEN 'category'
    END AS dtype_source,
    n, k, CAST(2 * row_count * n * k AS BIGINT) AS flop
FROM shaped
LEFT JOIN marked USING (request, position)
LEFT JOIN timing_rules AS rules USING (category);
