-- One row per trace and distinct attention of its Ascend kernels, with the work that its shapes
-- give: 2 x keys x (elements of the queries + elements of the result), which is 2 x heads x queries
-- x keys x (dimension of a key + dimension of a value); half of it if each query sees only the keys
-- before it.
--
-- The table of kernels does not name the layout, so the shapes must show it: of a batch [batch,
-- tokens, width of all heads], [batch, heads, tokens, dimension] or [batch, tokens, heads,
-- dimension]; of all requests together [tokens, heads, dimension]. If more than one fits, the
-- length is unknown.
--
-- trace_id    VARCHAR  trace
-- shape_id    UBIGINT  name of the work
-- requests    DOUBLE   requests or sequences, NULL if unknown
-- key_length  DOUBLE   keys that each of them sees, NULL if unknown
-- key_bound   DOUBLE   most keys that the block table, or a sequence of the batch, has room for;
--                      NULL if unknown
-- causal      BOOLEAN  there is a mask, and as many queries as keys; NULL if they are unknown
-- flop        DOUBLE   FLOP, NULL if the key length is unknown
-- flop_bound  DOUBLE   FLOP at key_bound
-- fits        BOOLEAN  the shapes are those of an attention; NULL if a tensor is missing
CREATE VIEW _attention_work AS
WITH tensors AS (
    SELECT
        trace_id, shape_id, rule, factor,
        inputs[a_slot + 1] AS q, inputs[b_slot + 1] AS k, inputs[v_slot + 1] AS v,
        outputs[1] AS result,
        inputs[table_slot + 1] AS block_table,
        coalesce(inputs[length_slot + 1], inputs[length_slot]) AS lengths,
        inputs[rope_slot + 1] AS rope,
        -- Row maxima and sums of the softmax have eight columns: batch, heads, queries, 8; or of
        -- all requests together queries, heads, 8.
        list_filter(
            CASE WHEN factor = 1 THEN outputs ELSE inputs END,
            lambda dims: len(dims) IN (3, 4) AND dims[-1] = 8
        )[1] AS stats,
        list_filter(
            inputs,
            lambda dims, nth: nth > 3 AND len(dims) >= 2
                AND in_tokens[nth] IN ('bool', 'uint8', 'int8')
        )[1] AS mask
    FROM _shapes
    JOIN _type_rules USING (trace_id, op_type)
    WHERE ends_with(rule, 'attention')
),
given AS (
    SELECT trace_id, kv_len FROM traces
),
-- Training: every sequence of a batch is equally long, and the statistics have the length. The last
-- dimension is a width, which may be as large.
trained AS (
    SELECT
        trace_id, shape_id, factor, q, k, v, mask, stats,
        CASE WHEN len(stats) = 4 THEN stats[1] END AS requests,
        _elements(stats) / 8 AS query_heads,
        _elements(q) / (_elements(stats) / 8) AS key_dim,
        CASE
            WHEN len(stats) = 4 THEN list_distinct(
                list_filter(k[:-2], lambda d, nth: q[nth] = stats[3])
            )
        END AS key_lengths
    FROM tensors
    WHERE rule = 'attention'
),
-- Serving: the layouts that the shapes allow. A width of all heads differs from that of the keys,
-- which have fewer heads, or is that of no head. Heads are a multiple of those of the keys, and a
-- sequence has at least as many keys as queries; with a block table the keys are a pool of blocks,
-- [blocks, heads, …], or without heads [blocks, tokens, width].
layouts AS (
    SELECT
        tensors.trace_id, shape_id, factor, q, k, mask, rope, result, kv_len,
        lengths[1] AS lengths,
        try(block_table[2] * k[-2]) AS room,
        block_table IS NOT NULL AS is_paged,
        len(q) = 3 AND (q[3] > widest.value OR block_table IS NULL AND q[3] <> k[3]) AS is_wide,
        len(q) = 4 AND q[2] <= most.value AND CASE
            WHEN block_table IS NULL THEN q[2] % k[2] = 0 AND q[3] <= k[3]
            ELSE len(k) < 4 OR q[2] % k[2] = 0
        END AS is_heads_first,
        len(q) = 4 AND q[3] <= most.value AND CASE
            WHEN block_table IS NULL THEN q[3] % k[3] = 0 AND q[2] <= k[2]
            ELSE len(k) < 4 OR q[3] % k[2] = 0
        END AS is_tokens_first
    FROM tensors
    LEFT JOIN given USING (trace_id)
    JOIN ascend_constants AS widest ON widest.constant = 'widest_head'
    JOIN ascend_constants AS most ON most.constant = 'most_heads'
    WHERE rule = 'paged_attention'
),
-- The place of the tokens in a batch; together they have none.
served AS (
    SELECT
        trace_id, shape_id, factor, q, k, mask, rope, result, kv_len, lengths, room, is_paged,
        CASE
            WHEN is_wide OR is_tokens_first AND NOT is_heads_first THEN 2
            WHEN is_heads_first AND NOT is_tokens_first THEN 3
            -- In a cache mostly one token is new.
            WHEN is_paged AND len(q) = 4 THEN CASE WHEN q[2] < q[3] THEN 2 ELSE 3 END
        END AS place,
        CASE WHEN len(q) = 4 OR is_wide THEN q[1] ELSE lengths END AS requests
    FROM layouts
),
served_lengths AS (
    SELECT
        trace_id, shape_id, factor, q, k, mask, rope, result, requests,
        coalesce(q[place], q[1] / requests) AS queries,
        -- A request sees at least its new tokens: a smaller number is of other requests.
        CASE WHEN kv_len < queries THEN NULL ELSE kv_len END AS cached_keys,
        CASE WHEN is_paged THEN room WHEN q[1] = k[1] THEN k[place] END AS key_bound,
        CASE
            WHEN is_paged THEN cached_keys
            -- Lengths say how much of a sequence is in use; one sequence needs no padding.
            WHEN q[1] = k[1] AND place IS NOT NULL THEN CASE
                WHEN lengths IS NULL OR q[1] = 1 AND q[place] = k[place] THEN k[place]
                WHEN q[place] <> k[place] THEN cached_keys
            END
            -- One request alone; with a single token it may as well be a batch of one.
            WHEN len(q) = 3 AND q[3] = k[3] AND requests = 1 AND q[1] > 1 THEN k[1]
        END AS key_length
    FROM served
),
joined AS (
    SELECT
        trace_id, shape_id, factor, CAST(requests AS DOUBLE) AS requests,
        CASE WHEN len(key_lengths) = 1 THEN CAST(key_lengths[1] AS DOUBLE) END AS key_length,
        CAST(NULL AS DOUBLE) AS key_bound,
        mask IS NOT NULL AND key_lengths = [stats[3]] AS causal,
        query_heads * (key_dim + key_dim * _elements(v) / nullif(_elements(k), 0)) AS per_key,
        CASE
            WHEN q IS NULL OR k IS NULL OR v IS NULL OR stats IS NULL THEN NULL
            ELSE key_dim = floor(key_dim) AND coalesce(len(key_lengths) > 0, TRUE)
        END AS fits
    FROM trained
    UNION ALL
    SELECT
        trace_id, shape_id, factor, CAST(requests AS DOUBLE),
        CAST(CASE WHEN key_length > key_bound THEN key_bound ELSE key_length END AS DOUBLE),
        CAST(key_bound AS DOUBLE), mask IS NOT NULL AND key_length = queries,
        _elements(q) + _elements(rope) + _elements(coalesce(result, q)),
        CASE WHEN q IS NOT NULL AND k IS NOT NULL THEN TRUE END
    FROM served_lengths
)
SELECT
    trace_id, shape_id, requests, key_length, key_bound, causal,
    CASE WHEN fits THEN factor * 2 * per_key * key_length / CASE WHEN causal THEN 2 ELSE 1 END END
        AS flop,
    CASE WHEN fits THEN factor * 2 * per_key * key_bound END AS flop_bound,
    fits
FROM joined;
