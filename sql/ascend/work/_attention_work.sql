-- One row per trace and distinct attention of its Ascend kernels, with the work that its shapes
-- give: 2 x heads x queries x keys x (dimension of a key + dimension of a value), half of it if
-- each query sees only the keys before it.
--
-- trace_id    VARCHAR  trace
-- shape_id    UBIGINT  name of the work
-- queries     DOUBLE   query tokens, in all requests
-- requests    DOUBLE   requests or sequences, NULL if unknown
-- key_length  DOUBLE   keys that each of them sees, NULL if unknown
-- key_bound   DOUBLE   most keys that the block table has room for, NULL without one
-- causal      BOOLEAN  there is a mask, and as many queries as keys
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
        coalesce(inputs[rope_slot + 1][-1], 0) AS rope,
        -- Row maxima and sums of the softmax have eight columns: batch, heads, queries, 8.
        list_filter(
            CASE WHEN factor = 1 THEN outputs ELSE inputs END,
            lambda dims: len(dims) = 4 AND dims[-1] = 8
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
-- Training: every sequence of a batch is equally long, and the statistics have the length.
trained AS (
    SELECT
        trace_id, shape_id, factor, q, k, v, mask, stats,
        stats[1] * stats[3] AS queries,
        stats[1] AS requests,
        stats[2] * stats[1] * stats[3] AS query_heads,
        _elements(q) / (stats[1] * stats[2] * stats[3]) AS key_dim,
        list_distinct(
            list_filter(k, lambda d, nth: q[nth] = stats[3])
        ) AS key_lengths
    FROM tensors
    WHERE rule = 'attention'
),
-- Serving: the last dimension is that of a head, or follows from that of the cache.
served AS (
    SELECT
        tensors.trace_id, shape_id, factor, q, k, mask, rope, block_table, kv_len,
        CASE WHEN len(q) = 4 THEN q[1] * least(q[2], q[3]) ELSE q[1] END AS queries,
        CAST(lengths[1] AS DOUBLE) AS requests,
        CASE WHEN len(q) > 2 THEN q[-1] WHEN len(k) = 4 THEN k[-1] END AS head_dim,
        CASE WHEN len(result) > 2 AND len(q) > 2 THEN result[-1] END AS value_dim,
        CASE WHEN len(k) = 4 THEN k[3] ELSE k[2] END AS block_size
    FROM tensors
    LEFT JOIN given USING (trace_id)
    WHERE rule = 'paged_attention'
),
served_lengths AS (
    SELECT
        trace_id, shape_id, factor, q, mask, queries, requests, rope, head_dim,
        coalesce(value_dim, head_dim) AS value_dim,
        CASE
            WHEN block_table IS NOT NULL THEN kv_len
            -- Keys outside a paged cache, of one request: as many as the queries.
            WHEN len(k) < 4 AND k[1] = q[1] AND coalesce(requests, 1) = 1 THEN k[1]
        END AS key_length,
        block_table[2] * block_size AS key_bound
    FROM served
),
joined AS (
    SELECT
        trace_id, shape_id, factor, CAST(queries AS DOUBLE) AS queries,
        CAST(requests AS DOUBLE) AS requests,
        CASE WHEN len(key_lengths) = 1 THEN CAST(key_lengths[1] AS DOUBLE) END AS key_length,
        CAST(NULL AS DOUBLE) AS key_bound,
        mask IS NOT NULL AND key_lengths = [stats[3]] AS causal,
        query_heads * (key_dim + key_dim * _elements(v) / nullif(_elements(k), 0)) AS per_key,
        CASE
            WHEN q IS NULL OR k IS NULL OR v IS NULL OR stats IS NULL THEN NULL
            ELSE key_dim = floor(key_dim) AND len(key_lengths) = 1
        END AS fits
    FROM trained
    UNION ALL
    SELECT
        trace_id, shape_id, factor, queries, requests, CAST(key_length AS DOUBLE),
        CAST(key_bound AS DOUBLE),
        mask IS NOT NULL AND key_length = queries / coalesce(requests, 1),
        _elements(q) / head_dim * (head_dim + rope + value_dim),
        CASE WHEN q IS NOT NULL AND head_dim IS NOT NULL THEN TRUE END
    FROM served_lengths
)
SELECT
    trace_id, shape_id, queries, requests, key_length, key_bound, causal,
    CASE WHEN fits THEN factor * 2 * per_key * key_length / CASE WHEN causal THEN 2 ELSE 1 END END
        AS flop,
    CASE WHEN fits THEN factor * 2 * per_key * key_bound END AS flop_bound,
    fits
FROM joined;
