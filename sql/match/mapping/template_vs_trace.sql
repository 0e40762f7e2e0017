-- One row per forward pass, layer and unit that multiplies, and per shape of products that are no
-- unit of the template: the sum of its kernels. The template is of the forward pass: kernels that
-- the backward one runs are not compared with it.
CREATE VIEW _unit_sums AS
WITH timed AS (
    SELECT
        *, sum(dur_ns) OVER (PARTITION BY trace_id, device, pass_id) / 1000.0 AS pass_us
    FROM _pass_kernel_roofs
    ANTI JOIN (
        SELECT trace_id, kernel_id FROM kernel_scopes WHERE phase IN ('backward', 'recompute')
    ) USING (trace_id, kernel_id)
)
SELECT
    trace_id, rank, device, pass_id, layer_id, unit, count(*) AS kernel_count,
    sum(dur_ns) / 1000.0 AS sum_us, any_value(pass_us) AS pass_us,
    sum(counted_flop) FILTER (flop_source <> 'template') AS trace_flop,
    mode(n ORDER BY n) AS n, mode(k ORDER BY k) AS k
FROM timed
WHERE state <> 'overhead' AND dtype IS NOT NULL
GROUP BY
    trace_id, rank, device, pass_id, layer_id, unit, CASE WHEN unit IS NULL THEN n END,
    CASE WHEN unit IS NULL THEN k END;

