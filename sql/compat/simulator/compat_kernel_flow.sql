-- One row per kernel category of a flow of kernels and operator that the reference's simulator
-- compares it with.
CREATE VIEW _compat_flow_shares AS
WITH layer_operators AS (
    SELECT
        request, op_seq, op, category AS op_category, flop, flop_gpu,
        shape_in || '→' || shape_out AS shape
    FROM compat_model_operators AS ops
    JOIN _compat_shown_layers AS shown USING (request)
    WHERE ops.compress_ratio = flow_ratio
),
timed AS (
    SELECT request, category, rules.operators, flow_pool
    FROM timing_metadata
    JOIN category_timings USING (request)
    JOIN compat_timing_categories AS rules USING (category)
    WHERE form = 'kernel_flow'
),
named AS (
    -- The first operator of a name stands for all.
    SELECT
        request, timed.category, op_seq, op, flop, flop_gpu, shape,
        list_position(timed.operators, op) AS place_named
    FROM timed
    JOIN layer_operators USING (request)
    WHERE list_contains(timed.operators, op)
    QUALIFY row_number() OVER (PARTITION BY request, timed.category, op ORDER BY op_seq) = 1
),
pooled AS (
    SELECT timed.request, timed.category, op_seq, op, flop, flop_gpu, shape, op_seq AS place_named
    FROM timed
    JOIN layer_operators USING (request)
    ANTI JOIN named USING (request, op_seq)
    WHERE list_contains(flow_pool, op_category)
),
held AS (
    SELECT request, category, op_seq, op, flop, flop_gpu, shape, place_named FROM named
    UNION ALL
    SELECT request, category, op_seq, op, flop, flop_gpu, shape, place_named FROM pooled
),
shared AS (
    SELECT
        request, category, op, flop_gpu, shape, place_named,
        CAST(flop AS DOUBLE)
        / nullif(CAST(sum(flop) OVER (PARTITION BY request, category) AS DOUBLE), 0) AS share
    FROM held
)
SELECT
    request, category, op, flop_gpu, shape, coalesce(share, 0) AS share,
    row_number() OVER (PARTITION BY request, category ORDER BY share DESC NULLS LAST, place_named)
        AS place
FROM shared;

-- One row per kernel of a flow of kernels, in the order given: its figures from the reference's
-- compute simulator. FLOP are split by duration, so all kernels of a category come out alike:
-- timing_kernels is the relation to use.
--
-- key: request, position
--
-- request      VARCHAR  scenario, from compat_requests
-- position     BIGINT   order, from 0
-- half         VARCHAR  part of the layer; default: ?
-- category     VARCHAR  kernel category; default: other
-- name         VARCHAR  name of the kernel
-- dur_us       DOUBLE   duration, µs
-- layer_pct    DOUBLE   share of the stated time of all kernels, else of their sum
-- mapped_op    VARCHAR  operators that it is compared with; NULL for overhead and what is unknown
-- flop         DOUBLE   its part of the FLOP of the largest of them on one GPU
-- theo_us      DOUBLE   time of these at the peak, µs
-- peak_tflops  DOUBLE   that peak
-- is_fp8       BOOLEAN  the FP8 peak is used because of the category
-- mfu_pct      DOUBLE   theo_us over dur_us; NULL if either is 0
-- shape        VARCHAR  shapes of the largest operator
CREATE VIEW compat_kernel_flow AS
WITH categories AS (
    SELECT
        request, category,
        CASE
            WHEN pool_order IS NULL THEN dur_us
            ELSE sum(CASE WHEN pool_order IS NOT NULL THEN dur_us END) OVER (PARTITION BY request)
        END AS reference_us
    FROM category_timings
    LEFT JOIN compat_timing_categories USING (category)
),
largest AS (
    SELECT
        request, category,
        any_value(flop_gpu) FILTER (place = 1) AS flop_gpu,
        any_value(shape) FILTER (place = 1) AS shape,
        CASE
            WHEN count(*) = 1 THEN any_value(op)
            ELSE string_agg(format('{}({:.0f}%)', op, share * 100), '+' ORDER BY place)
                FILTER (place <= 2)
        END AS mapped_op
    FROM _compat_flow_shares
    GROUP BY request, category
),
held AS (
    SELECT
        request, position, coalesce(half, '?') AS half,
        coalesce(kernels.category, 'other') AS category,
        coalesce(short_name, name) AS name, kernels.dur_us, mapped_op, shape,
        100 * kernels.dur_us / coalesce(
            nullif(total_dur_us, 0), sum(kernels.dur_us) OVER (PARTITION BY request)
        ) AS layer_pct,
        flop_gpu * (kernels.dur_us / nullif(reference_us, 0)) AS flop,
        coalesce(rules.is_fp8, FALSE) AND fp8_tflops > 0 AS is_fp8,
        CASE WHEN rules.is_fp8 AND fp8_tflops > 0 THEN fp8_tflops ELSE peak_tflops END
            AS peak_tflops
    FROM timing_metadata
    JOIN _compat_questions USING (request)
    JOIN kernel_timings AS kernels USING (request)
    LEFT JOIN compat_timing_categories AS rules
        ON rules.category = coalesce(kernels.category, 'other')
    LEFT JOIN largest
        ON largest.request = kernels.request AND largest.category = rules.category
    LEFT JOIN categories
        ON categories.request = kernels.request AND categories.category = rules.category
    WHERE form = 'kernel_flow'
)
SELECT
    request, position, half, category, name, dur_us, layer_pct, mapped_op, flop,
    flop / (peak_tflops * 1e6) AS theo_us, peak_tflops, is_fp8,
    nullif(flop, 0) / (peak_tflops * 1e6) / nullif(dur_us, 0) * 100 AS mfu_pct, shape
FROM held;
