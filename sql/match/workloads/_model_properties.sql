-- One row per trace with products whose shapes are known, or with a complete forward pass: what
-- they show about its model, whichever it is.
--
-- Every linear product of a decoder layer reads or writes the residual stream, except those inside
-- a compressed attention: the width that most of them have is the stream's. Tensor parallelism
-- divides the other width of a product and leaves this one unchanged. Products of several matrices
-- at once belong to attention.
--
-- others: _capture_links
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
    -- Too few products do not show a model.
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
-- Layers that draft tokens continue the numbers of the model's own, after the part between them.
drafting AS (
    SELECT l.trace_id, l.device, l.pass_id, count(*) AS drafts
    FROM pass_parts AS p
    JOIN layers AS l
        ON l.trace_id = p.trace_id AND l.device = p.device AND l.pass_id = p.pass_id
        AND l.start_ns > p.start_ns
    WHERE p.part = 'between'
    GROUP BY l.trace_id, l.device, l.pass_id
),
counted AS (
    SELECT p.trace_id, p.layer_count - coalesce(d.drafts, 0) AS layers
    FROM passes AS p
    LEFT JOIN drafting AS d
        ON d.trace_id = p.trace_id AND d.device = p.device AND d.pass_id = p.pass_id
    WHERE p.complete AND p.main_series
    GROUP BY p.trace_id, p.layer_count - coalesce(d.drafts, 0)
    QUALIFY row_number() OVER (PARTITION BY p.trace_id ORDER BY count(*) DESC, layers DESC) = 1
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

-- One row per trace, model of architectures and property that the trace shows: whether they agree.
--
-- A dimension that tensor parallelism divides fits if it is the model's, or the part of one rank:
-- with the trace's tp, else with any power of two up to 64. A property that products may show but
-- other products could hide either fits or is left open.
-- trace_id  VARCHAR  trace
-- model     VARCHAR  model, as in architectures
-- property  VARCHAR  layers, hidden_size, attention_width, intermediate_size, experts or vocabulary
-- seen      VARCHAR  what the trace shows
-- expected  VARCHAR  what the model has
-- fits      BOOLEAN  both agree; NULL if unknown
CREATE VIEW _model_properties AS
WITH pairs AS (
    SELECT
        w.trace_id, a.model, w.layers, w.hidden_size, w.reads, w.writes, w.head, w.has_experts,
        coalesce(traces.pp, 1) AS pp,
        a.num_layers, coalesce(a.mtp_layers, 0) AS mtp_layers, a.hidden_size AS model_hidden,
        a.num_heads * coalesce(a.v_head_dim, a.head_dim) AS model_width,
        a.o_lora_rank, a.intermediate_size AS model_mlp,
        coalesce(a.num_experts, 0) AS model_experts,
        CASE WHEN a.has_head THEN a.vocab_size END AS vocab_size,
        CASE
            WHEN traces.tp IS NULL THEN [1, 2, 4, 8, 16, 32, 64]
            ELSE list_distinct([1, traces.tp])
        END AS parts
    FROM _model_widths AS w
    JOIN traces ON traces.trace_id = w.trace_id
    CROSS JOIN of_passes.architectures AS a
    WHERE a.fault IS NULL
),
given AS (
    SELECT
        trace_id, model, 'layers' AS property, CAST(layers AS VARCHAR) AS seen,
        CAST(num_layers AS VARCHAR) || CASE WHEN pp > 1 THEN format(' / pp {}', pp) ELSE '' END
            AS expected,
        CASE
            WHEN layers > num_layers + mtp_layers THEN FALSE
            WHEN pp = 1 THEN layers IN (num_layers, num_layers + mtp_layers)
            -- Stages may be of different lengths.
            WHEN layers IN (num_layers // pp, (num_layers + pp - 1) // pp) THEN TRUE
        END AS fits
    FROM pairs
    WHERE layers IS NOT NULL AND num_layers IS NOT NULL
    UNION ALL
    SELECT
        trace_id, model, 'hidden_size', CAST(hidden_size AS VARCHAR),
        CAST(model_hidden AS VARCHAR), hidden_size = model_hidden
    FROM pairs
    WHERE hidden_size IS NOT NULL AND model_hidden IS NOT NULL
    UNION ALL
    SELECT
        trace_id, model, 'attention_width', array_to_string(writes, ', '),
        CAST(model_width AS VARCHAR),
        CASE
            WHEN list_has_any(writes, list_transform(parts, lambda part: model_width // part))
                THEN TRUE
            -- A single product may be the MLP's.
            WHEN len(writes) > 1 OR has_experts THEN FALSE
        END
    FROM pairs
    WHERE len(writes) > 0 AND model_width IS NOT NULL AND o_lora_rank IS NULL
    UNION ALL
    SELECT
        trace_id, model, 'intermediate_size',
        array_to_string(list_sort(list_distinct(list_concat(reads, writes))), ', '),
        CAST(model_mlp AS VARCHAR),
        -- The MLP's second product reads what its first writes, which may include the gate.
        len(list_filter(
            parts,
            lambda part: list_contains(writes, model_mlp // part)
            AND list_has_any(reads, [model_mlp // part, 2 * model_mlp // part])
        )) > 0
    FROM pairs
    WHERE
        len(reads) > 1 AND len(writes) > 1 AND model_mlp IS NOT NULL AND NOT has_experts
        AND model_experts = 0
    UNION ALL
    SELECT
        trace_id, model, 'experts',
        CASE
            WHEN has_experts THEN array_to_string(list_filter(reads, lambda n: n <= 1024), ', ')
            ELSE '0'
        END,
        CAST(model_experts AS VARCHAR),
        CASE
            WHEN NOT has_experts THEN CASE WHEN model_experts = 0 THEN TRUE END
            WHEN model_experts = 0 THEN FALSE
            -- The router's product has a column per expert; fused with another product it is not
            -- visible.
            WHEN len(list_filter(reads, lambda n: n <= 1024)) > 0
                THEN list_contains(reads, model_experts)
        END
    FROM pairs
    WHERE hidden_size IS NOT NULL
    UNION ALL
    SELECT
        trace_id, model, 'vocabulary', CAST(head AS VARCHAR), CAST(vocab_size AS VARCHAR),
        -- Engines pad the vocabulary to a round number.
        len(list_filter(
            parts, lambda part: head * part >= vocab_size AND head * part < vocab_size + 1024 * part
        )) > 0
    FROM pairs
    WHERE head IS NOT NULL AND vocab_size IS NOT NULL
)
SELECT trace_id, model, property, seen, expected, fits FROM given;
