-- One row per forward pass: the tokens, requests and pairs of query and key that it computes.
--
-- They come from the annotation of the serving engine around the launch of the pass's first kernel,
-- else from the shapes of its attention, else from the rows of the products that give its stage
-- (see passes). If a pass's source has only some of these, the rest is NULL. Backward passes have
-- no row. Whole sequences in a model that never decodes show no phase: it may be an encoder.
--
-- Where ranks share sequences (DeepSpeed Ulysses), each attends to all tokens, for a part of the
-- heads, and computes the rest of a layer for a part of the tokens, with an all-to-all before and
-- after. So if the products of such layers have n times fewer rows than the attention has queries,
-- n at most 128, as many as a model has heads, shapes do not give the tokens of the pass. Without
-- an all-to-all the products are chunks of all rows (asynchronous tensor parallelism).
--
-- stored: per trace
--
-- key: trace_id, device, pass_id
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- pass_id        BIGINT   pass, from 0
-- phase          VARCHAR  training, prefill, decode or mixed; NULL if unknown
-- requests       BIGINT   requests, or sequences
-- new_tokens     BIGINT   tokens computed
-- cached_tokens  BIGINT   tokens whose keys were in the cache before
-- pairs          BIGINT   pairs of a query and a key that it sees under a causal mask
-- pairs_full     BIGINT   pairs without the mask
-- logit_rows     BIGINT   rows that reach the head: those of the widest product after the layers if
--                         its shapes are known, in chunks those of all, up to new_tokens; else one
--                         per request, but one per token in training and of requests that
--                         generate, since drafts are verified; one per request of a draft's pass,
--                         of fewer layers than others of its phase
-- source         VARCHAR  annotation, annotation without cached tokens (none were assumed),
--                         annotation of tokens, shapes, or shapes of tokens
CREATE VIEW pass_workloads AS
WITH launches AS (
    -- The first kernel of a layer and the moment when the host launched it.
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id, p.series, p.direction, p.stage, p.tokens,
        p.requests, p.num_layers, p.start_ns, min(k.issued_ns) AS issued_ns
    FROM passes AS p
    LEFT JOIN kernels AS k
        ON k.trace_id = p.trace_id AND k.device = p.device
        AND k.start_ns = p.start_ns
    -- No scenario is only a backward pass.
    WHERE coalesce(p.direction, 'forward') = 'forward'
    GROUP BY ALL
),
points AS (
    SELECT l.trace_id, l.device, l.pass_id, l.start_ns, l.issued_ns, f.form
    FROM launches AS l
    CROSS JOIN (VALUES (1), (2), (3)) AS f(form)
),
hosts AS (
    SELECT
        trace_id, start_ns, end_ns, form, requests, new_tokens, cached_tokens, pairs, pairs_full,
        logit_rows, source
    FROM _pass_notes
    WHERE device IS NULL
),
hosted AS (
    SELECT
        p.trace_id, p.device, p.pass_id, n.form, n.requests, n.new_tokens, n.cached_tokens,
        n.pairs, n.pairs_full, n.logit_rows, n.source
    FROM points AS p
    ASOF JOIN hosts AS n
        ON n.trace_id = p.trace_id AND n.form = p.form AND n.start_ns <= p.issued_ns
    WHERE p.issued_ns < n.end_ns
    UNION ALL
    SELECT
        p.trace_id, p.device, p.pass_id, n.form, n.requests, n.new_tokens, n.cached_tokens,
        n.pairs, n.pairs_full, n.logit_rows, n.source
    FROM points AS p
    ASOF JOIN _pass_notes AS n
        ON n.trace_id = p.trace_id AND n.device = p.device AND n.form = p.form
        AND n.start_ns <= p.start_ns
    WHERE p.start_ns < n.end_ns
),
noted AS (
    SELECT
        trace_id, device, pass_id,
        arg_min(
            {
                'requests': requests, 'new_tokens': new_tokens, 'cached_tokens': cached_tokens,
                'pairs': pairs, 'pairs_full': pairs_full, 'logit_rows': logit_rows,
                'source': source
            }, form
        ) AS note
    FROM hosted
    GROUP BY trace_id, device, pass_id
),
attentions AS (
    SELECT
        s.trace_id, k.device, s.pass_id,
        arg_min(
            {
                'sequences': w.sequences, 'queries': w.queries, 'keys': w.keys, 'pairs': w.pairs,
                'is_decode': w.queries = w.sequences AND w.keys > w.queries,
                'pairs_full': w.queries * w.keys // w.sequences
            }, k.start_ns
        ) FILTER (w.sequences IS NOT NULL) AS shape,
        max(try(w.batch * w.m)) FILTER (w.family = 'product' AND s.layer_id IS NOT NULL)
            AS layer_rows
    FROM kernel_operators AS o
    JOIN counted_operators AS l ON l.trace_id = o.trace_id AND l.op_id = o.counted_op_id
    JOIN operator_works AS w ON w.trace_id = l.trace_id AND w.work_id = l.work_id
    JOIN _kernel_spots AS s ON s.trace_id = o.trace_id AND s.kernel_id = o.kernel_id
    JOIN kernels AS k ON k.trace_id = o.trace_id AND k.kernel_id = o.kernel_id
    GROUP BY s.trace_id, k.device, s.pass_id
),
heads AS (
    -- The first of the widest products after the last layer, and those of its shape: chunks of the
    -- rows, as fused losses compute them, or another model's turn.
    SELECT
        trace_id, device, pass_id, max(m) AS most_rows, CAST(sum(m) AS BIGINT) AS all_rows
    FROM (
        SELECT
            s.trace_id, k.device, s.pass_id, w.m, w.n, w.k,
            first_value({'n': w.n, 'k': w.k}) OVER (
                PARTITION BY s.trace_id, k.device, s.pass_id
                ORDER BY w.n DESC, min(k.start_ns), l.op_id
            ) AS head
        FROM _kernel_spots AS s
        JOIN kernels AS k ON k.trace_id = s.trace_id AND k.kernel_id = s.kernel_id
        JOIN passes AS p
            ON p.trace_id = s.trace_id AND p.device = k.device
            AND p.pass_id = s.pass_id AND k.start_ns >= p.end_ns
        JOIN kernel_operators AS o ON o.trace_id = s.trace_id AND o.kernel_id = s.kernel_id
        JOIN counted_operators AS l ON l.trace_id = o.trace_id AND l.op_id = o.counted_op_id
        JOIN operator_works AS w ON w.trace_id = l.trace_id AND w.work_id = l.work_id
        WHERE s.layer_id IS NULL AND w.family = 'product' AND w.n IS NOT NULL
        GROUP BY s.trace_id, k.device, s.pass_id, l.op_id, w.m, w.n, w.k
    )
    WHERE n = head.n AND k = head.k
    GROUP BY trace_id, device, pass_id
),
exchanges AS (
    SELECT DISTINCT c.trace_id, c.device, s.pass_id
    FROM collectives AS c
    JOIN _kernel_spots AS s ON s.trace_id = c.trace_id AND s.kernel_id = c.collective_id
    WHERE c.kind = 'all-to-all' AND s.layer_id IS NOT NULL
),
shaped AS (
    SELECT
        a.trace_id, a.device, a.pass_id, shape.is_decode AS is_decode,
        coalesce(
            layer_rows < shape.queries AND shape.queries % layer_rows = 0
            AND shape.queries <= 128 * layer_rows AND x.trace_id IS NOT NULL,
            FALSE
        ) AS is_shared,
        CASE WHEN NOT is_shared THEN shape END AS load
    FROM attentions AS a
    LEFT JOIN exchanges AS x
        ON x.trace_id = a.trace_id AND x.device = a.device AND x.pass_id = a.pass_id
    WHERE shape IS NOT NULL
),
joined AS (
    SELECT
        l.trace_id, l.rank, l.device, l.pass_id,
        CASE
            WHEN l.direction IS NOT NULL OR d.is_differentiated THEN 'training'
            WHEN l.stage IS NOT NULL THEN l.stage
            WHEN a.is_decode THEN 'decode'
            WHEN a.trace_id IS NOT NULL AND bool_or(a.is_decode) OVER of_model THEN 'prefill'
        END AS phase,
        note, a.load AS shape, CASE WHEN a.is_shared IS NOT TRUE THEN l.requests END AS requests,
        CASE WHEN a.is_shared IS NOT TRUE THEN l.tokens END AS given_tokens,
        coalesce(note.new_tokens, a.load.queries, given_tokens) AS new_tokens,
        heads.most_rows, heads.all_rows, l.num_layers
    FROM launches AS l
    LEFT JOIN noted
        ON noted.trace_id = l.trace_id AND noted.device = l.device
        AND noted.pass_id = l.pass_id
    LEFT JOIN shaped AS a
        ON a.trace_id = l.trace_id AND a.device = l.device
        AND a.pass_id = l.pass_id
    LEFT JOIN heads
        ON heads.trace_id = l.trace_id AND heads.device = l.device
        AND heads.pass_id = l.pass_id
    LEFT JOIN differentiated_passes AS d
        ON d.trace_id = l.trace_id AND d.device = l.device
        AND d.pass_id = l.pass_id
    WINDOW of_model AS (PARTITION BY l.trace_id, l.device, l.series)
)
SELECT
    trace_id, rank, device, pass_id, phase,
    coalesce(note.requests, shape.sequences, requests) AS requests,
    new_tokens,
    CASE
        WHEN note.cached_tokens IS NOT NULL THEN note.cached_tokens
        WHEN note IS NULL THEN shape.keys - shape.queries
    END AS cached_tokens,
    CASE WHEN note IS NULL THEN shape.pairs ELSE note.pairs END AS pairs,
    CASE WHEN note IS NULL THEN shape.pairs_full ELSE note.pairs_full END AS pairs_full,
    coalesce(
        CASE
            WHEN phase = 'training' OR all_rows = new_tokens
                THEN greatest(most_rows, least(all_rows, coalesce(new_tokens, most_rows)))
            ELSE most_rows
        END,
        CASE
            WHEN phase = 'training' THEN new_tokens
            WHEN num_layers < max(num_layers) OVER one_phase
                THEN coalesce(note.requests, shape.sequences, requests)
            WHEN phase = 'decode' THEN new_tokens
            ELSE coalesce(note.logit_rows, note.requests, shape.sequences, requests)
        END
    ) AS logit_rows,
    CASE
        WHEN note IS NOT NULL THEN note.source
        WHEN shape IS NOT NULL THEN 'shapes'
        WHEN given_tokens IS NOT NULL THEN 'shapes of tokens'
    END AS source
FROM joined
WINDOW one_phase AS (PARTITION BY trace_id, device, phase);
