-- One row per trace and distinct call of an attention.
--
-- FLOP are 2 x pairs x heads x (dimension of a key + of a value), a pair being a query and a key
-- that it sees. Where a mask hides later keys the i-th query sees s + i of them: s = keys - queries
-- when the mask's diagonal ends at the bottom right, 0 when it starts at the top left; and at most
-- all keys, or those of its window. Of packed and paged sequences shapes do not tell pairs: work
-- is given for one pair in all heads. Where no argument says whether a mask hides keys, the pairs
-- are unknown.
--
-- trace_id       VARCHAR  trace
-- work_id        UBIGINT  the call
-- sequences      BIGINT   sequences, NULL when the shapes do not tell
-- queries        BIGINT   queries of all sequences
-- keys           BIGINT   keys of all sequences, NULL when the shapes do not tell
-- pairs          BIGINT   pairs of all sequences, NULL when the shapes do not tell
-- flop           BIGINT   FLOP of these pairs
-- flop_full      BIGINT   FLOP without any mask, as library counters print
-- pair_flop      DOUBLE   FLOP per pair of the pass, of all heads
-- decode_flop    DOUBLE   the same in a decode, where the attention takes another form
-- bytes          DOUBLE   bytes of query, keys, values and result; of keys and values only when
--                         the shapes tell their number
-- token_bytes    DOUBLE   bytes of the key and value of one token
-- is_windowed    BOOLEAN  an argument says that queries see a window of keys
CREATE VIEW _op_attentions AS
WITH argued AS (
    SELECT
        o.trace_id, o.work_id, r.rule, r.layout, r.factor, o.o, o.a_bytes, o.b_bytes, o.v_bytes,
        coalesce(len(_slot_dims(o.input_dims, r.lengths_slot)) > 0, FALSE) AS is_packed,
        -- Sequences packed into one may stand behind a dimension of 1.
        CASE WHEN is_packed AND len(o.a) = 4 THEN o.a[2:] ELSE o.a END AS a,
        CASE WHEN is_packed AND len(o.b) = 4 THEN o.b[2:] ELSE o.b END AS b,
        CASE WHEN is_packed AND len(o.v) = 4 THEN o.v[2:] ELSE o.v END AS v,
        _slot_text(o.arguments, r.causal_slot) AS masked, r.corner,
        TRY_CAST(_slot_text(o.arguments, r.window_slot) AS BIGINT) AS window_keys,
        CASE r.layout WHEN 'heads_first' THEN o.a[-2] ELSE o.a[-3] END AS s_q,
        CASE r.layout WHEN 'heads_first' THEN o.b[-2] ELSE o.b[-3] END AS s_k,
        len(o.a) = 4 AND r.rule = 'attention' AND NOT is_packed AS is_batched
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.rule IN ('attention', 'pass_attention', 'mla_attention') AND len(o.a) >= 2
),
masks AS (
    SELECT
        *,
        CASE
            WHEN masked IN ('True', '1', '2') THEN TRUE
            WHEN masked IN ('False', '0') THEN FALSE
        END AS is_causal,
        corner = 'bottom' OR masked = '2' AS from_bottom,
        coalesce(window_keys >= 0, FALSE) AS is_windowed
    FROM argued
    WHERE is_batched
),
rows_seen AS (
    SELECT
        *,
        CASE WHEN from_bottom THEN least(s_q, s_k) ELSE s_q END AS s_rows,
        CASE WHEN from_bottom THEN greatest(s_k - s_q, 0) ELSE 0 END AS s_before,
        CASE WHEN is_windowed THEN least(s_k, window_keys + 1) ELSE s_k END AS s_cap
    FROM masks
),
growing AS (
    -- So many queries see one key more than the query before, the others as many as they may.
    SELECT *, greatest(least(s_cap - s_before, s_rows), 0) AS s_grow FROM rows_seen
),
counted AS (
    SELECT
        trace_id, work_id, a[1] AS sequences, a, b, v, a_bytes, b_bytes, v_bytes, s_q, s_k,
        is_windowed, factor,
        CASE layout WHEN 'heads_first' THEN a[2] ELSE a[3] END AS heads,
        CASE
            WHEN is_causal
                THEN s_grow * s_before + s_grow * (s_grow + 1) // 2 + (s_rows - s_grow) * s_cap
            WHEN NOT is_causal AND NOT is_windowed THEN s_q * s_k
        END AS s_pairs
    FROM growing
),
packed AS (
    SELECT
        trace_id, work_id, rule, factor, a, o, a_bytes, b_bytes, v_bytes, is_windowed,
        _dims_product(a[2:]) AS query_width,
        CASE
            WHEN rule = 'mla_attention' THEN _dims_product(b[2:]) + v[-1]
            WHEN layout = 'split_keys' THEN b[2] * a[-1]
            WHEN len(b) = 2 THEN b[2]
            ELSE b[-2] * b[-1]
        END AS key_width,
        CASE
            WHEN rule = 'mla_attention' THEN 0
            WHEN layout = 'split_keys' THEN b[2] * a[-1]
            WHEN len(v) = 2 THEN v[2]
            ELSE v[-2] * v[-1]
        END AS value_width,
        CASE
            WHEN rule = 'mla_attention' THEN _dims_product(o[2:])
            WHEN len(a) = 3 AND len(v) >= 3 THEN a[2] * v[-1]
            ELSE _dims_product(a[2:])
        END AS result_width,
        -- Absorbed, queries and results have the latent's width; its rotary part is in the query.
        CASE WHEN rule = 'mla_attention' THEN a[2] * (2 * b[-1] + v[-1]) END AS absorbed_width
    FROM (SELECT *, coalesce(window_keys >= 0, FALSE) AS is_windowed FROM argued)
    WHERE NOT is_batched
)
SELECT
    trace_id, work_id, sequences, sequences * s_q AS queries, sequences * s_k AS keys,
    sequences * s_pairs AS pairs,
    CAST(2 * factor * sequences * heads * s_pairs * (a[-1] + v[-1]) AS BIGINT) AS flop,
    CAST(2 * factor * sequences * heads * s_q * s_k * (a[-1] + v[-1]) AS BIGINT) AS flop_full,
    CAST(NULL AS DOUBLE) AS pair_flop, CAST(NULL AS DOUBLE) AS decode_flop,
    -- A backward pass reads all four and the result's gradient, and writes three gradients.
    CASE WHEN factor > 1 THEN 2 ELSE 1 END * (
        _dims_product(a) * a_bytes + _dims_product(b) * b_bytes + _dims_product(v) * v_bytes
        + _dims_product(a) // a[-1] * v[-1] * a_bytes
    ) AS bytes,
    CAST(NULL AS DOUBLE) AS token_bytes, is_windowed
FROM counted
UNION ALL
SELECT
    trace_id, work_id, NULL, a[1], NULL, NULL, NULL, NULL,
    2 * factor * (query_width + result_width),
    2 * factor * coalesce(absorbed_width, query_width + result_width),
    a[1] * (query_width + result_width) * greatest(a_bytes, 1),
    key_width * b_bytes + value_width * coalesce(v_bytes, b_bytes), is_windowed
FROM packed;
