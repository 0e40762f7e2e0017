-- One row per kernel category of a flow of kernels and operator that the reference's simulator
-- holds the category against.
-- request   VARCHAR  question
-- category  VARCHAR  kernel category
-- op        VARCHAR  operator
-- flop_gpu  DOUBLE   its FLOP on one GPU
-- shape     VARCHAR  shapes of its input and output
-- share     DOUBLE   its part of the FLOP of all operators of the category, all GPUs
-- place     BIGINT   order by share, from 1
CREATE VIEW _reference_flow_shares AS
WITH layer_operators AS (
    SELECT
        request, op_seq, op, category AS op_category, flop, flop_gpu,
        shape_in || '→' || shape_out AS shape
    FROM reference_model_operators AS ops
    JOIN _reference_shown_layers AS shown USING (request)
    WHERE ops.compress_ratio = flow_ratio
),
timed AS (
    SELECT request, category, rules.operators, flow_pool
    FROM timing_metadata
    JOIN category_timings USING (request)
    JOIN reference_timing_categories AS rules USING (category)
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
