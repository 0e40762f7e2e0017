-- One row per trace and distinct call of an attention.
--
-- FLOP are 2 x pairs x heads x (dimension of a key + of a value), a pair being a query and a key
-- that it sees. If a mask hides later keys, the i-th query sees s + i of them: s = keys - queries
-- when the mask's diagonal ends at the bottom right, 0 when it starts at the top left; and at most
-- all keys, or those of its window. Shapes of packed and paged sequences, and of a cache that may
-- not be full, do not give the number of pairs, so work is per pair over all heads. If no argument
-- shows whether a mask hides keys, the pairs are unknown. The result has the type of the tensor
-- that it is written to; if none, that of the query, or two bytes an element where it has fewer.
CREATE VIEW _op_attentions AS
WITH argued AS (
    SELECT
        o.trace_id, o.work_id, r.rule, r.layout, r.factor, o.o, o.a_bytes, o.b_bytes, o.v_bytes,
        coalesce(written.bytes, CASE WHEN o.a_bytes < 2 THEN 2 ELSE o.a_bytes END) AS result_bytes,
        greatest(
            len(_slot_dims(o.input_dims, r.lengths_slot)), len(_slot_dims(o.input_dims, r.reads)), 0
        ) > 0 AS is_packed,
        -- Packed sequences may have a leading dimension of 1, those of a cache have their number.
        CASE WHEN is_packed AND len(o.a) = 4 THEN [o.a[1] * o.a[2]] || o.a[3:] ELSE o.a END AS a,
        CASE WHEN is_packed AND len(o.b) = 4 THEN o.b[2:] ELSE o.b END AS b,
        CASE WHEN is_packed AND len(o.v) = 4 THEN o.v[2:] ELSE o.v END AS v,
        _slot_text(o.arguments, r.causal_slot) AS masked, r.corner,
        TRY_CAST(_slot_text(o.arguments, r.window_slot) AS BIGINT) AS window_keys,
        CASE WHEN window_keys >= 0 THEN try(window_keys + 1) END AS seen_keys,
        CASE r.layout WHEN 'heads_first' THEN o.a[-2] ELSE o.a[-3] END AS s_q,
        CASE r.layout WHEN 'heads_first' THEN o.b[-2] ELSE o.b[-3] END AS s_k,
        len(o.a) = 4 AND r.rule = 'attention' AND NOT is_packed AS is_batched
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    LEFT JOIN dtypes AS written
        ON written.token = o.types[TRY_CAST(r.writes AS BIGINT) + 1] AND written.bytes > 0
    WHERE r.rule IN ('attention', 'pass_attention', 'mla_attention') AND len(o.a) >= 2
),
masks AS (
    SELECT
        *,
        CASE
            WHEN masked IN ('True', '1', '2') THEN TRUE
            WHEN masked IN ('False', '0') THEN FALSE
        END AS is_causal,
        corner = 'bottom' OR masked = '2' AS from_bottom, seen_keys IS NOT NULL AS is_windowed
    FROM argued
    WHERE is_batched
),
rows_seen AS (
    SELECT
        *, CASE WHEN from_bottom THEN least(s_q, s_k) ELSE s_q END AS s_rows,
        CASE WHEN from_bottom THEN greatest(s_k - s_q, 0) ELSE 0 END AS s_before,
        CASE WHEN is_windowed THEN least(s_k, seen_keys) ELSE s_k END AS s_cap
    FROM masks
),
growing AS (
    -- This many queries see one key more than the previous query, the others the maximum.
    SELECT *, greatest(least(s_cap - s_before, s_rows), 0) AS s_grow FROM rows_seen
),
counted AS (
    SELECT
        trace_id, work_id, a[1] AS sequences, a, b, v, a_bytes, b_bytes, v_bytes, result_bytes,
        s_q, s_k, seen_keys, factor,
        CASE layout WHEN 'heads_first' THEN a[2] ELSE a[3] END AS heads,
        CASE
            WHEN is_causal
                THEN try(
                    s_grow * s_before + s_grow * (s_grow + 1) // 2 + (s_rows - s_grow) * s_cap
                )
            WHEN NOT is_causal AND NOT is_windowed THEN try(s_q * s_k)
        END AS s_pairs
    FROM growing
),
packed AS (
    SELECT
        trace_id, work_id, factor, a, a_bytes, b_bytes, v_bytes, result_bytes, seen_keys,
        -- The query may have a part that scores the values: they are the latents of absorbed MLA.
        try(
            _dims_product(a[2:])
            + CASE WHEN rule = 'pass_attention' AND len(o) >= 2 THEN _dims_product(o[2:]) ELSE 0 END
        ) AS query_width,
        CASE
            WHEN rule = 'mla_attention' THEN try(_dims_product(b[2:]) + v[-1])
            WHEN layout = 'split_keys' THEN try(b[2] * a[-1])
            WHEN len(b) = 2 THEN b[2]
            ELSE try(b[-2] * b[-1])
        END AS key_width,
        CASE
            WHEN rule = 'mla_attention' THEN 0
            WHEN layout = 'split_keys' THEN try(b[2] * a[-1])
            WHEN len(v) = 2 THEN v[2]
            ELSE try(v[-2] * v[-1])
        END AS value_width,
        CASE
            WHEN rule = 'mla_attention' THEN _dims_product(o[2:])
            WHEN len(a) = 3 AND len(v) >= 3 THEN try(a[2] * v[-1])
            ELSE _dims_product(a[2:])
        END AS result_width,
        -- In the absorbed form, queries and results have the latent's width; the query also has its
        -- rotary part.
        CASE WHEN rule = 'mla_attention' THEN try(a[2] * (2 * b[-1] + v[-1])) END
            AS absorbed_width
    FROM argued
    WHERE NOT is_batched
)
SELECT
    trace_id, work_id, sequences, try(sequences * s_q) AS queries,
    try(sequences * s_k) AS keys,
    try(sequences * s_pairs) AS pairs,
    TRY_CAST(
        try(2 * factor * sequences * heads * s_pairs * (a[-1] + v[-1])) AS BIGINT
    ) AS flop,
    TRY_CAST(
        try(2 * factor * sequences * heads * s_q * s_k * (a[-1] + v[-1])) AS BIGINT
    ) AS flop_full,
    CAST(NULL AS DOUBLE) AS pair_flop, CAST(NULL AS DOUBLE) AS decode_flop,
    -- A backward pass reads all four and the result's gradient, and writes three gradients.
    try(
        CASE WHEN factor > 1 THEN 2 ELSE 1 END * (
            _dims_product(a) * a_bytes + _dims_product(b) * b_bytes + _dims_product(v) * v_bytes
            + _dims_product(a) // a[-1] * v[-1] * result_bytes
        )
    ) AS bytes,
    CAST(NULL AS DOUBLE) AS token_bytes, seen_keys
