-- One row per kernel that does the work of a framework operator whose shapes tell the floating-
-- point operations; flop_rules says how.
--
-- A product: 2 for each element of the result and each of the inner dimension. A convolution: 2 for
-- each place of the result and each weight, transposed for each place of the input; backward as
-- much for each of the two gradients. Attention: 2 for each pair of query and key that it reads,
-- each head, and each dimension of key and value; causal, a token reads those up to itself. The
-- bias, the scale and the softmax are not counted.
--
-- Of an operator's kernels those that multiply do the work, by their category; where none is of
-- that kind, all that compute. Several share it by their durations.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the kernel
-- flops      BIGINT   floating-point operations
CREATE VIEW _operator_flops AS
WITH names AS (
    SELECT op_name, min(priority) AS priority
    FROM (SELECT DISTINCT op_name FROM kernels WHERE op_name IS NOT NULL)
    JOIN flop_rules ON regexp_matches(op_name, pattern)
    GROUP BY op_name
),
workers AS (
    SELECT trace_id, kernel_id, op_id, op_name, input_dims, dur_ns, start_ns
    FROM kernels
    SEMI JOIN names USING (op_name)
    WHERE kind = 'compute' AND input_dims IS NOT NULL AND dur_ns > 0
    QUALIFY
        category IN ('gemm', 'moe_gemm', 'conv', 'attention')
        OR NOT bool_or(category IN ('gemm', 'moe_gemm', 'conv', 'attention')) OVER (
            PARTITION BY trace_id, op_id
        )
),
calls AS (
    SELECT DISTINCT trace_id, op_id, op_name, input_dims FROM workers
),
values_given AS (
    -- What is no tensor: only some rules ask for it.
    SELECT
        events.trace_id, events.event_id AS op_id,
        TRY_CAST(args ->> '$."Concrete Inputs"' AS VARCHAR[]) AS given
    FROM events
    SEMI JOIN calls ON calls.trace_id = events.trace_id AND calls.op_id = events.event_id
    JOIN names ON names.op_name = events.name
    JOIN flop_rules ON flop_rules.priority = names.priority
    WHERE lane = 'host' AND rule <> 'product'
),
shaped AS (
    SELECT
        calls.trace_id, calls.op_id, rule, factor, given, causal_slot,
        TRY_CAST(input_dims AS BIGINT[][]) AS dims,
        dims[a_slot + 1] AS a, dims[b_slot + 1] AS b, dims[v_slot + 1] AS v,
        TRY_CAST(given[stride_slot + 1] AS BIGINT[]) AS stride,
        TRY_CAST(given[padding_slot + 1] AS BIGINT[]) AS padding,
        TRY_CAST(given[dilation_slot + 1] AS BIGINT[]) AS dilation,
        CASE
            WHEN transposed_slot IS NULL THEN FALSE
            ELSE TRY_CAST(given[transposed_slot + 1] AS BOOLEAN)
        END AS transposed,
        TRY_CAST(given[mask_slot + 1] AS BOOLEAN[]) AS mask,
        TRY_CAST(given[causal_slot + 1] AS BOOLEAN) AS is_causal,
        coalesce(len(dims[lengths_slot + 1]), 0) > 0 AS is_packed,
        sequence_axis AS tokens, 5 - sequence_axis AS heads
    FROM calls
    JOIN names USING (op_name)
    JOIN flop_rules USING (priority)
    LEFT JOIN values_given USING (trace_id, op_id)
),
counted AS (
    SELECT
        trace_id, op_id,
        factor * CASE rule
            WHEN 'product' THEN 2 * CASE
                WHEN len(a) = 0 OR len(b) = 0 THEN NULL
                -- A vector counts as a matrix of one row or one column.
                WHEN len(b) = 1 THEN CASE WHEN a[-1] = b[1] THEN list_product(a) END
                WHEN a[-1] = b[-2] THEN b[-1] * list_product(a)
                WHEN a[-1] = b[-1] THEN b[-2] * list_product(a)
            END * CASE
                -- Batches of the second matrix alone.
                WHEN len(b) > 2 AND coalesce(list_product(a[:-3]), 1) = 1
                    THEN list_product(b[:-3])
                ELSE 1
            END
            WHEN 'convolution' THEN 2 * a[1] * list_product(b) * CASE
                WHEN transposed THEN list_product(a[3:])
                WHEN stride[1] > 0 AND len(padding) > 0 AND len(dilation) > 0
                    THEN list_product(list_transform(
                        range(1, len(a) - 1),
                        -- One number is for all directions.
                        LAMBDA axis: 1 + (
                            a[axis + 2] + 2 * coalesce(padding[axis], padding[1])
                            - coalesce(dilation[axis], dilation[1]) * (b[axis + 2] - 1) - 1
                        ) // coalesce(stride[axis], stride[1])
                    ))
            END
            WHEN 'convolution_backward' THEN 2 * a[1] * list_product(b)
                * list_product(CASE WHEN transposed THEN v[3:] ELSE a[3:] END)
                * (CAST(mask[1] AS INTEGER) + CAST(mask[2] AS INTEGER))
            WHEN 'attention' THEN CASE
                WHEN NOT is_packed AND len(a) = 4 THEN
                    2 * a[1] * a[heads] * (b[4] + v[4]) * CASE
                        WHEN NOT is_causal THEN a[tokens] * b[tokens]
                        WHEN is_causal AND a[tokens] = b[tokens]
                            THEN a[tokens] * (a[tokens] + 1) // 2
                    END
            END
        END AS flops
    FROM shaped
),
shares AS (
    SELECT
        trace_id, kernel_id, CAST(flops AS HUGEINT) AS flops, dur_ns,
        sum(dur_ns) OVER (
            PARTITION BY trace_id, op_id ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS done_ns,
        sum(dur_ns) OVER (PARTITION BY trace_id, op_id) AS total_ns
    FROM workers
    JOIN counted USING (trace_id, op_id)
    WHERE flops > 0
)
SELECT
    trace_id, kernel_id,
    CAST(flops * done_ns // total_ns - flops * (done_ns - dur_ns) // total_ns AS BIGINT) AS flops
FROM shares;
