-- One row per pass and stage of a framework's attention operators on a batch of sequences: (batch,
-- heads, sequence, dimension), or with the sequence before the heads. At most eight queries per
-- sequence (one and its drafts) with more keys than queries are a decode; others are a prefill if
-- the model also decodes. Without any decode the model may be an encoder or in training, and has no
-- stage. A softmax over (batch, heads, queries, keys) is also attention, unfused. Attention to an
-- encoder has the same queries as the attention before it, and is left out.
CREATE VIEW _batch_loads AS
WITH called AS (
    SELECT p.trace_id, p.device, p.pass_id, p.series, k.op_name, k.input_dims
    FROM _kernel_places AS p
    JOIN kernels AS k ON k.trace_id = p.trace_id AND k.kernel_id = p.kernel_id
    JOIN anchor_roles AS r ON r.category = k.category
    WHERE
        p.layer_id IS NOT NULL AND r.role = 'inside' AND k.op_name IS NOT NULL
        AND p.half IS DISTINCT FROM 'cross'
    UNION ALL
    SELECT p.trace_id, p.device, p.pass_id, p.series, 'softmax', k.input_dims
    FROM _kernel_places AS p
    JOIN _written_attention AS w ON w.trace_id = p.trace_id AND w.kernel_id = p.kernel_id
    JOIN kernels AS k ON k.trace_id = p.trace_id AND k.kernel_id = p.kernel_id
    WHERE p.layer_id IS NOT NULL AND p.half IS DISTINCT FROM 'cross'
),
operators AS (
    SELECT
        * EXCLUDE (input_dims), TRY_CAST(TRY_CAST(input_dims AS JSON) AS BIGINT[][]) AS dims
    FROM (SELECT DISTINCT * FROM called)
),
slots AS (
    SELECT
        op_name, arg_min(
            {'a': a_slot + 1, 'b': b_slot + 1, 'lengths': lengths_slot + 1, 'layout': layout},
            priority
        ) AS slot
    FROM (SELECT DISTINCT op_name FROM operators)
    JOIN trace_op_rules AS r ON regexp_matches(op_name, pattern)
    WHERE r.rule = 'attention'
    GROUP BY op_name
),
batches AS (
    SELECT
        o.trace_id, o.device, o.pass_id, o.series, o.dims[s.slot.a][1] AS requests,
        CASE s.slot.layout WHEN 'heads_first' THEN o.dims[s.slot.a][3] ELSE o.dims[s.slot.a][2] END
            AS queries,
        CASE s.slot.layout WHEN 'heads_first' THEN o.dims[s.slot.b][3] ELSE o.dims[s.slot.b][2] END
            AS keys
    FROM operators AS o
    JOIN slots AS s ON s.op_name = o.op_name
    WHERE
        len(o.dims[s.slot.a]) = 4 AND len(o.dims[s.slot.b]) = 4
        -- Sequences of several lengths are packed into one.
        AND coalesce(len(o.dims[s.slot.lengths]), 0) = 0
    UNION ALL
    SELECT trace_id, device, pass_id, series, dims[1][1], dims[1][3], dims[1][4]
    FROM operators
    WHERE op_name = 'softmax' AND len(dims[1]) = 4
),
staged AS (
    SELECT
        trace_id, device, pass_id, series, queries <= 8 AND keys > queries AS is_decode,
        max(requests) AS requests, max(try(requests * queries)) AS tokens
    FROM batches
    GROUP BY trace_id, device, pass_id, series, is_decode
)
SELECT
    trace_id, device, pass_id, tokens, requests,
    CASE
        WHEN is_decode THEN 'decode'
        WHEN bool_or(is_decode) OVER (PARTITION BY trace_id, device, series) THEN 'prefill'
    END AS stage
FROM staged;