FROM counted
UNION ALL
SELECT
    trace_id, work_id, NULL, a[1], NULL, NULL, NULL, NULL,
    try(2 * factor * (query_width + result_width)),
    try(2 * factor * coalesce(absorbed_width, query_width + result_width)),
    try(a[1] * (query_width * greatest(a_bytes, 1) + result_width * greatest(result_bytes, 1))),
    try(key_width * b_bytes + value_width * coalesce(v_bytes, b_bytes)), seen_keys
FROM packed;

-- One row per trace and distinct call of a convolution whose shapes and arguments give its work.
--
-- As a matrix product: a row per place of the result, a column per output channel, and the channels
-- of a group times the kernel's window as inner dimension. A transposed convolution has a row per
-- place of its input. In the backward pass, each computed gradient of input and weight costs as
-- much. (As torch.utils.flop_counter counts.)
CREATE VIEW _op_convolutions AS
WITH argued AS (
    SELECT
        o.trace_id, o.work_id, o.a, o.b, o.o, o.a_bytes, o.b_bytes,
        TRY_CAST(_slot_text(o.arguments, r.stride_slot) AS BIGINT[]) AS stride,
        TRY_CAST(_slot_text(o.arguments, r.padding_slot) AS BIGINT[]) AS padding,
        TRY_CAST(_slot_text(o.arguments, r.dilation_slot) AS BIGINT[]) AS dilation,
        r.transposed_slot IS NOT NULL
            AND TRY_CAST(_slot_text(o.arguments, r.transposed_slot) AS BOOLEAN) AS is_transposed,
        -- The next arguments are the padding of its result and the groups.
        TRY_CAST(_slot_text(o.arguments, r.transposed_slot + 1) AS BIGINT[]) AS result_padding,
        coalesce(TRY_CAST(_slot_text(o.arguments, r.transposed_slot + 2) AS BIGINT), 1) AS groups,
        CASE
            WHEN r.mask_slot IS NULL THEN 1
            ELSE list_sum(CAST(
                TRY_CAST(_slot_text(o.arguments, r.mask_slot) AS BOOLEAN[])[:2] AS INTEGER[]
            ))
        END AS gradients
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.rule IN ('conv', 'conv_backward') AND len(o.a) >= 3 AND len(o.b) = len(o.a)
),
placed AS (
    SELECT
        *,
        CASE
            WHEN is_transposed THEN a[3:]
            WHEN o IS NOT NULL THEN o[3:]
            -- One number may apply to all dimensions.
            ELSE list_transform(
                range(1, len(a) - 1),
                LAMBDA d: try(
                    (
                        a[d + 2] + 2 * padding[least(d, len(padding))]
                        - dilation[least(d, len(dilation))] * (b[d + 2] - 1) - 1
                    ) // stride[least(d, len(stride))] + 1
                )
            )
        END AS places,
        CASE
            WHEN o IS NOT NULL THEN o[2:]
            WHEN is_transposed
                THEN try(
                    list_concat(
                        [b[2] * groups],
                        list_transform(
                            range(1, len(a) - 1),
                            LAMBDA d: (
                                (a[d + 2] - 1) * stride[least(d, len(stride))] + 1
                                - 2 * padding[least(d, len(padding))]
                                + dilation[least(d, len(dilation))] * (b[d + 2] - 1)
                                + coalesce(result_padding[least(d, len(result_padding))], 0)
                            )
                        )
                    )
                )
            ELSE list_concat([b[1]], places)
        END AS result
    FROM argued
    WHERE is_transposed IS NOT NULL
)
SELECT
    trace_id, work_id, try(a[1] * _dims_product(places)) AS m,
    CASE WHEN is_transposed THEN b[2] ELSE b[1] END AS n,
    try(CASE WHEN is_transposed THEN b[1] ELSE b[2] END * _dims_product(b[3:])) AS k,
    TRY_CAST(
        try(2 * gradients * a[1] * _dims_product(places) * _dims_product(b)) AS BIGINT
    ) AS flop,
    gradients * (
        _dims_product(a) * a_bytes + _dims_product(b) * b_bytes
        + try(a[1] * _dims_product(result)) * a_bytes
    ) AS bytes
