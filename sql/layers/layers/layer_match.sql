-- One row per operation of two layers, of one trace or of two, paired with the matching operation
-- of the other layer. Within each half, operations of one type and equal shapes are paired in
-- order; then the remaining ones of the type; the rest stay unpaired. Place in the layer alone
-- pairs nothing.
--
-- `FROM layer_match(trace_id, pass, layer, other trace_id, other pass, other layer)`; if a trace
-- has several devices, they are paired in order.
--
-- device_nth    BIGINT   number of the device among those of its trace with the pass, from 1
-- match         VARCHAR  exact; shapes: only these differ; a or b: only that layer has it
-- op_type       VARCHAR  type of the operation: its name, shortened; of Ascend kernels the op type
-- category      VARCHAR  its category
-- half          VARCHAR  half of the layer, by the first layer where both have it
-- a_position    BIGINT   place in the first layer, from 0
-- b_position    BIGINT   place in the second layer, from 0
-- a_input_dims  VARCHAR  shapes of the inputs in the first layer, JSON
-- b_input_dims  VARCHAR  shapes of the inputs in the second layer, JSON
-- a_us          DOUBLE   duration in the first layer
-- b_us          DOUBLE   duration in the second layer
-- diff_us       DOUBLE   second minus first, NULL if one of them lacks it
CREATE MACRO layer_match(a_trace, a_pass, a_layer, b_trace, b_pass, b_layer) AS TABLE
WITH sides AS (
    SELECT
        display_name, category, half, half IN ('attn', 'self') AS is_attention, position,
        input_dims, dur_us, 'a' AS side,
        dense_rank() OVER (ORDER BY rank, device) AS device_nth
    FROM layer_kernels
    WHERE trace_id = a_trace AND pass_id = a_pass AND layer_id = a_layer
    UNION ALL
    SELECT
        display_name, category, half, half IN ('attn', 'self'), position,
        input_dims, dur_us, 'b', dense_rank() OVER (ORDER BY rank, device)
    FROM layer_kernels
    WHERE trace_id = b_trace AND pass_id = b_pass AND layer_id = b_layer
),
numbered AS (
    SELECT
        device_nth, side, display_name, category, half, is_attention, position, input_dims, dur_us,
        coalesce(input_dims, '') AS shapes,
        row_number() OVER (
            PARTITION BY side, device_nth, is_attention, display_name, input_dims ORDER BY position
        ) AS occurrence
    FROM sides
),
paired AS (
    SELECT
        device_nth, side, display_name, category, half, is_attention, position, input_dims, dur_us,
        shapes, occurrence,
        count(*) OVER (
            PARTITION BY device_nth, is_attention, display_name, shapes, occurrence
        ) = 2 AS is_exact
    FROM numbered
),
left_over AS (
    SELECT
        device_nth, side, display_name, category, half, is_attention, position, input_dims, dur_us,
        shapes, occurrence, is_exact,
        row_number() OVER (
            PARTITION BY side, device_nth, is_attention, display_name, is_exact ORDER BY position
        ) AS nth
    FROM paired
),
matched AS (
    SELECT
        device_nth, display_name, is_attention, is_exact,
        CASE WHEN is_exact THEN shapes END AS shapes,
        CASE WHEN is_exact THEN occurrence ELSE nth END AS number,
        coalesce(any_value(half) FILTER (side = 'a'), any_value(half)) AS half,
        min(category) AS category,
        any_value(position) FILTER (side = 'a') AS a_position,
        any_value(position) FILTER (side = 'b') AS b_position,
        any_value(input_dims) FILTER (side = 'a') AS a_input_dims,
        any_value(input_dims) FILTER (side = 'b') AS b_input_dims,
        any_value(dur_us) FILTER (side = 'a') AS a_us,
        any_value(dur_us) FILTER (side = 'b') AS b_us
    FROM left_over
    GROUP BY ALL
)
SELECT
    device_nth,
    CASE
        WHEN is_exact THEN 'exact' WHEN b_position IS NULL THEN 'a' WHEN a_position IS NULL THEN 'b'
        ELSE 'shapes'
    END AS match,
    display_name AS op_type, category, half, a_position, b_position, a_input_dims, b_input_dims,
    a_us, b_us, round(b_us - a_us, 3) AS diff_us
FROM matched;