-- One row per pass of an Ascend trace and source of its load (attention, for each stage, or the
-- first products of layers): tokens, requests and stage.
CREATE VIEW _ascend_loads AS
WITH first_products AS (
    SELECT
        p.trace_id, p.device, p.pass_id, p.layer_id, arg_min(m.kernel_id, m.seq) AS kernel_id
    FROM _ascend_places AS p
    JOIN _ascend_marks AS m ON m.trace_id = p.trace_id AND m.kernel_id = p.kernel_id
    WHERE p.layer_id IS NOT NULL AND m.is_product
    GROUP BY p.trace_id, p.device, p.pass_id, p.layer_id
),
telling AS (
    SELECT trace_id, device, pass_id, kernel_id, TRUE AS is_attention
    FROM _ascend_anchors
    UNION ALL
    SELECT trace_id, device, pass_id, kernel_id, FALSE
    FROM first_products
),
shaped AS (
    SELECT t.trace_id, t.device, t.pass_id, t.is_attention, k.input_dims, count(*) AS seen
    FROM telling AS t
    JOIN kernels AS k ON k.trace_id = t.trace_id AND k.kernel_id = t.kernel_id
    WHERE k.input_dims IS NOT NULL
    GROUP BY t.trace_id, t.device, t.pass_id, t.is_attention, k.input_dims
),
shapes AS (
    SELECT input_dims, TRY_CAST(TRY_CAST(input_dims AS JSON) AS BIGINT[][]) AS dims
    FROM (SELECT DISTINCT input_dims FROM shaped)
),
products AS (
    SELECT
        s.trace_id, s.device, s.pass_id, mode(d.dims[1][1] ORDER BY d.dims[1][1]) AS tokens
    FROM shaped AS s
    JOIN shapes AS d ON d.input_dims = s.input_dims
    WHERE NOT s.is_attention AND len(d.dims[1]) = 2
    GROUP BY s.trace_id, s.device, s.pass_id
)
SELECT
    s.trace_id, s.device, s.pass_id, s.is_attention, attention_stage(d.dims) AS stage,
    max(attention_tokens(d.dims[1])) AS tokens, max(attention_requests(d.dims)) AS requests
FROM shaped AS s
JOIN shapes AS d ON d.input_dims = s.input_dims
WHERE s.is_attention AND attention_tokens(d.dims[1]) IS NOT NULL
GROUP BY s.trace_id, s.device, s.pass_id, s.is_attention, stage
UNION ALL
SELECT
    trace_id, device, pass_id, FALSE,
    -- A product shows no number of keys: the number of rows alone decides.
    attention_stage([[tokens, 1]]), tokens, NULL
FROM products;

-- One row per pass whose kernels' shapes show its load: tokens, requests and stage. The shapes are
-- those of the attention; a pass that runs attention of both stages is mixed. If attention shows
-- none, tokens are the rows of the first matrix product of most layers. Passes of training have no
-- stage.
--
-- stored: per trace
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- pass_id   BIGINT   pass, from 0
-- tokens    BIGINT   tokens of the pass
-- requests  BIGINT   requests of the pass, NULL if unknown
-- stage     VARCHAR  prefill, decode or mixed, NULL if unknown
CREATE VIEW _pass_loads AS
WITH loads AS (
    SELECT trace_id, device, pass_id, is_attention, stage, tokens, requests FROM _ascend_loads
    UNION ALL
    SELECT trace_id, device, pass_id, TRUE, stage, tokens, requests FROM _batch_loads
),
preferred AS (
    SELECT
        *, bool_or(is_attention) OVER (PARTITION BY trace_id, device, pass_id) AS has_attention
    FROM loads
),
summed AS (
    SELECT
        trace_id, device, pass_id, CAST(sum(tokens) AS BIGINT) AS tokens,
        CAST(sum(requests) AS BIGINT) AS requests,
        CASE WHEN count(DISTINCT stage) > 1 THEN 'mixed' ELSE max(stage) END AS stage
    FROM preferred
    WHERE is_attention = has_attention
    GROUP BY trace_id, device, pass_id
)
SELECT
    s.trace_id, s.device, s.pass_id, s.tokens, s.requests,
    CASE WHEN d.is_differentiated THEN NULL ELSE s.stage END AS stage
FROM summed AS s
LEFT JOIN differentiated_passes AS d
    ON d.trace_id = s.trace_id AND d.device = s.device AND d.pass_id = s.pass_id;