FROM placed
WHERE list_min(places) > 0;

-- One row per trace and distinct call of an operator that multiplies matrices, experts' included.
--
-- FLOP are 2 per multiplication with its addition: 2 x batch x m x n x k; adding a bias does not
-- count. The second matrix may be transposed relative to its rule, as libraries take weights in
-- both layouts: its inner dimension is the one that fits. Bytes are those of both operands and of
-- the result, each once, also the elements that an operand repeats along a dimension (stride 0);
-- groups that split the inner dimension have a result each. Of E experts with top-k of T tokens,
-- E x (1 - (1 - k / E)^T) are expected to be read: those that some token chooses. Under expert
-- parallelism a rank is expected to have E / G of the choices: a vector of integers among the
-- inputs maps all G experts to its E, or an argument has the number of ranks; G is unknown if that
-- only tells that there are several. Weights are [E, 2 x I, H] and [E, H, I], or both turned.
CREATE VIEW _op_products AS
WITH templates AS (
    -- Only the numbers of elements of a template's buffers are those of its product.
    SELECT
        i.trace_id, i.work_id, CAST(_template_batch(r.rule, i.o) AS BIGINT) AS batch,
        CAST(_template_inner(i.a, i.b, i.o, batch) AS BIGINT) AS k,
        [batch, _dims_product(i.a) // (batch * k), k] AS a,
        [batch, k, _dims_product(i.b) // (batch * k)] AS b
    FROM _op_inputs AS i
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.rule IN ('template', 'batched_template') AND k > 0
),
factors AS (
    SELECT
        o.trace_id, o.work_id, o.input_dims, o.a_type, o.a_bytes, o.b_bytes,
        r.rule, r.result, r.elements_per_item, r.lengths_slot,
        CASE WHEN r.rule LIKE '%template' THEN t.a ELSE o.a END AS a,
        CASE WHEN r.rule LIKE '%template' THEN t.b ELSE o.b END AS b, o.v,
        o.repeats[r.a_slot + 1] AS a_repeats, o.repeats[r.b_slot + 1] AS b_repeats
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    LEFT JOIN templates AS t USING (trace_id, work_id)
    WHERE r.rule IN ('matmul', 'linear', 'marlin', 'grouped', 'template', 'batched_template')
),
shaped AS (
    SELECT
        trace_id, work_id, a, b, a_bytes, b_bytes, a_repeats, b_repeats,
        -- A type of FP4 whose element is a byte holds two values.
        coalesce(elements_per_item, CASE WHEN a_type = 'fp4' AND a_bytes = 1 THEN 2 ELSE 1 END)
            AS packed,
        rule, result,
        CASE
            WHEN rule = 'grouped' AND len(a) = 2 AND len(b) = 2
                THEN _slot_dims(input_dims, lengths_slot)[1]
            ELSE 1
        END AS results,
        -- The second matrix in the order [k, n].
        CASE
            -- Marlin has its weights in tiles of 16 rows, and n columns of scales.
            WHEN rule = 'marlin' THEN CASE 16 * b[1] WHEN a[-1] THEN [a[-1], v[-1]] END
            WHEN len(b) = 1 THEN [b[1], 1]
            WHEN rule = 'linear' THEN [b[-1], b[-2]]
            ELSE b[-2:]
        END AS right_dims
    FROM factors
    WHERE len(a) >= 1 AND len(b) >= 1
),
sized AS (
    SELECT
        trace_id, work_id, a, b, a_bytes, b_bytes, a_repeats, b_repeats, packed, result, results,
        a[-1] AS k,
        CASE a[-1] WHEN right_dims[1] THEN right_dims[2] WHEN right_dims[2] THEN right_dims[1] END
            AS n,
        CASE
            WHEN len(a) = 1 THEN 1
            WHEN len(b) <= 2 AND (rule <> 'grouped' OR len(a) = 2) THEN _dims_product(a[:-2])
            ELSE a[-2]
        END AS m,
        CASE
            -- Groups split the rows of one matrix or the columns of the other.
            WHEN rule = 'grouped' AND (len(a) <> 3 OR len(b) <> 3) THEN 1
            WHEN len(b) <= 2 THEN 1
            -- A missing dimension, or one of size 1, is broadcast.
            ELSE _dims_product(list_transform(
                range(3, greatest(len(a), len(b)) + 1), LAMBDA d: greatest(a[-d], b[-d])
            ))
        END AS batch
    FROM shaped
),
choices AS (
    SELECT
        o.trace_id, o.work_id, o.a, o.a_bytes, o.b_bytes, o.v_bytes, o.o[-1] AS chosen,
        if(o.a[-1] = o.b[2] AND o.b[2] = o.v[3], [1, 3, 2], [1, 2, 3]) AS ax,
        _dims_product(o.a[:-2]) AS tokens, list_select(o.b, ax) AS b, list_select(o.v, ax) AS v,
        list_filter(
            list_transform(range(len(o.types)), LAMBDA slot: _slot_dims(o.input_dims, slot)),
            LAMBDA dims, slot: len(dims) = 1 AND o.types[slot] IN ('int', 'long')
        ) AS vectors,
        replace(_slot_text(o.arguments, r.lengths_slot), 'False', '1') AS ranks,
        nullif(CASE
            WHEN r.lengths_slot < len(o.types) THEN try(o.b[1] * TRY_CAST(ranks AS BIGINT))
            ELSE greatest(o.b[1], list_max(flatten(vectors)))
        END, 0) AS chosen_from
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.rule = 'fused_moe' AND len(o.b) = 3 AND len(o.v) = 3 AND len(o.o) = 2 AND o.b[3] > 0
),
experts AS (
    SELECT
        trace_id, work_id, try(tokens * chosen * b[1]) / chosen_from AS m, b[2] AS n, v[2] AS k,
        try(v[2] * v[3] * greatest(v[2] // b[3], 1)) AS down,
        try(
            tokens * (a[-1] * a_bytes + v[2] * greatest(a_bytes, 2))
            + b[1] * (1 - pow(1 - chosen / chosen_from, tokens))
            * (b[2] * b[3] * b_bytes + v[2] * v[3] * v_bytes)
        ) AS bytes
    FROM choices
)
SELECT
    trace_id, work_id, batch, m, n, try(k * packed) AS k,
    -- Wider than any product of two shapes.
    TRY_CAST(2 * CAST(batch AS HUGEINT) * m * n * k * packed AS BIGINT) AS flop, NULL AS first_flop,
    _stored_items(a, a_repeats) * a_bytes + _stored_items(b, b_repeats) * b_bytes
    -- Operands of a byte or less give a result of two, or of the rule's type.
    + CAST(batch AS DOUBLE) * results * m * n
    * CASE WHEN result = 'int32' THEN 4 ELSE greatest(a_bytes, 2) END AS bytes
FROM sized
WHERE n IS NOT NULL
UNION ALL
SELECT
    trace_id, work_id, 1, TRY_CAST(round(m) AS BIGINT), n, k,
    TRY_CAST(try(2 * m * (n * k + down)) AS BIGINT), TRY_CAST(try(2 * m * n * k) AS BIGINT), bytes
FROM experts;

-- One row per trace and distinct call of a framework operator with a rule in trace_op_rules, by the
-- shapes and types of its inputs: what it must compute and move.
--
-- stored: per trace
--
-- key: trace_id, work_id
--
-- trace_id     VARCHAR  trace
-- work_id      UBIGINT  the call: equal for equal operators, shapes, types and arguments
-- priority     INTEGER  the rule
-- rule         VARCHAR  kind of rule
-- family       VARCHAR  product, conv, sdpa, attention, moe or memory
-- batch        BIGINT   products
-- m            BIGINT   rows of a product's result, or queries
-- n            BIGINT   columns of it
-- k            BIGINT   inner dimension
-- flop         BIGINT   FLOP, NULL if unknown
-- flop_full    BIGINT   FLOP without any mask
-- first_flop   BIGINT   FLOP of the first of two products
-- pair_flop    DOUBLE   FLOP per pair of the pass
-- decode_flop  DOUBLE   the same in a decode
-- bytes        DOUBLE   bytes moved; for attention over the pass's pairs, only queries and results
-- token_bytes  DOUBLE   bytes of the key and value of one token, for such an attention
-- is_windowed  BOOLEAN  an attention that sees a window of keys
-- seen_keys    BIGINT   keys of the window, to the left of a query and its own; NULL: all
-- sequences    BIGINT   sequences of an attention
-- queries      BIGINT   queries of an attention
-- keys         BIGINT   keys of an attention
-- pairs        BIGINT   pairs of an attention
-- dtype        VARCHAR  arithmetic type by the types of the inputs
-- is_typed     BOOLEAN  both operands are among the inputs, so that their types decide
-- weight       BIGINT[] shape of the second matrix
-- a_type       VARCHAR  type of the first operand
-- b_bytes      DOUBLE   bytes of an element of the second operand
-- has_work     BOOLEAN  the shapes give FLOP, alone or with the pairs of the pass
CREATE VIEW operator_works AS
SELECT
    i.trace_id, i.work_id, i.priority, r.rule, r.family, coalesce(p.batch, 1) AS batch,
    coalesce(p.m, c.m, a.queries) AS m, coalesce(p.n, c.n) AS n, coalesce(p.k, c.k) AS k,
    coalesce(p.flop, c.flop, a.flop) AS flop, coalesce(p.flop, c.flop, a.flop_full) AS flop_full,
    p.first_flop, a.pair_flop, a.decode_flop,
    coalesce(p.bytes, c.bytes, a.bytes, b.bytes) AS bytes, a.token_bytes,
    a.seen_keys IS NOT NULL AS is_windowed, a.seen_keys, a.sequences, a.queries, a.keys, a.pairs,
    CASE
        WHEN r.family = 'memory' THEN NULL
        -- Bytes hold pairs of four-bit values.
        WHEN r.elements_per_item = 2 OR (r.rule = 'fused_moe' AND i.v[2] = 2 * i.a[-1]) THEN 'fp4'
        WHEN r.rule = 'fused_moe' AND i.b_bytes <= i.a_bytes
            AND i.b_type IN ('fp8', 'fp16', 'bf16', 'fp32')
            THEN i.b_type
        -- The computation uses the wider of the two types; packed integers are widened.
        WHEN i.b_bytes > i.a_bytes AND r.types_decide THEN i.b_type
        ELSE i.a_type
    END AS dtype,
    coalesce(r.types_decide, FALSE) AS is_typed,
    CASE WHEN r.family IN ('product', 'conv', 'moe') THEN i.b END AS weight, i.a_type, i.b_bytes,
    r.rule = 'opaque_moe' OR coalesce(p.flop, c.flop, a.flop, a.pair_flop) IS NOT NULL AS has_work
FROM _op_inputs AS i
JOIN trace_op_rules AS r ON r.priority = i.priority
LEFT JOIN _op_products AS p USING (trace_id, work_id)
LEFT JOIN _op_convolutions AS c USING (trace_id, work_id)
LEFT JOIN _op_attentions AS a USING (trace_id, work_id)
LEFT JOIN _op_bytes AS b USING (trace_id, work_id)
WHERE i.input_dims IS NOT NULL;
