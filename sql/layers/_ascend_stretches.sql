-- One row per anchor of an Ascend device: what lies between the anchor before it and itself, and
-- whether that parts two passes or belongs to one layer. A head or sampling kernel, another step of
-- the profiler, or another run of ascending starts in the file parts passes, unless it stands
-- between most anchors; so does a long idle time, if there are more norms than between two layers
-- (the final one) or nothing else tells passes apart. Where layers have norms, anchors with no norm
-- between them are of one layer: chunks of a long prompt.
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL when unknown
-- device        INTEGER  device
-- stretch       BIGINT   anchors before it
-- anchor_count  BIGINT   anchors on the device
-- kernel_id     BIGINT   the anchor
-- seq           BIGINT   its place on the device
-- has_head      BOOLEAN  a pass's first kernel lies before it
-- is_break      BOOLEAN  another pass begins
-- is_strong     BOOLEAN  by more than idle time
-- is_same       BOOLEAN  it is of the layer of the anchor before
CREATE VIEW _ascend_stretches AS
WITH said_steps AS (
    SELECT a.trace_id, a.kernel_id, a.step_id, r.block
    FROM ascend_kernels AS a
    JOIN _ascend_marks AS m
        ON m.trace_id = a.trace_id AND m.kernel_id = a.kernel_id AND m.mark = 'anchor'
    LEFT JOIN _window_rows AS r ON r.trace_id = a.trace_id AND r.kernel_id = a.kernel_id
),
gathered AS (
    SELECT
        m.trace_id, m.rank, m.device, m.stretch, max(m.idle_ns) AS idle_ns,
        max(m.kernel_id) FILTER (m.mark = 'anchor') AS kernel_id,
        max(m.seq) FILTER (m.mark = 'anchor') AS seq,
        coalesce(bool_or(m.mark = 'head'), FALSE) AS has_head,
        coalesce(bool_or(m.mark = 'tail'), FALSE) AS has_tail,
        count(*) FILTER (m.mark IN ('residual', 'closing')) AS residuals,
        count(*) FILTER (m.mark IN ('residual', 'closing', 'norm')) AS norms
    FROM _ascend_marks AS m
    GROUP BY m.trace_id, m.rank, m.device, m.stretch
),
compared AS (
    SELECT
        g.*, g.stretch > 0 AND g.kernel_id IS NOT NULL AS is_inner,
        coalesce(s.step_id <> lag(s.step_id) OVER lane, FALSE) AS is_step,
        coalesce(s.block <> lag(s.block) OVER lane, FALSE) AS is_block,
        g.idle_ns > t.threshold_ns AS is_long
    FROM gathered AS g
    LEFT JOIN said_steps AS s ON s.trace_id = g.trace_id AND s.kernel_id = g.kernel_id
    LEFT JOIN _gap_thresholds AS t ON t.trace_id = g.trace_id AND t.device = g.device
    WINDOW lane AS (PARTITION BY g.trace_id, g.device ORDER BY g.stretch)
),
usual AS (
    SELECT
        *,
        count(CASE WHEN is_inner THEN 1 END) OVER device AS inner_count,
        count(CASE WHEN is_inner AND has_head THEN 1 END) OVER device AS head_count,
        count(CASE WHEN is_inner AND has_tail THEN 1 END) OVER device AS tail_count,
        count(CASE WHEN is_inner AND is_block THEN 1 END) OVER device AS block_count,
        10 * count(CASE WHEN is_inner AND residuals > 0 THEN 1 END) OVER device
            >= count(CASE WHEN is_inner THEN 1 END) OVER device AS has_residuals,
        10 * count(CASE WHEN is_inner AND norms > 0 THEN 1 END) OVER device
            >= count(CASE WHEN is_inner THEN 1 END) OVER device AS has_norms,
        median(norms) FILTER (is_inner AND norms > 0) OVER device AS usual_norms
    FROM compared
    WINDOW device AS (PARTITION BY trace_id, device)
),
told AS (
    SELECT
        *,
        is_inner AND (
            (has_head AND head_count <= greatest(inner_count / 2, 1))
            OR (has_tail AND tail_count <= greatest(inner_count / 2, 1))
            OR is_step OR (is_block AND block_count <= inner_count / 2)
        ) AS is_strong,
        is_inner AND coalesce(is_long, FALSE) AS is_pause,
        coalesce(norms > usual_norms, FALSE) AS has_final_norm
    FROM usual
),
judged AS (
    SELECT
        *,
        is_strong OR (is_pause AND (has_final_norm OR NOT bool_or(
            is_strong OR (is_pause AND has_final_norm)
        ) OVER (PARTITION BY trace_id, device))) AS is_break
    FROM told
)
SELECT
    trace_id, rank, device, stretch, inner_count + 1 AS anchor_count, kernel_id, seq, has_head,
    is_break, is_strong,
    is_inner AND NOT is_break AND inner_count > 0 AND CASE
        WHEN has_residuals THEN residuals = 0
        WHEN has_norms THEN norms = 0
        ELSE FALSE
    END AS is_same
FROM judged
WHERE kernel_id IS NOT NULL;
