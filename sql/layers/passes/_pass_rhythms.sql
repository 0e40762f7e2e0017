-- One row per beat and mark of pass_marks that occurs on the device, and how often it occurs there.
-- The step of a beat is the one of the host that its attention was launched from, else the
-- annotation of the device that it runs in.
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
    SELECT trace_id, series, device, beat, start_ns, launch_ns, graph_id, call_ns
    FROM heard
    WHERE begins_beat
),
pauses AS (
    SELECT trace_id, series, device, beat, max(idle_ns) AS pause_ns
    FROM heard
    GROUP BY trace_id, series, device, beat
),
on_device AS (
    SELECT
        a.trace_id, a.series, a.device, a.beat, a.launch_ns, a.graph_id,
        a.call_ns,
        CASE WHEN a.start_ns < s.end_ns THEN s.start_ns END AS step_ns
    FROM attentions AS a
    ASOF LEFT JOIN (SELECT * FROM _steps WHERE device IS NOT NULL) AS s
        ON s.trace_id = a.trace_id AND s.device = a.device AND s.start_ns <= a.start_ns
),
turns AS (
    SELECT
        d.trace_id, d.series, d.device, d.beat, d.graph_id,
        lead(d.graph_id) OVER lane AS next_graph_id, d.call_ns,
        lead(d.call_ns) OVER lane AS next_call_ns,
        coalesce(CASE WHEN d.launch_ns < s.end_ns THEN s.start_ns END, d.step_ns) AS step_ns,
        lead(coalesce(CASE WHEN d.launch_ns < s.end_ns THEN s.start_ns END, d.step_ns)) OVER lane
            AS next_step_ns
    FROM on_device AS d
    ASOF LEFT JOIN (SELECT * FROM _steps WHERE device IS NULL) AS s
        ON s.trace_id = d.trace_id AND s.start_ns <= d.launch_ns
    WINDOW lane AS (PARTITION BY d.trace_id, d.series, d.device ORDER BY d.beat)
),
found AS (
    SELECT trace_id, series, device, beat, category AS mark, count(*) AS mark_count
    FROM heard
    GROUP BY trace_id, series, device, beat, category
    UNION ALL
    SELECT trace_id, series, device, beat, 'graph', 1
    FROM turns
    WHERE graph_id <> next_graph_id
    UNION ALL
    SELECT trace_id, series, device, beat, 'call', 1
    FROM turns
    WHERE call_ns <> next_call_ns
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

-- One row per trace, rank and device with attention: how many layers a pass has and where passes
-- begin, by the kernels alone. Between two passes there is more of pass_marks than between two
-- layers; the layers of a pass are the beats from one such break to the next. All breaks must agree
-- on one number. With one break or none, the length of a pass is known only where the capture shows
-- its beginning and its end: kernels there that no layer has, or after the last layer no product
-- for the next; or where two calls of the model have as many beats. Where attention runs backward
-- too, beats are no layers.
--
-- stored: per trace
--
-- trace_id         VARCHAR   trace
-- series           VARCHAR   the model, empty where the trace has one alone
-- device           INTEGER   device
-- stream           BIGINT    stream that was listened to
-- attention_names  VARCHAR[] names of the kernels that begin a beat
-- beats            BIGINT    beats
-- breaks           BIGINT[]  beats after which another pass begins
-- num_layers       INTEGER   layers of a pass, NULL if the breaks do not agree
-- break_ns         BIGINT    start of the first attention after the first break
-- last_ns          BIGINT    start of the last attention before it
-- is_vague         BOOLEAN   the capture may end within a pass and hide that it is longer
-- is_sure          BOOLEAN   each of two breaks or more has what happens once per pass: tokens that
--                            enter or are drawn, a loss, another call, graph or step
-- pass_source      VARCHAR   module calls, step annotations, signature break or anchor count
CREATE VIEW _pass_rhythms AS
WITH beats AS (
    SELECT
        trace_id, series, device, beat, any_value(stream) AS stream,
        min(start_ns) FILTER (begins_beat) AS start_ns,
        any_value(name) FILTER (begins_beat) AS name,
        bool_or(natural_role = 'inside' AND regexp_matches(name, '(?i)bwd|backward|grad'))
            AS is_backward
    FROM _beats
    GROUP BY trace_id, series, device, beat
),
grid AS (
    SELECT
        b.trace_id, b.series, b.device, b.beat, m.mark, coalesce(c.mark_count, 0) AS mark_count,
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
        e.trace_id, e.series, e.device, e.beat, any_value(e.last_beat) AS last_beat,
        coalesce(sum(m.weight) FILTER (e.mark_count > e.usual_count), 0) AS weight,
        bool_or(e.mark_count > e.usual_count AND m.weight >= 3) AS is_sure,
        bool_or(e.mark_count > e.usual_count AND e.mark = 'step') AS is_step,
        bool_or(e.mark_count > e.usual_count AND e.mark = 'call') AS is_call,
        bool_or(e.mark_count < e.usual_count AND starts_with(e.mark, 'gemm')) AS lacks_product
    FROM excess AS e
    JOIN pass_marks AS m ON m.mark = e.mark
    GROUP BY e.trace_id, e.series, e.device, e.beat
),
judged AS (
    SELECT
        *, beat BETWEEN 1 AND last_beat - 1 AS is_inner,
        beat BETWEEN 1 AND last_beat - 1 AND weight >= greatest(
            4, max(weight) FILTER (beat BETWEEN 1 AND last_beat - 1) OVER lane / 2
        ) AS is_break
    FROM weighed
    WINDOW lane AS (PARTITION BY trace_id, series, device)
),
-- Of all beats the first and the last may hold kernels that the layers between have not.
strangers AS (
    SELECT j.trace_id, j.series, j.device, j.beat
    FROM (SELECT DISTINCT trace_id, series, device, beat, name FROM _beats) AS b
    JOIN judged AS j
        ON j.trace_id = b.trace_id
        AND j.series = b.series
        AND j.device = b.device
        AND j.beat = b.beat
    QUALIFY NOT bool_or(j.is_inner AND NOT j.is_break) OVER (
        PARTITION BY j.trace_id, j.series, j.device, b.name
    )
),
edges AS (
    SELECT
        j.trace_id, j.series, j.device, bool_or(j.beat = 0 AND s.beat = 0) AS has_beginning,
        bool_or(j.beat = j.last_beat AND (s.beat IS NOT NULL OR j.lacks_product)) AS has_end,
        NOT bool_or(j.beat = j.last_beat AND s.beat IS NOT NULL) AS may_go_on
    FROM judged AS j
    LEFT JOIN strangers AS s
        ON s.trace_id = j.trace_id
        AND s.series = j.series
        AND s.device = j.device
        AND s.beat = j.beat
    GROUP BY j.trace_id, j.series, j.device
),
gathered AS (
    SELECT
        trace_id, series, device, any_value(last_beat) AS beats,
        coalesce(list(beat ORDER BY beat) FILTER (is_break), []) AS breaks,
        coalesce(bool_and(is_sure) FILTER (is_break), FALSE) AS are_sure,
        coalesce(bool_and(is_step) FILTER (is_break), FALSE) AS are_steps,
        coalesce(bool_and(is_call) FILTER (is_break), FALSE) AS are_calls
    FROM judged
    GROUP BY trace_id, series, device
),
sized AS (
    SELECT
        g.*,
        CASE len(g.breaks)
            WHEN 0 THEN CASE WHEN e.has_beginning AND e.has_end THEN g.beats END
            WHEN 1 THEN CASE
                WHEN e.has_beginning OR (g.are_calls AND 2 * g.breaks[1] = g.beats)
                    THEN g.breaks[1]
                WHEN e.has_end AND 2 * g.breaks[1] <= g.beats THEN g.beats - g.breaks[1]
            END
            ELSE list_mode(list_sort(
                [g.breaks[n + 1] - g.breaks[n] FOR n IN range(1, len(g.breaks))]
            ))
        END AS num_layers,
        CASE len(g.breaks)
            WHEN 0 THEN e.may_go_on
            WHEN 1 THEN e.may_go_on AND NOT e.has_beginning AND NOT g.are_calls
            ELSE FALSE
        END AS is_vague
    FROM gathered AS g
    JOIN edges AS e
        ON e.trace_id = g.trace_id
        AND e.series = g.series
        AND e.device = g.device
)
SELECT
    s.trace_id, s.series, s.device, any_value(b.stream) AS stream,
    list(DISTINCT b.name ORDER BY b.name) FILTER (b.name IS NOT NULL) AS attention_names,
    any_value(s.beats) AS beats, any_value(s.breaks) AS breaks,
    CASE
        WHEN
            any_value(s.num_layers) > 1 AND NOT bool_or(b.is_backward)
            -- Where compilers name each kernel apart, names do not help.
            AND 2 * count(DISTINCT b.name) <= any_value(s.beats)
            AND coalesce(any_value(s.breaks)[1], 0) <= any_value(s.num_layers)
            AND any_value(s.beats) - coalesce(any_value(s.breaks)[-1], 0)
                <= any_value(s.num_layers)
            AND len([n FOR n IN any_value(s.breaks)
                IF (n - any_value(s.breaks)[1]) % any_value(s.num_layers) <> 0]) = 0
            THEN CAST(any_value(s.num_layers) AS INTEGER)
    END AS num_layers,
    min(b.start_ns) FILTER (b.beat > s.breaks[1]) AS break_ns,
    max(b.start_ns) FILTER (b.beat <= s.breaks[1]) AS last_ns,
    any_value(s.is_vague) AS is_vague,
    bool_or(s.are_sure) AND len(any_value(s.breaks)) > 1 AS is_sure,
    CASE
        WHEN len(any_value(s.breaks)) = 0 THEN 'anchor count'
        WHEN bool_or(s.are_calls) THEN 'module calls'
        WHEN bool_or(s.are_steps) THEN 'step annotations'
        ELSE 'signature break'
    END AS pass_source
FROM sized AS s
JOIN beats AS b
    ON b.trace_id = s.trace_id
    AND b.series = s.series
    AND b.device = s.device
GROUP BY s.trace_id, s.series, s.device;
