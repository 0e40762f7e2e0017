-- One row per trace with products whose shapes are known, or with a complete forward pass: what
-- they show of its model, whatever that is.
--
-- Every linear product of a decoder's layer reads or writes the residual stream, but for those
-- inside a compressed attention: the width that most of them have is the stream's. Tensor
-- parallelism cuts the other width of a product and leaves this one. Products of several matrices
-- at once are those of an attention.
--
-- trace_id     VARCHAR   trace
-- layers       BIGINT    layers of most complete passes of the series that takes most time
-- hidden_size  BIGINT    width of the residual stream; NULL where less than half of the products
--                        have one
-- reads        BIGINT[]  results of products that read it, without that of the head
-- writes       BIGINT[]  inner dimensions of products that write it
-- head         BIGINT    result of the head's product: of 8192 or more, and called less than others
-- has_experts  BOOLEAN   an operator or a kernel runs experts
CREATE VIEW _model_widths AS
WITH called AS (
    SELECT trace_id, trace_id AS op_trace_id, op_id FROM counted_operators
    UNION ALL
    SELECT trace_id, op_trace_id, op_id FROM _replayed_ops WHERE op_trace_id <> trace_id
),
works AS (
    SELECT called.trace_id, works.family, works.n, works.k, count(*) AS calls
    FROM called
    JOIN counted_operators AS ops
        ON ops.trace_id = called.op_trace_id AND ops.op_id = called.op_id
    JOIN operator_works AS works
        ON works.trace_id = ops.trace_id AND works.work_id = ops.work_id
    WHERE coalesce(works.batch, 1) = 1
    GROUP BY ALL
),
products AS (
    SELECT trace_id, n, k, calls FROM works WHERE family = 'product' AND n > 1 AND k > 1
),
sides AS (
    SELECT trace_id, k AS width, calls FROM products
    UNION ALL
    SELECT trace_id, n, calls FROM products WHERE n <> k
),
streams AS (
    SELECT trace_id, width AS hidden_size
    FROM (SELECT trace_id, width, sum(calls) AS calls FROM sides GROUP BY trace_id, width)
    JOIN (SELECT trace_id, sum(calls) AS all_calls FROM products GROUP BY trace_id)
        USING (trace_id)
    -- A few products are no model.
    WHERE 2 * calls > all_calls AND all_calls >= 8
    QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY calls DESC, width) = 1
),
widths AS (
    SELECT
        products.trace_id, hidden_size, products.n, products.k, calls,
        k = hidden_size AND n >= 8192 AND 4 * calls < max(calls) OVER (PARTITION BY trace_id)
            AS is_head
    FROM products
    JOIN streams USING (trace_id)
),
shapes AS (
    SELECT
        trace_id, any_value(hidden_size) AS hidden_size,
        list_sort(list(DISTINCT n) FILTER (k = hidden_size AND NOT is_head)) AS reads,
        list_sort(list(DISTINCT k) FILTER (n = hidden_size)) AS writes,
        max(n) FILTER (is_head) AS head
    FROM widths
    GROUP BY trace_id
),
counted AS (
    SELECT trace_id, layer_count AS layers
    FROM passes
    WHERE complete AND main_series
    GROUP BY trace_id, layer_count
    QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY count(*) DESC, layer_count DESC) = 1
),
experts AS (
    SELECT trace_id FROM works WHERE family = 'moe'
    UNION
    SELECT trace_id FROM kernels WHERE starts_with(category, 'moe')
)
SELECT
    trace_id, counted.layers, shapes.hidden_size, shapes.reads, shapes.writes, shapes.head,
    trace_id IN (SELECT trace_id FROM experts) AS has_experts
FROM shapes
FULL JOIN counted USING (trace_id);
