-- One row per counted operator that ran while a graph was captured: between a call that begins and
-- one that ends the capture of a stream, or in an event with the name of a capture.
CREATE VIEW _op_captures AS
WITH calls AS (
    SELECT
        trace_id, pid, tid, event_id, start_ns, end_ns, lower(name) AS name,
        contains(name, 'StreamBeginCapture') AS is_begin,
        contains(name, 'StreamBeginCapture') OR contains(name, 'StreamEndCapture') AS is_mark
    FROM events
    WHERE
        lane = 'host' AND (
            contains(name, 'StreamBeginCapture') OR contains(name, 'StreamEndCapture')
            OR (
                contains(replace(lower(name), '_', ''), 'cudagraph')
                AND (contains(lower(name), 'capture') OR contains(lower(name), 'record'))
            )
        )
),
ranges AS (
    SELECT trace_id, start_ns, until_ns
    FROM (
        SELECT
            trace_id, start_ns, is_begin,
            lead(start_ns) OVER (
                PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id
            ) AS until_ns
        FROM calls
        WHERE is_mark
    )
    WHERE is_begin AND until_ns IS NOT NULL
    UNION ALL
    SELECT trace_id, start_ns, end_ns FROM calls WHERE NOT is_mark AND end_ns > start_ns
),
reaching AS (
    -- Ranges may nest: the latest end so far counts.
    SELECT
        trace_id, start_ns,
        max(until_ns) OVER (
            PARTITION BY trace_id ORDER BY start_ns ROWS UNBOUNDED PRECEDING
        ) AS until_ns
    FROM ranges
)
SELECT leaves.trace_id, leaves.op_id
FROM counted_operators AS leaves
ASOF JOIN reaching
    ON reaching.trace_id = leaves.trace_id AND reaching.start_ns <= leaves.start_ns
WHERE leaves.start_ns < reaching.until_ns;