-- One row per complete forward pass, layer and operator: what it should compute on a rank by the
-- template of the trace's model, and what it computed by the shapes in the trace. Kernels of phase
-- backward or recompute (see kernel_scopes) are left out: the template has no backward pass.
--
-- Operators with FLOP are compared: matrix products and the core of attention. Fused ones are one
-- row if the trace runs them fused. FLOP of the trace come only from shapes or annotations, never
-- from the template itself.
--
-- key: trace_id, device, pass_id, layer_id, unit?, n?, k?
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- pass_id        BIGINT   pass, from 0
-- layer_id       BIGINT   layer, -1 for what is outside of layers
-- layer_kind     VARCHAR  kind of layer by the model; ends outside of layers
-- unit           VARCHAR  operator, or several fused; NULL for a product missing from the template
-- is_gemm        BOOLEAN  it is a matrix product, not the core of attention
-- template_flop  DOUBLE   FLOP of one rank by the template
-- trace_flop     DOUBLE   FLOP by the trace
-- diff_pct       DOUBLE   trace_flop over template_flop, less 1, in percent
-- n              BIGINT   columns of the product in the trace
-- k              BIGINT   its inner dimension
-- kernel_count   BIGINT   kernels that run it
-- sum_us         DOUBLE   sum of their durations, µs
-- pass_us        DOUBLE   sum of the durations of the pass's kernels that are compared, µs; NULL
--                         if none of them runs the operator
-- split_rule     VARCHAR  how ranks share the operator by the template
-- status         VARCHAR  match: within 0.5 %; close: within 5 %; differs; replicated: a match
--                         that every rank computes in full; no_shape: it runs, but its FLOP
--                         are unknown; missing_in_trace; extra_in_trace
CREATE VIEW template_vs_trace AS
WITH spots AS (
    SELECT trace_id, device, pass_id, layer_id FROM layers
    UNION ALL
    SELECT trace_id, device, pass_id, NULL FROM passes
),
wanted AS (
    -- Units that each layer of a complete pass, and the part outside layers, should run.
    SELECT
        u.trace_id, u.rank, u.device, u.pass_id, s.layer_id, u.layer_kind, u.tp, u.unit, u.ops,
        u.flop, u.is_core, u.split_rule
    FROM _pass_units AS u
    JOIN passes AS p
        ON p.trace_id = u.trace_id AND p.device = u.device
        AND p.pass_id = u.pass_id AND p.complete
    JOIN spots AS s
        ON s.trace_id = u.trace_id AND s.device = u.device
        AND s.pass_id = u.pass_id
    LEFT JOIN _pass_layers AS l
        ON l.trace_id = s.trace_id AND l.device = s.device
        AND l.pass_id = s.pass_id AND l.layer_id = s.layer_id
    WHERE
        u.flop > 0
        AND CASE WHEN s.layer_id IS NULL THEN 'ends' ELSE l.layer_kind END = u.layer_kind
),
options AS (
    SELECT
        w.trace_id, w.rank, w.device, w.pass_id, w.layer_id, w.layer_kind, w.tp, w.unit, w.ops,
        w.flop, w.is_core, w.split_rule, t.unit IS NOT NULL AS is_seen, t.kernel_count, t.sum_us,
        t.pass_us, t.trace_flop, t.n, t.k,
        flatten(list(CASE WHEN len(w.ops) > 1 AND t.unit IS NOT NULL THEN w.ops ELSE [] END) OVER (
            PARTITION BY w.trace_id, w.device, w.pass_id, w.layer_id
        )) AS fused_here
    FROM wanted AS w
    LEFT JOIN _unit_sums AS t
        ON t.trace_id = w.trace_id AND t.device = w.device
        AND t.pass_id = w.pass_id AND coalesce(t.layer_id, -1) = coalesce(w.layer_id, -1)
        AND t.unit = w.unit
),
compared AS (
    -- Of an operator and its fusion, the one that runs.
    SELECT
        trace_id, rank, device, pass_id, layer_id, layer_kind, pass_us, tp, unit, flop, is_core,
        split_rule, is_seen, kernel_count, sum_us, trace_flop, n, k,
        trace_flop / flop - 1 AS difference
    FROM options
    WHERE CASE
        WHEN is_core THEN len(ops) > 1 OR is_seen
        WHEN len(ops) > 1 THEN is_seen
        ELSE NOT list_contains(fused_here, unit)
    END
)
SELECT
    trace_id, rank, device, pass_id, coalesce(layer_id, -1) AS layer_id, layer_kind, unit,
    NOT is_core AS is_gemm,
    flop AS template_flop, trace_flop, 100 * difference AS diff_pct, n, k,
    coalesce(kernel_count, 0) AS kernel_count, coalesce(sum_us, 0) AS sum_us, pass_us, split_rule,
    CASE
        WHEN NOT is_seen THEN 'missing_in_trace'
        WHEN difference IS NULL THEN 'no_shape'
        WHEN abs(difference) <= 0.005 AND split_rule = 'replicated' AND tp > 1 THEN 'replicated'
        WHEN abs(difference) <= 0.005 THEN 'match'
        WHEN abs(difference) <= 0.05 THEN 'close'
        ELSE 'differs'
    END AS status
FROM compared
UNION ALL
SELECT
    s.trace_id, s.rank, s.device, s.pass_id, coalesce(s.layer_id, -1),
    coalesce(l.layer_kind, 'ends'), NULL, TRUE, NULL, s.trace_flop, NULL, s.n, s.k, s.kernel_count,
    s.sum_us, s.pass_us, NULL, 'extra_in_trace'
FROM _unit_sums AS s
JOIN passes AS p
    ON p.trace_id = s.trace_id AND p.device = s.device
    AND p.pass_id = s.pass_id AND p.complete
JOIN pass_workloads AS w
    ON w.trace_id = s.trace_id AND w.device = s.device
    AND w.pass_id = s.pass_id AND w.new_tokens > 0
SEMI JOIN _trace_models AS m ON m.trace_id = s.trace_id
LEFT JOIN _pass_layers AS l
    ON l.trace_id = s.trace_id AND l.device = s.device
    AND l.pass_id = s.pass_id AND l.layer_id = s.layer_id
WHERE
    s.unit IS NULL AND s.n IS NOT NULL AND s.trace_flop > 0
    AND (s.layer_id IS NULL OR l.layer_kind IS NOT NULL);
