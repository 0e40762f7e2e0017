-- One row per trace, rank and device with attention: how many layers a pass has and where passes
-- begin, told by the kernels alone. Between two passes there is more of pass_marks than between two
-- layers; the layers of a pass are the beats from one such break to the next. All breaks must agree
-- on one number. Without a break there is one pass, if its beginning or its end bears a mark. Where
-- attention runs backward too, beats are no layers.
--
-- Materialised per trace.
--
-- trace_id         VARCHAR   trace
-- rank             INTEGER   rank in the job, NULL when unknown
-- device           INTEGER   device
-- stream           BIGINT    stream that was listened to
-- attention_names  VARCHAR[] names of the kernels that begin a beat
-- beats            BIGINT    beats
-- breaks           BIGINT[]  beats after which another pass begins
-- num_layers       INTEGER   layers of a pass, NULL where the breaks do not agree
-- break_ns         BIGINT    start of the first attention after the first break
-- pass_source      VARCHAR   step annotations, signature break or anchor count
CREATE VIEW _pass_rhythms AS
WITH beats AS (
    SELECT
        trace_id, rank, device, beat, any_value(stream) AS stream,
        min(start_ns) FILTER (begins_beat) AS start_ns,
        any_value(name) FILTER (begins_beat) AS name,
        bool_or(natural_role = 'inside' AND regexp_matches(name, '(?i)bwd|backward|grad'))
            AS is_backward
    FROM _beats
    GROUP BY trace_id, rank, device, beat
),
grid AS (
    SELECT
        b.trace_id, b.rank, b.device, b.beat, m.mark, coalesce(c.mark_count, 0) AS mark_count,
        max(b.beat) OVER (PARTITION BY b.trace_id, b.rank, b.device) AS last_beat
    FROM beats AS b
    CROSS JOIN pass_marks AS m
    LEFT JOIN _beat_marks AS c
        ON c.trace_id = b.trace_id
        AND c.rank IS NOT DISTINCT FROM b.rank
        AND c.device IS NOT DISTINCT FROM b.device
        AND c.beat = b.beat
        AND c.mark = m.mark
),
excess AS (
    SELECT
        *,
        mark_count > quantile_disc(mark_count, 0.5) FILTER (beat BETWEEN 1 AND last_beat - 1) OVER (
            PARTITION BY trace_id, rank, device, mark
        ) AS is_more
    FROM grid
),
weighed AS (
    SELECT
        e.trace_id, e.rank, e.device, e.beat, any_value(e.last_beat) AS last_beat,
        coalesce(sum(m.weight) FILTER (e.is_more), 0) AS weight,
        bool_or(e.is_more AND e.mark = 'step') AS is_step
    FROM excess AS e
    JOIN pass_marks AS m ON m.mark = e.mark
    GROUP BY e.trace_id, e.rank, e.device, e.beat
),
judged AS (
    SELECT
        *, beat BETWEEN 1 AND last_beat - 1 AS is_inner,
        beat BETWEEN 1 AND last_beat - 1 AND weight >= greatest(
            4, max(weight) FILTER (beat BETWEEN 1 AND last_beat - 1) OVER lane / 2
        ) AS is_break
    FROM weighed
    WINDOW lane AS (PARTITION BY trace_id, rank, device)
),
gathered AS (
    SELECT
        trace_id, rank, device, any_value(last_beat) AS beats,
        coalesce(list(beat ORDER BY beat) FILTER (is_break), []) AS breaks,
        coalesce(bool_and(is_step) FILTER (is_break), FALSE) AS are_steps,
        coalesce(bool_or(weight > 0) FILTER (beat = 0), FALSE) AS has_beginning,
        bool_or(weight > 0) FILTER (NOT is_inner) AS has_edge
    FROM judged
    GROUP BY trace_id, rank, device
),
sized AS (
    SELECT
        *,
        CASE len(breaks)
            WHEN 0 THEN CASE WHEN has_edge THEN beats END
            WHEN 1 THEN CASE
                WHEN has_beginning OR 2 * breaks[1] <= beats THEN
                    greatest(breaks[1], beats - breaks[1])
            END
            ELSE list_mode([breaks[n + 1] - breaks[n] FOR n IN range(1, len(breaks))])
        END AS num_layers
    FROM gathered
)
SELECT
    s.trace_id, s.rank, s.device, any_value(b.stream) AS stream,
    list(DISTINCT b.name ORDER BY b.name) FILTER (b.name IS NOT NULL) AS attention_names,
    any_value(s.beats) AS beats, any_value(s.breaks) AS breaks,
    CASE
        WHEN
            any_value(s.num_layers) > 1 AND NOT bool_or(b.is_backward)
            AND coalesce(any_value(s.breaks)[1], 0) <= any_value(s.num_layers)
            AND any_value(s.beats) - coalesce(any_value(s.breaks)[-1], 0)
                <= any_value(s.num_layers)
            AND len([n FOR n IN any_value(s.breaks)
                IF (n - any_value(s.breaks)[1]) % any_value(s.num_layers) <> 0]) = 0
            THEN CAST(any_value(s.num_layers) AS INTEGER)
    END AS num_layers,
    min(b.start_ns) FILTER (b.beat > s.breaks[1]) AS break_ns,
    CASE
        WHEN len(any_value(s.breaks)) = 0 THEN 'anchor count'
        WHEN bool_or(s.are_steps) THEN 'step annotations'
        ELSE 'signature break'
    END AS pass_source
FROM sized AS s
JOIN beats AS b
    ON b.trace_id = s.trace_id
    AND b.rank IS NOT DISTINCT FROM s.rank
    AND b.device IS NOT DISTINCT FROM s.device
GROUP BY s.trace_id, s.rank, s.device;