-- One row per framework operator with a rule for its FLOP (trace_op_rules), each call once: of the
-- nested operators of one call the innermost counts.
--
-- FLOP are 2 per multiplication with its addition, by the shapes of the inputs: exact under a
-- causal mask, without a bias. Attention over packed or paged sequences takes the pairs of its
-- pass, see pass_workloads. They are those of the rank that recorded the trace. NULL if the shapes
-- do not give them: fused experts whose weights are not inputs, attention to only some of the keys
-- (a window, or those that an indexer chooses), operators without shapes.
--
-- key: trace_id, op_id
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- op_id         BIGINT   event_id of the operator
-- op            VARCHAR  its name
-- family        VARCHAR  product, conv, sdpa, attention or moe
-- pid           VARCHAR  process
-- tid           VARCHAR  thread
-- start_ns      BIGINT   start on the host, ns
-- dur_us        DOUBLE   duration on the host, µs
-- device        INTEGER  device its kernels ran on, NULL if it has none
-- pass_id       BIGINT   pass of its kernels, NULL outside of passes
-- layer_id      BIGINT   layer of its kernels, else by the name of a module; NULL outside of layers
-- module        VARCHAR  innermost module around it
-- module_path   VARCHAR  all modules around it, the outermost first, joined by /
-- batch         BIGINT   products side by side
-- m             BIGINT   rows of a product's result, or queries
-- n             BIGINT   columns of it
-- k             BIGINT   inner dimension
-- weight_shape  VARCHAR  shape of the second matrix, or of the first weights of experts
-- dtype         VARCHAR  type of the operands, as in dtypes
-- flop          DOUBLE   FLOP
-- flop_full     DOUBLE   FLOP without a mask, as library counters print
-- flop_source   VARCHAR  shape, annotation, or none
-- bytes         DOUBLE   bytes of operands and result, each once; NULL where shapes do not give
--                        them, or the keys of the pass are unknown
-- stage         VARCHAR  prefill, decode or mixed: from an argument, else by the pass
-- in_capture    BOOLEAN  it ran while a graph was captured
CREATE VIEW trace_ops AS
WITH spots AS (
    SELECT
        o.trace_id, o.counted_op_id AS op_id, min(k.device) AS device, min(s.pass_id) AS pass_id,
        min(s.layer_id) AS layer_id,
        bool_or(coalesce(w.is_windowed, FALSE)) AS is_windowed,
        bool_or(coalesce(w.has_fp8_cache, FALSE)) AS has_fp8_cache,
        bool_or(coalesce(w.dtype = 'fp8', FALSE)) AS is_fp8
    FROM kernel_operators AS o
    JOIN kernels AS k ON k.trace_id = o.trace_id AND k.kernel_id = o.kernel_id
    LEFT JOIN _kernel_spots AS s ON s.trace_id = o.trace_id AND s.kernel_id = o.kernel_id
    LEFT JOIN _kernel_words AS w ON w.trace_id = k.trace_id AND w.name = k.name
    WHERE o.counted_op_id IS NOT NULL
    GROUP BY o.trace_id, o.counted_op_id
),
paths AS (
    -- Layers by the names of modules: DecoderLayer_3, layers.3, layers_3.
    SELECT
        module_path,
        TRY_CAST(regexp_extract(
            module_path, '(?:Layer|Block|(?:^|[._])layers)[._](\d+)(?:[^0-9]|$)', 1
        ) AS BIGINT) AS layer_id
    FROM (SELECT DISTINCT module_path FROM _op_modules)
),
joined AS (
    SELECT
        l.trace_id, t.rank, l.op_id, l.op, l.family, l.pid, l.tid, l.start_ns,
        (l.end_ns - l.start_ns) / 1000.0 AS dur_us, s.device, s.pass_id,
        coalesce(s.layer_id, paths.layer_id) AS layer_id, m.module, m.module_path, w.batch, w.m,
        w.n, w.k, w.weight, w.dtype, lower(l.said) AS label, p.phase,
        c.op_id IS NOT NULL AS in_capture,
        w.pair_flop IS NOT NULL AS by_pass, w.flop AS shape_flop, w.flop_full, w.bytes,
        _cached_bytes(w.token_bytes, w.b_bytes, s.has_fp8_cache OR (s.is_fp8 AND w.a_type = 'fp8'))
            AS token_bytes,
        _pass_keys(p.new_tokens, p.cached_tokens, p.pairs) AS key_tokens,
        coalesce(s.is_windowed, FALSE)
        OR coalesce(least(w.seen_keys, v.seen_keys) < key_tokens, FALSE) AS is_windowed,
        p.pairs, p.pairs_full,
        CASE
            WHEN p.phase = 'decode' THEN w.decode_flop
            WHEN p.phase IS DISTINCT FROM 'mixed' OR w.decode_flop = w.pair_flop THEN w.pair_flop
        END AS pair_flop
    FROM counted_operators AS l
    JOIN traces AS t ON t.trace_id = l.trace_id
    LEFT JOIN operator_works AS w ON w.trace_id = l.trace_id AND w.work_id = l.work_id
    LEFT JOIN spots AS s ON s.trace_id = l.trace_id AND s.op_id = l.op_id
    LEFT JOIN _op_modules AS m ON m.trace_id = l.trace_id AND m.op_id = l.op_id
    LEFT JOIN paths ON paths.module_path = m.module_path
    LEFT JOIN _op_captures AS c ON c.trace_id = l.trace_id AND c.op_id = l.op_id
    LEFT JOIN pass_workloads AS p
        ON p.trace_id = s.trace_id AND p.device = s.device
        AND p.pass_id = s.pass_id
    LEFT JOIN _layer_windows AS v ON v.trace_id = s.trace_id AND v.layer_id = s.layer_id
)
SELECT
    trace_id, rank, op_id, op, family, pid, tid, start_ns, dur_us, device, pass_id, layer_id,
    module, module_path, batch, m, n, k,
    CASE WHEN weight IS NOT NULL THEN '[' || array_to_string(weight, ',') || ']' END
        AS weight_shape,
    dtype,
    CAST(CASE
        WHEN NOT by_pass THEN shape_flop
        WHEN NOT is_windowed THEN pairs * pair_flop
    END AS DOUBLE) AS flop,
    CAST(CASE WHEN by_pass THEN pairs_full * pair_flop ELSE flop_full END AS DOUBLE) AS flop_full,
    CASE
        WHEN flop IS NULL THEN 'none'
        WHEN by_pass THEN 'annotation'
        ELSE 'shape'
    END AS flop_source,
    CASE
        WHEN NOT by_pass THEN bytes
        WHEN NOT is_windowed THEN bytes + key_tokens * token_bytes
    END AS bytes,
    CASE
        WHEN contains(label, 'prefill') OR contains(label, 'extend') THEN 'prefill'
        WHEN contains(label, 'decode') THEN 'decode'
        ELSE phase
    END AS stage,
    in_capture
FROM joined;
