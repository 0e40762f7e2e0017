-- One row per kernel of an Ascend device that runs attention: the layer it belongs to, or the part
-- of a pass outside the layers. Kernels of other streams, and collectives, are placed by their
-- start. If attention also runs backward, anchors alone do not show which kernels belong to which
-- layer and which run backward: then no kernel is in a layer.
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- stream        BIGINT   stream of the kernel
-- kernel_id     BIGINT   the kernel
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- anchor_count  BIGINT   anchors on the device
-- num_layers    INTEGER  layers of a complete pass
-- pass_id       BIGINT   pass, NULL outside all passes
-- layer_id      BIGINT   layer, NULL outside the layers
-- half          VARCHAR  attn, ffn or moe, or full where the layer has one block
-- part          VARCHAR  prologue, between or epilogue, NULL in the layers
-- is_cut_short  BOOLEAN  the capture begins or ends within the kernel's layer
-- pass_source   VARCHAR  how the passes were found
CREATE VIEW _ascend_places AS
WITH layer_starts AS (
    SELECT
        a.trace_id, a.device, a.run_id, a.pass_id, a.layer_id, a.anchor_count, a.num_layers,
        a.pass_source, a.seq AS anchor_seq, coalesce(t.start_seq, r.layer_seq) AS start_seq,
        t.ffn_seq AS ffn_before, r.ffn_seq AS last_ffn,
        t.start_seq IS NULL AND r.is_begun AS is_begun, r.is_ended
    FROM _ascend_anchors AS a
    JOIN _ascend_runs AS r
        ON r.trace_id = a.trace_id AND r.device = a.device AND r.run_id = a.run_id
    LEFT JOIN _ascend_turns AS t
        ON t.trace_id = a.trace_id AND t.device = a.device AND t.stretch = a.stretch
    WHERE a.begins_layer
),
layers_found AS (
    SELECT
        *,
        coalesce(lead(ffn_before) OVER run, CASE WHEN is_last THEN last_ffn END) AS ffn_seq,
        is_begun OR (is_ended AND is_last) AS is_cut_short
    FROM (
        SELECT
            *, anchor_seq = max(anchor_seq) OVER (PARTITION BY trace_id, device, run_id) AS is_last
        FROM layer_starts
    )
    WINDOW run AS (PARTITION BY trace_id, device, run_id ORDER BY anchor_seq)
),
runs AS (
    SELECT
        *,
        lag(pass_id) OVER lane IS NOT DISTINCT FROM pass_id AS goes_on,
        lead(pass_id) OVER lane IS NOT DISTINCT FROM pass_id AS is_followed
    FROM _ascend_runs
    WINDOW lane AS (PARTITION BY trace_id, device ORDER BY run_id)
),
-- Of several cuts at one place, the last in this order applies.
cuts AS (
    SELECT
        trace_id, device, end_seq + 1 AS seq, 0 AS place,
        CASE WHEN is_followed THEN pass_id END AS pass_id, CAST(NULL AS BIGINT) AS layer_id,
        CAST(NULL AS VARCHAR) AS half, CASE WHEN is_followed THEN 'between' END AS part,
        FALSE AS is_cut_short
    FROM runs
    UNION ALL
    SELECT
        trace_id, device, start_seq, 1, pass_id, NULL, NULL,
        CASE WHEN goes_on THEN 'between' ELSE 'prologue' END, FALSE
    FROM runs
    UNION ALL
    SELECT
        trace_id, device, start_seq, 2, pass_id, layer_id,
        CASE WHEN ffn_seq IS NULL THEN 'full' ELSE 'attn' END, NULL, is_cut_short
    FROM layers_found
    UNION ALL
    SELECT trace_id, device, ffn_seq, 3, pass_id, layer_id, 'ffn', NULL, is_cut_short
    FROM layers_found
    WHERE ffn_seq IS NOT NULL
    UNION ALL
    SELECT
        trace_id, device, tail_seq, 4, pass_id, NULL, NULL,
        CASE WHEN is_followed THEN 'between' ELSE 'epilogue' END, FALSE
    FROM runs
    WHERE tail_seq IS NOT NULL
),
deciding AS (
    SELECT trace_id, device, seq, max_by(cuts, place) AS cut
    FROM cuts
    GROUP BY trace_id, device, seq
),
devices AS (
    SELECT
        trace_id, device, any_value(anchor_count) AS anchor_count,
        any_value(num_layers) AS num_layers
    FROM _ascend_anchors
    GROUP BY trace_id, device
),
sources AS (
    SELECT trace_id, device, pass_id, any_value(pass_source) AS pass_source
    FROM _ascend_anchors
    GROUP BY trace_id, device, pass_id
),
-- Devices that train.
training AS (
    SELECT DISTINCT n.trace_id, n.device
    FROM (SELECT DISTINCT trace_id, device, type, category FROM _ascend_marks) AS n
    JOIN anchor_roles AS a ON a.category = n.category AND a.role = 'inside'
    JOIN direction_rules AS r
        ON r.subject = 'kernel' AND r.direction = 'backward'
        AND list_contains(_matching_direction_rules(n.type), r.priority)
),
placed AS (
    SELECT
        m.trace_id, m.rank, m.device, m.stream, m.kernel_id, m.start_ns, m.end_ns, m.mark, m.seq,
        c.cut.pass_id AS pass_id, c.cut.layer_id AS layer_id, c.cut.half AS half,
        c.cut.part AS part, coalesce(c.cut.is_cut_short, FALSE) AS is_cut_short
    FROM _ascend_marks AS m
    ASOF LEFT JOIN deciding AS c
        ON c.trace_id = m.trace_id AND c.device = m.device AND c.seq <= m.seq
    ANTI JOIN training AS t ON t.trace_id = m.trace_id AND t.device = m.device
)
SELECT
    p.trace_id, p.rank, p.device, p.stream, p.kernel_id, p.start_ns, p.end_ns, d.anchor_count,
    d.num_layers, p.pass_id, p.layer_id,
    CASE
        WHEN p.half = 'ffn' AND bool_or(coalesce(p.mark = 'expert', FALSE)) OVER (
            PARTITION BY p.trace_id, p.device, p.pass_id, p.layer_id, p.half
        ) THEN 'moe'
        ELSE p.half
    END AS half,
    p.part, p.is_cut_short, s.pass_source
FROM placed AS p
JOIN devices AS d ON d.trace_id = p.trace_id AND d.device = p.device
LEFT JOIN sources AS s
    ON s.trace_id = p.trace_id AND s.device = p.device AND s.pass_id = p.pass_id;
