-- One row per run of an Ascend device: its first and last kernel, the beginning of its first layer
-- and the end of its last one. A run extends back from its first anchor to the embedding, a long
-- idle time or the sampling of the run before; and from its last anchor forward through the last
-- sampling kernel before the next embedding or long idle time. Its first layer begins at the first
-- norm after the embedding; if no embedding is seen, at the last norm with at least as many matrix
-- products up to the anchor as other layers have, or, if these are fused with others in one kernel
-- and so none, at the first norm with none; if no run has other layers, at the last norm that adds
-- the residual, else at the first norm. Its last layer ends at the norm after the feed-forward
-- half, the final norm. A pipeline stage receives instead of embedding, and sends instead of
-- sampling, without a final norm.
--
-- stored: per ascend trace
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- run_id        BIGINT   run, from 0
-- pass_id       BIGINT   pass, from 0
-- start_seq     BIGINT   place of its first kernel
-- layer_seq     BIGINT   place of the first kernel of its first layer
-- ffn_seq       BIGINT   place of the first kernel of its last layer's feed-forward half, or NULL
-- tail_seq      BIGINT   place of the first kernel after its last layer, NULL if the run has none
-- end_seq       BIGINT   place of its last kernel
-- is_begun      BOOLEAN  the capture begins within its first layer
-- is_ended      BOOLEAN  the capture ends within its last layer
CREATE VIEW _ascend_runs AS
WITH runs AS (
    SELECT
        trace_id, rank, device, run_id, any_value(pass_id) AS pass_id,
        min(seq) AS first_anchor, max(seq) AS last_anchor, min(stretch) AS before_it,
        max(stretch) + 1 AS after_it
    FROM _ascend_anchors
    GROUP BY trace_id, rank, device, run_id
),
devices AS (
    SELECT DISTINCT trace_id, device, is_staged FROM _ascend_anchors
),
surroundings AS (
    SELECT
        m.trace_id, m.device, m.stretch, min(m.seq) AS first_seq, max(m.seq) AS last_seq,
        min(m.seq) FILTER (m.idle_ns > t.threshold_ns) AS first_pause,
        max(m.seq) FILTER (m.idle_ns > t.threshold_ns) AS last_pause,
        max(m.seq) FILTER (m.mark = 'tail' OR (d.is_staged AND m.mark = 'send')) AS last_tail,
        min(m.seq) FILTER (d.is_staged AND m.mark = 'send') AS first_send,
        list(m.seq ORDER BY m.seq) FILTER (
            m.mark = 'head' OR (d.is_staged AND m.mark = 'receive')
        ) AS heads
    FROM _ascend_marks AS m
    JOIN devices AS d ON d.trace_id = m.trace_id AND d.device = m.device
    LEFT JOIN _gap_thresholds AS t ON t.trace_id = m.trace_id AND t.device = m.device
    WHERE EXISTS (
        SELECT 1
        FROM runs AS r
        WHERE
            r.trace_id = m.trace_id AND r.device = m.device
            AND m.stretch IN (r.before_it, r.after_it)
    )
    GROUP BY m.trace_id, m.device, m.stretch
),
limits AS (
    SELECT
        trace_id, device, stretch, first_seq, last_seq, first_pause, last_pause, last_tail,
        first_send,
        list_min([h FOR h IN heads IF h > coalesce(last_tail, 0)]) AS next_head,
        list_min([
            h FOR h IN heads IF h > coalesce(last_tail, 0) AND h >= coalesce(last_pause, 0)
        ]) AS own_head
    FROM surroundings
),
usual AS (
    SELECT
        trace_id, device, any_value(usual_residuals) AS usual_residuals,
        any_value(usual_products) AS usual_products, any_value(usual_norms) AS usual_norms
    FROM _ascend_turns
    GROUP BY trace_id, device
),
openers AS (
    SELECT
        r.trace_id, r.device, r.run_id,
        min(n.seq) FILTER (n.seq > l.own_head) AS after_head,
        -- Norms of queries do not add the residual, and come later.
        CASE
            WHEN any_value(u.device) IS NULL AND (
                any_value(r.before_it) = 0 OR any_value(coalesce(l.last_pause, l.last_tail)) > 0
            )
                THEN coalesce(max(n.seq) FILTER (n.is_residual), min(n.seq))
        END AS only_one,
        coalesce(
            min(n.seq) FILTER (n.products_left = 0 AND u.usual_products = 0),
            max(n.seq) FILTER (n.products_left >= greatest(u.usual_products, 1))
        ) AS by_products,
        min(n.seq) FILTER (n.seq >= l.last_pause) AS after_pause
    FROM runs AS r
    JOIN limits AS l ON l.trace_id = r.trace_id AND l.device = r.device AND l.stretch = r.before_it
    LEFT JOIN usual AS u ON u.trace_id = r.trace_id AND u.device = r.device
    JOIN _ascend_norms AS n
        ON n.trace_id = r.trace_id AND n.device = r.device AND n.stretch = r.before_it
        AND n.seq >= coalesce(l.own_head, l.last_pause, l.last_tail, 0)
    GROUP BY r.trace_id, r.device, r.run_id
),
begun AS (
    SELECT
        r.*, coalesce(o.after_head, o.only_one, o.by_products, o.after_pause) AS opener,
        r.before_it = 0 AND l.own_head IS NULL AS is_at_edge, l.first_seq,
        coalesce(
            l.own_head, l.last_pause, l.last_tail + 1,
            CASE WHEN r.before_it = 0 THEN l.first_seq END, o.by_products, r.first_anchor
        ) AS start_seq
    FROM runs AS r
    JOIN limits AS l ON l.trace_id = r.trace_id AND l.device = r.device AND l.stretch = r.before_it
    LEFT JOIN openers AS o
        ON o.trace_id = r.trace_id AND o.device = r.device AND o.run_id = r.run_id
),
ended AS (
    SELECT
        b.*,
        CASE
            WHEN l.stretch IS NULL THEN b.last_anchor
            WHEN l.first_pause <= coalesce(l.next_head, l.first_pause) THEN l.first_pause - 1
            WHEN l.next_head IS NOT NULL THEN coalesce(l.last_tail, l.next_head - 1)
            WHEN l.last_tail IS NOT NULL
                THEN CASE WHEN n.start_seq IS NULL THEN l.last_seq ELSE l.last_tail END
            ELSE coalesce(n.start_seq - 1, l.last_seq)
        END AS end_seq,
        n.start_seq IS NULL AND l.first_pause IS NULL AND l.last_tail IS NULL AS may_be_cut,
        CASE WHEN l.first_send <= end_seq THEN l.first_send END AS send_seq
    FROM begun AS b
    LEFT JOIN limits AS l
        ON l.trace_id = b.trace_id AND l.device = b.device AND l.stretch = b.after_it
    LEFT JOIN begun AS n
        ON n.trace_id = b.trace_id AND n.device = b.device AND n.run_id = b.run_id + 1
),
finals AS (
    SELECT
        e.trace_id, e.device, e.run_id,
        min(n.seq) FILTER (
            n.is_residual AND n.residual_nth = 1 AND u.usual_residuals > 1
        ) AS ffn_residual,
        min(n.seq) FILTER (n.is_residual AND n.residual_nth = u.usual_residuals)
            AS final_residual,
        min(n.seq) FILTER (NOT n.is_residual AND n.residual_nth > 0) AS final_norm,
        min(n.seq) FILTER (n.norm_nth = coalesce(u.usual_norms, 2) // 2) AS ffn_norm,
        min(n.seq) FILTER (n.norm_nth = coalesce(u.usual_norms, 2)) AS last_norm,
        any_value(u.usual_residuals) AS usual_residuals
    FROM ended AS e
    LEFT JOIN usual AS u ON u.trace_id = e.trace_id AND u.device = e.device
    JOIN _ascend_norms AS n
        ON n.trace_id = e.trace_id AND n.device = e.device AND n.stretch = e.after_it
        AND n.seq <= e.end_seq
    GROUP BY e.trace_id, e.device, e.run_id
),
closed AS (
    SELECT
        e.*,
        CASE WHEN f.usual_residuals > 0 THEN f.ffn_residual ELSE f.ffn_norm END AS ffn_seq,
        coalesce(
            CASE
                WHEN f.usual_residuals > 0 THEN coalesce(f.final_residual, f.final_norm)
                ELSE f.last_norm
            END, e.send_seq
        ) AS tail_seq
    FROM ended AS e
    LEFT JOIN finals AS f
        ON f.trace_id = e.trace_id AND f.device = e.device AND f.run_id = e.run_id
)
SELECT
    trace_id, rank, device, run_id, pass_id, start_seq,
    coalesce(
        CASE WHEN opener >= start_seq THEN opener END,
        CASE WHEN is_at_edge THEN start_seq ELSE first_anchor END
    ) AS layer_seq,
    ffn_seq, tail_seq, end_seq, is_at_edge AND opener IS NULL AS is_begun,
    coalesce(
        may_be_cut AND tail_seq IS NULL
        AND bool_or(tail_seq IS NOT NULL) OVER (PARTITION BY trace_id, device), FALSE
    ) AS is_ended
FROM closed;
