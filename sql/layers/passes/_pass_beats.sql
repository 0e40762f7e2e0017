-- One row per beat and mark of pass_marks that occurs on the device, and how often it occurs there.
-- The step of a beat is the host's step that launched its attention, else the device's annotation
-- that it runs in.
CREATE VIEW _beat_marks AS
WITH heard AS (
    SELECT
        *,
        start_ns - max(end_ns) OVER (
            PARTITION BY trace_id, series, device ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS idle_ns
    FROM _beats
),
attentions AS (
    SELECT
        trace_id, series, device, beat, start_ns, issued_ns, graph_id, call_ns,
        -- NULL if the host does not show it.
        CASE WHEN issued_ns IS NOT NULL THEN b.kernel_id IS NOT NULL END AS is_backward
    FROM heard
    LEFT JOIN _backward_launches AS b USING (trace_id, kernel_id)
    WHERE begins_beat
),
-- Exchanges between pipeline stages run on a stream of their own: each belongs to the beat in which
-- it was launched, else started.
orders AS (
    SELECT
        trace_id, device, bool_and(issued_ns IS NOT NULL AND graph_id IS NULL) AS by_launch
    FROM attentions
    GROUP BY trace_id, device
    HAVING count(DISTINCT series) = 1
),
exchanges AS (
    SELECT
        k.trace_id, k.device, CASE WHEN o.by_launch THEN k.issued_ns ELSE k.start_ns END AS at_ns
    FROM kernels AS k
    JOIN orders AS o ON o.trace_id = k.trace_id AND o.device = k.device
    WHERE k.kind = 'communication' AND contains(k.name, 'SendRecv')
),
begun AS (
    SELECT
        a.trace_id, a.series, a.device, a.beat,
        CASE WHEN o.by_launch THEN a.issued_ns ELSE a.start_ns END AS at_ns
    FROM attentions AS a
    JOIN orders AS o ON o.trace_id = a.trace_id AND o.device = a.device
),
-- Beats in which a backward function launches something.
reversals AS (
    SELECT DISTINCT trace_id, series, device, beat
    FROM heard
    SEMI JOIN _backward_launches USING (trace_id, kernel_id)
),
pauses AS (
    SELECT trace_id, series, device, beat, max(idle_ns) AS pause_ns
    FROM heard
    GROUP BY trace_id, series, device, beat
),
on_device AS (
    SELECT
        a.trace_id, a.series, a.device, a.beat, a.issued_ns, a.graph_id,
        a.call_ns, a.is_backward,
        CASE WHEN a.start_ns < s.end_ns THEN s.start_ns END AS step_ns
    FROM attentions AS a
    ASOF LEFT JOIN (
        SELECT trace_id, device, start_ns, max(end_ns) AS end_ns
        FROM _steps
        WHERE device IS NOT NULL
        GROUP BY trace_id, device, start_ns
    ) AS s
        ON s.trace_id = a.trace_id AND s.device = a.device AND s.start_ns <= a.start_ns
),
turns AS (
    SELECT
        d.trace_id, d.series, d.device, d.beat, d.graph_id,
        lead(d.graph_id) OVER lane AS next_graph_id, d.call_ns,
        lead(d.call_ns) OVER lane AS next_call_ns,
        -- A forward attention is also followed by another pass if a backward one runs before the
        -- next attention.
        d.is_backward <> lead(d.is_backward) OVER lane
        OR (r.beat IS NOT NULL AND NOT d.is_backward) AS is_turn,
        coalesce(CASE WHEN d.issued_ns < s.end_ns THEN s.start_ns END, d.step_ns) AS step_ns,
        lead(coalesce(CASE WHEN d.issued_ns < s.end_ns THEN s.start_ns END, d.step_ns)) OVER lane
            AS next_step_ns
    FROM on_device AS d
    ASOF LEFT JOIN _host_steps AS s
        ON s.trace_id = d.trace_id AND s.start_ns <= d.issued_ns
    LEFT JOIN reversals AS r
        ON r.trace_id = d.trace_id AND r.series = d.series AND r.device = d.device
        AND r.beat = d.beat
    WINDOW lane AS (PARTITION BY d.trace_id, d.series, d.device ORDER BY d.beat)
),
found AS (
    SELECT trace_id, series, device, beat, category AS mark, count(*) AS mark_count
    FROM heard
    GROUP BY trace_id, series, device, beat, category
    UNION ALL
    -- A DeepSeek profile has categories only for kernels of layers.
    SELECT trace_id, series, device, beat, word, count(*)
    FROM heard
    JOIN (VALUES ('embedding'), ('sampling')) AS words (word) ON contains(lower(name), word)
    WHERE category = 'other'
    GROUP BY trace_id, series, device, beat, word
    UNION ALL
    SELECT trace_id, series, device, beat, 'lookup', count(*)
    FROM heard
    SEMI JOIN _token_lookups USING (trace_id, kernel_id)
    GROUP BY trace_id, series, device, beat
    UNION ALL
    SELECT b.trace_id, b.series, b.device, b.beat, 'exchange', count(*)
    FROM exchanges AS e
    ASOF JOIN begun AS b
        ON b.trace_id = e.trace_id AND b.device = e.device AND b.at_ns <= e.at_ns
    GROUP BY b.trace_id, b.series, b.device, b.beat
    UNION ALL
    SELECT trace_id, series, device, beat, 'graph', 1
    FROM turns
    WHERE graph_id <> next_graph_id
    UNION ALL
    SELECT trace_id, series, device, beat, 'call', 1
    FROM turns
    WHERE call_ns <> next_call_ns
    UNION ALL
    SELECT trace_id, series, device, beat, 'direction', 1
    FROM turns
    WHERE is_turn
    UNION ALL
    SELECT trace_id, series, device, beat, 'step', 1
    FROM turns
    WHERE next_step_ns IS NOT NULL AND step_ns IS DISTINCT FROM next_step_ns
    UNION ALL
    SELECT trace_id, series, device, beat, 'pause', 1
    FROM pauses
    QUALIFY pause_ns > 20000 + 4 * median(pause_ns) OVER (PARTITION BY trace_id, series, device)
)
SELECT f.trace_id, f.series, f.device, f.beat, f.mark, f.mark_count
FROM found AS f
JOIN pass_marks AS m ON m.mark = f.mark;

-- One row per beat of a device with attention, and the evidence that another pass follows it.
-- Between two passes there are more of pass_marks than between two layers: a beat is a break if the
-- marks that it has more often than usual weigh at least 4, and half as much as the heaviest beat's
-- (without those of steps) unless one of them is sure, or they are a gather, a product and a
-- softmax or a choice within a graph, where neither calls nor other graphs weigh (drafts in a
-- chain); or if tokens enter or are drawn, or a pipeline stage receives and sends, at regular
-- intervals. Some layers of a pass may have more of some marks than others, such as those with
-- experts: if the other breaks divide the beats evenly, a beat with only such marks is no break.
--
-- trace_id          VARCHAR  trace
-- series            VARCHAR  the model, empty where the host shows one alone or none
-- device            INTEGER  device
-- beat              BIGINT   beat, from 1; 0 before the first attention
-- last_beat         BIGINT   the last beat of the device
-- stream            BIGINT   stream that was analysed
-- start_ns          BIGINT   start of its first attention, NULL in beat 0
-- name              VARCHAR  name of that attention
-- is_linear         BOOLEAN  it is linear attention, a state-space model among them
-- has_feed_forward  BOOLEAN  a feed-forward follows the attention: its activation, or a choice of
--                            experts
-- weight            DOUBLE   weight of the marks that it has more often than usual
-- is_sure           BOOLEAN  one of these happens once per pass: tokens that enter or are drawn, a
--                            loss, another call, graph or step, or autograd begins or ends to run
--                            backward
-- is_step           BOOLEAN  another step annotation follows
-- is_call           BOOLEAN  another call of the model follows
-- lacks_product     BOOLEAN  it has fewer matrix products than usual
-- is_strange        BOOLEAN  it has a kernel that no beat within a pass has
-- is_break          BOOLEAN  another pass begins after it
-- is_stepped        BOOLEAN  one step of the host launched all that the model runs; nothing runs
--                            backward
CREATE VIEW _pass_beats AS
WITH beats AS (
    SELECT
        trace_id, series, device, beat, any_value(stream) AS stream,
        min(start_ns) FILTER (begins_beat) AS start_ns,
        any_value(name) FILTER (begins_beat) AS name,
        coalesce(bool_or(begins_beat AND category = 'linear_attention'), FALSE) AS is_linear,
        any_value(graph_id) FILTER (begins_beat) AS graph_id,
        min(issued_ns) AS first_ns, max(issued_ns) AS last_ns,
        count(*) = count(issued_ns) AS is_issued,
        bool_or(category IN ('activation', 'moe', 'moe_routing')) AS has_feed_forward
    FROM _beats
    GROUP BY trace_id, series, device, beat
),
grid AS (
    SELECT
        b.trace_id, b.series, b.device, b.beat, m.mark, m.weight, m.in_layers,
        coalesce(c.mark_count, 0) AS mark_count, b.graph_id,
        max(b.beat) OVER (PARTITION BY b.trace_id, b.series, b.device) AS last_beat
    FROM beats AS b
    CROSS JOIN pass_marks AS m
    LEFT JOIN _beat_marks AS c
        ON c.trace_id = b.trace_id
        AND c.series = b.series
        AND c.device = b.device
        AND c.beat = b.beat
        AND c.mark = m.mark
),
excess AS (
    SELECT
        *,
        quantile_disc(mark_count, 0.5) FILTER (beat BETWEEN 1 AND last_beat - 1) OVER (
            PARTITION BY trace_id, series, device, mark
        ) AS usual_count
    FROM grid
),
weighed AS (
    SELECT
        trace_id, series, device, beat, any_value(last_beat) AS last_beat,
        coalesce(sum(weight) FILTER (mark_count > usual_count), 0) AS weight,
        -- What the host calls a step is no measure of how much the kernels show.
        coalesce(sum(weight) FILTER (mark_count > usual_count AND mark <> 'step'), 0)
            AS shown_weight,
        bool_or(mark_count > usual_count AND weight >= 3) AS is_sure,
        bool_or(mark_count > usual_count AND NOT in_layers) AS is_strong,
        bool_or(
            mark_count > usual_count AND mark IN ('embedding', 'lookup', 'sampling')
        ) AS has_tokens,
        bool_or(mark_count > usual_count AND mark = 'exchange') AS has_exchange,
        bool_or(mark_count > usual_count AND weight >= 3 AND mark <> 'step') AS is_bound,
        bool_or(mark_count > usual_count AND mark IN ('index', 'embedding'))
            AND bool_or(mark_count > usual_count AND starts_with(mark, 'gemm'))
            AND bool_or(
                mark_count > usual_count AND mark IN ('softmax', 'reduce', 'sort', 'sampling')
            ) AS is_drawn,
        any_value(graph_id) AS graph_id,
        bool_or(mark_count > usual_count AND mark = 'step') AS is_step,
        bool_or(mark_count > usual_count AND mark = 'call') AS is_call,
        bool_or(mark_count < usual_count AND starts_with(mark, 'gemm')) AS lacks_product
    FROM excess
    GROUP BY trace_id, series, device, beat
),
-- If tokens enter or are drawn at a constant distance in beats throughout, that is enough: the
-- first stage of a pipeline shows nothing more. A stage between others shows what it receives and
-- sends, and nothing else that happens once per pass.
telling AS (
    SELECT
        trace_id, series, device, beat, last_beat, is_exchange,
        CASE WHEN is_exchange THEN has_exchange ELSE has_tokens END AS tells,
        NOT (is_exchange AND bool_or(is_bound OR has_tokens) OVER (
            PARTITION BY trace_id, series, device
        )) AS may_tell
    FROM weighed
    CROSS JOIN (VALUES (FALSE), (TRUE)) AS kinds (is_exchange)
    WHERE beat BETWEEN 1 AND last_beat - 1
),
regular AS (
    SELECT trace_id, series, device, is_exchange
    FROM (
        SELECT
            trace_id, series, device, beat, last_beat, is_exchange,
            beat - lag(beat) OVER (
                PARTITION BY trace_id, series, device, is_exchange ORDER BY beat
            ) AS distance
        FROM telling
        WHERE tells AND may_tell
    )
    GROUP BY trace_id, series, device, is_exchange
    HAVING
        count(*) >= 3 AND min(distance) = max(distance) AND min(distance) > 1
        AND min(beat) <= min(distance) AND max(last_beat) - max(beat) <= min(distance)
),
judged AS (
    SELECT
        w.* EXCLUDE (has_tokens, has_exchange, is_bound, is_drawn, graph_id, shown_weight)
            REPLACE (is_strong OR coalesce(r.is_exchange AND has_exchange, FALSE) AS is_strong),
        beat BETWEEN 1 AND last_beat - 1 AS is_inner,
        beat BETWEEN 1 AND last_beat - 1 AND (
            coalesce(CASE WHEN r.is_exchange THEN has_exchange ELSE has_tokens END, FALSE)
            AND r.trace_id IS NOT NULL
            OR weight >= 4 AND (
                is_sure
                OR (is_drawn AND coalesce(graph_id = lead(graph_id) OVER in_time, FALSE))
                OR shown_weight >= max(shown_weight)
                    FILTER (beat BETWEEN 1 AND last_beat - 1) OVER lane / 2
            )
        ) AS may_break
    FROM weighed AS w
    LEFT JOIN regular AS r
        ON r.trace_id = w.trace_id AND r.series = w.series AND r.device = w.device
    WINDOW
        lane AS (PARTITION BY w.trace_id, w.series, w.device),
        in_time AS (PARTITION BY w.trace_id, w.series, w.device ORDER BY w.beat)
),
lanes AS (
    SELECT
        trace_id, series, device, any_value(last_beat) AS beats,
        bool_or(NOT is_inner AND is_sure) AS has_sure_edge,
        coalesce(list(beat ORDER BY beat) FILTER (may_break AND is_strong), []) AS breaks
    FROM judged
    GROUP BY trace_id, series, device
    HAVING bool_or(may_break AND NOT is_strong)
),
even AS (
    SELECT trace_id, series, device
    FROM (
        SELECT
            *,
            CASE
                WHEN len(breaks) > 1
                    THEN list_mode([breaks[n + 1] - breaks[n] FOR n IN range(1, len(breaks))])
                WHEN len(breaks) = 1 THEN beats / 2
                WHEN has_sure_edge THEN beats
            END AS length
        FROM lanes
    )
    WHERE
        coalesce(breaks[1], 0) <= length AND beats - coalesce(breaks[-1], 0) <= length
        AND len([n FOR n IN breaks IF (n - breaks[1]) % length <> 0]) = 0
),
broken AS (
    SELECT
        j.* EXCLUDE (may_break, is_strong),
        j.may_break AND (j.is_strong OR e.trace_id IS NULL) AS is_break
    FROM judged AS j
    LEFT JOIN even AS e
        ON e.trace_id = j.trace_id AND e.series = j.series AND e.device = j.device
),
-- A capture that begins or ends within a pass shows no step around all of it. A step of training
-- has more than its forward pass.
stepped AS (
    SELECT b.trace_id, b.series, b.device
    FROM (
        SELECT trace_id, series, device, min(first_ns) AS first_ns, max(last_ns) AS last_ns
        FROM beats
        GROUP BY trace_id, series, device
        HAVING bool_and(is_issued)
    ) AS b
    SEMI JOIN _host_steps AS s
        ON s.trace_id = b.trace_id AND s.start_ns <= b.first_ns AND s.end_ns > b.last_ns
    ANTI JOIN _backward_launches AS r ON r.trace_id = b.trace_id
),
-- Kernel names that no beat within a pass has show the first and last beats of passes.
strangers AS (
    SELECT DISTINCT trace_id, series, device, beat
    FROM (
        SELECT j.trace_id, j.series, j.device, j.beat
        FROM (SELECT DISTINCT trace_id, series, device, beat, name FROM _beats) AS b
        JOIN broken AS j
            ON j.trace_id = b.trace_id
            AND j.series = b.series
            AND j.device = b.device
            AND j.beat = b.beat
        QUALIFY NOT bool_or(j.is_inner AND NOT j.is_break) OVER (
            PARTITION BY j.trace_id, j.series, j.device, b.name
        )
    )
)
SELECT
    j.trace_id, j.series, j.device, j.beat, j.last_beat, b.stream, b.start_ns, b.name,
    b.is_linear, b.has_feed_forward, j.weight, j.is_sure, j.is_step, j.is_call, j.lacks_product,
    s.trace_id IS NOT NULL AS is_strange, j.is_break, w.trace_id IS NOT NULL AS is_stepped
FROM broken AS j
JOIN beats AS b
    ON b.trace_id = j.trace_id AND b.series = j.series AND b.device = j.device
    AND b.beat = j.beat
LEFT JOIN strangers AS s
    ON s.trace_id = j.trace_id AND s.series = j.series AND s.device = j.device
    AND s.beat = j.beat
LEFT JOIN stepped AS w
    ON w.trace_id = j.trace_id AND w.series = j.series AND w.device = j.device;
