-- One row per trace, model of architectures and property that the trace shows, judged.
--
-- What tensor parallelism cuts fits when it is the model's, or the part of one rank: of the degree
-- of the trace's tp, else of any power of two up to 64. A property that products may show, and that
-- others could hide, fits or is left open.
-- trace_id  VARCHAR  trace
-- model     VARCHAR  model, as in architectures
-- property  VARCHAR  layers, hidden_size, attention_width, intermediate_size, experts or vocabulary
-- seen      VARCHAR  what the trace shows
-- expected  VARCHAR  what the model has
-- fits      BOOLEAN  both agree; NULL: the trace does not tell
CREATE VIEW _model_properties AS
WITH pairs AS (
    SELECT
        w.trace_id, a.model, w.layers, w.hidden_size, w.reads, w.writes, w.head, w.has_experts,
        traces.tp, coalesce(traces.pp, 1) AS pp,
        a.num_layers, coalesce(a.mtp_layers, 0) AS mtp_layers, a.hidden_size AS model_hidden,
        a.num_heads * coalesce(a.v_head_dim, a.head_dim) AS model_width,
        a.o_lora_rank, a.intermediate_size AS model_mlp,
        coalesce(a.num_experts, 0) AS model_experts, a.vocab_size,
        CASE
            WHEN traces.tp IS NULL THEN [1, 2, 4, 8, 16, 32, 64]
            ELSE list_distinct([1, traces.tp])
        END AS parts
    FROM _model_widths AS w
    JOIN traces ON traces.trace_id = w.trace_id
    CROSS JOIN architectures AS a
    WHERE a.fault IS NULL
),
told AS (
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
            -- One product may be that of the MLP.
            WHEN len(writes) > 1 OR has_experts THEN FALSE
        END
    FROM pairs
    WHERE len(writes) > 0 AND model_width IS NOT NULL AND o_lora_rank IS NULL
    UNION ALL
    SELECT
        trace_id, model, 'intermediate_size',
        array_to_string(list_sort(list_distinct(list_concat(reads, writes))), ', '),
        CAST(model_mlp AS VARCHAR),
        -- The MLP writes from the width that it reads into, alone or with its gate.
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
            -- The router's product has a column for each expert; fused into another it is not seen.
            WHEN len(list_filter(reads, lambda n: n <= 1024)) > 0
                THEN list_contains(reads, model_experts)
        END
    FROM pairs
    WHERE hidden_size IS NOT NULL
    UNION ALL
    SELECT
        trace_id, model, 'vocabulary', CAST(head AS VARCHAR), CAST(vocab_size AS VARCHAR),
        -- Engines fill the vocabulary up to a round number.
        len(list_filter(
            parts, lambda part: head * part >= vocab_size AND head * part < vocab_size + 1024 * part
        )) > 0
    FROM pairs
    WHERE head IS NOT NULL AND vocab_size IS NOT NULL
)
SELECT trace_id, model, property, seen, expected, fits FROM told;
