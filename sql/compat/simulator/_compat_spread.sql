-- One row per kernel category and operator that gets part of its time, where the reference's
-- simulator spreads times per category over a layer's operators by their FLOP.
--
-- For a layer's milliseconds, every category is spread, and times add up. For a summary of kernels,
-- an operator belongs to the first category that names it; the rest go to the pool of gemm_fp8,
-- then to that of gemm_bf16, which therefore gets none if both occur.
--
-- request   VARCHAR  scenario
-- position  BIGINT   the category's place among those given
-- category  VARCHAR  kernel category
-- way       VARCHAR  spread, named or pool
-- dur_us    DOUBLE   its time
-- op_seq    BIGINT   operator
-- part_us   DOUBLE   its part of the time, µs
CREATE VIEW _compat_spread AS
WITH layer_operators AS (
    SELECT request, op_seq, op, category AS op_category, flop
    FROM compat_model_operators AS ops
    JOIN _compat_shown_layers AS shown USING (request)
    WHERE ops.compress_ratio = table_ratio
),
timed AS (
    SELECT
        request, form, position, category, dur_us, operator_categories, operators, detail_pool,
        pool_order
    FROM timing_metadata
    JOIN category_timings USING (request)
    JOIN compat_timing_categories USING (category)
),
wishes AS (
    SELECT
        request, position, category, dur_us, op_seq, flop,
        CASE
            WHEN form = 'kernel_ms' THEN 'spread'
            WHEN pool_order IS NULL THEN 'named'
            ELSE 'pool'
        END AS way,
        -- Spreading one category leaves its operators to the others.
        form <> 'kernel_ms' AND row_number() OVER (
            PARTITION BY request, op_seq ORDER BY pool_order NULLS FIRST, position
        ) > 1 AS is_late
    FROM timed
    JOIN layer_operators USING (request)
    WHERE
        CASE
            WHEN form = 'kernel_ms' THEN list_contains(operator_categories, op_category)
            WHEN form = 'kernel_detail'
                THEN list_contains(coalesce(operators, []), op)
                    OR list_contains(coalesce(detail_pool, []), op_category)
        END
)
SELECT
    request, position, category, way, dur_us, op_seq,
    CASE
        WHEN sum(flop) OVER of_category > 0
            THEN dur_us * flop / CAST(sum(flop) OVER of_category AS DOUBLE)
        ELSE dur_us / count(*) OVER of_category
    END AS part_us
FROM wishes
WHERE NOT is_late
WINDOW of_category AS (PARTITION BY request, position);
