-- One row per trace, model and device with attention: how many layers a pass has and where passes
-- begin, by the kernels alone. The layers of a pass are the beats from one break to the next. All
-- breaks must agree on one number, for each of the models that take turns. With at most one break,
-- the length of a pass is known only if the capture shows its beginning and its end, by kernels
-- that no layer has or by a product that the last beat lacks; or if a step of the host, without a
-- backward pass, launched all of a single pass; or if two calls of the model, or the two passes of
-- such a step, have equally many beats.
-- If a layer has two attentions, beats are counted in pairs.
--
-- stored: per trace
--
-- trace_id         VARCHAR   trace
-- series           VARCHAR   the model, empty if the trace has only one
-- device           INTEGER   device
-- stream           BIGINT    stream that was analysed
-- attention_names  VARCHAR[] names of the kernels that begin a beat
-- attentions       INTEGER   attentions of a layer, 1 or 2
-- beats            BIGINT    beats
-- breaks           BIGINT[]  beats after which another pass begins
-- marked_beats     BIGINT[]  other beats but the first and last that have marks more than usual
-- num_layers       INTEGER   layers of a pass, NULL if the breaks do not agree
-- lone_layers      INTEGER   layers of a pass if each attention and each feed-forward is one: only
--                            some linear attentions have a feed-forward behind them; else NULL, as
--                            where the capture begins within a pass
-- break_ns         BIGINT    start of the first attention after the first break
-- last_ns          BIGINT    start of the last attention before it
-- is_vague         BOOLEAN   the capture may end within a pass and hide that it is longer
-- is_sure          BOOLEAN   each of two breaks or more has what happens once per pass, see
--                            _pass_beats
-- pass_source      VARCHAR   module calls, step annotations, signature break or anchor count
CREATE VIEW _pass_rhythms AS
WITH turns AS (
    SELECT
        b.trace_id, coalesce(t.series, b.series) AS series, b.device, b.stream, b.start_ns, b.name,
        b.weight, b.is_linear, b.has_feed_forward, b.is_sure, b.is_step, b.is_call, b.lacks_product,
        b.is_strange, b.is_stepped,
        t.trace_id IS NOT NULL AS takes_turns, b.beat - coalesce(t.beats_skipped, 0) AS beat,
        coalesce(t.beats, b.last_beat) AS last_beat,
        CASE
            WHEN t.trace_id IS NULL THEN b.is_break ELSE b.beat = t.last_beat AND NOT t.is_last
        END AS is_break
    FROM _pass_beats AS b
    ASOF LEFT JOIN _model_turns AS t
        ON t.trace_id = b.trace_id AND t.shown_series = b.series AND t.device = b.device
        AND t.first_beat <= b.beat
    WHERE t.trace_id IS NULL OR t.series IS NOT NULL
),
-- A decoder layer that also attends to an encoder has two attentions, followed by its feed-forward:
-- two beats are one layer there. Of micro-batches that take turns, each chooses experts.
paired AS (
    SELECT *, CAST(is_paired AS INTEGER) + 1 AS attentions
    FROM (
        SELECT
            *,
            bool_and(has_feed_forward = (beat % 2 = 0)) FILTER (beat > 0) OVER lane
                AND bool_and(beat % 2 = 0) FILTER (is_break OR beat = last_beat) OVER lane
                AS is_paired
        FROM turns
        WINDOW lane AS (PARTITION BY trace_id, series, device)
    )
),
played AS (
    SELECT
        * REPLACE (
            (beat + attentions - 1) // attentions AS beat, last_beat // attentions AS last_beat
        ),
        (beat - 1) % attentions = 0 AS is_first
    FROM paired
),
gathered AS (
    SELECT
        trace_id, series, device, any_value(last_beat) AS beats,
        bool_or(takes_turns) AS takes_turns,
        coalesce(list(beat ORDER BY beat) FILTER (is_break), []) AS breaks,
        coalesce(list(DISTINCT beat ORDER BY beat) FILTER (
            NOT is_break AND weight > 0 AND beat BETWEEN 1 AND last_beat - 1
        ), []) AS marked_beats,
        coalesce(bool_and(is_sure) FILTER (is_break), FALSE) AS are_sure,
        coalesce(bool_and(is_step) FILTER (is_break), FALSE) AS are_steps,
        coalesce(bool_and(is_call) FILTER (is_break), FALSE) AS are_calls,
        bool_or(is_stepped) AS is_stepped,
        bool_or(takes_turns OR (beat = 0 AND is_strange)) AS has_beginning,
        bool_or(takes_turns OR (beat = last_beat AND (is_strange OR lacks_product))) AS has_end,
        NOT bool_or(takes_turns OR is_stepped OR (beat = last_beat AND is_strange)) AS may_go_on,
        CASE
            WHEN
                max(attentions) = 1 AND bool_or(is_linear AND has_feed_forward)
                AND bool_or(is_linear AND NOT has_feed_forward)
                THEN list(beat) FILTER (has_feed_forward AND beat > 0)
        END AS fed_beats
    FROM played
    GROUP BY trace_id, series, device
),
sized AS (
    SELECT
        *,
        CASE len(breaks)
            WHEN 0 THEN CASE WHEN is_stepped OR (has_beginning AND has_end) THEN beats END
            WHEN 1 THEN CASE
                WHEN has_beginning OR ((are_calls OR is_stepped) AND 2 * breaks[1] = beats)
                    THEN breaks[1]
                WHEN has_end AND 2 * breaks[1] <= beats THEN beats - breaks[1]
            END
            ELSE list_mode(list_sort(
                [breaks[n + 1] - breaks[n] FOR n IN range(1, len(breaks))]
            ))
        END AS num_layers,
        CASE len(breaks)
            WHEN 0 THEN may_go_on
            WHEN 1 THEN may_go_on AND NOT has_beginning AND NOT are_calls
            ELSE FALSE
        END AS is_vague
    FROM gathered
)
SELECT
    s.trace_id, s.series, s.device, any_value(b.stream) AS stream,
    list(DISTINCT b.name ORDER BY b.name) FILTER (b.name IS NOT NULL) AS attention_names,
    any_value(b.attentions) AS attentions, any_value(s.beats) AS beats,
    any_value(s.breaks) AS breaks, any_value(s.marked_beats) AS marked_beats,
    CASE
        WHEN
            (any_value(s.num_layers) > 1 OR bool_or(s.takes_turns))
            -- If compilers give each kernel its own name, names are no evidence.
            AND (2 * count(DISTINCT b.name) <= any_value(s.beats) OR bool_or(s.takes_turns))
            AND coalesce(any_value(s.breaks)[1], 0) <= any_value(s.num_layers)
            AND any_value(s.beats) - coalesce(any_value(s.breaks)[-1], 0)
                <= any_value(s.num_layers)
            AND len([n FOR n IN any_value(s.breaks)
                IF (n - any_value(s.breaks)[1]) % any_value(s.num_layers) <> 0]) = 0
            THEN CAST(any_value(s.num_layers) AS INTEGER)
    END AS num_layers,
    CASE
        WHEN coalesce(any_value(s.breaks)[1], any_value(s.beats)) = any_value(s.num_layers)
            THEN CAST(any_value(s.num_layers) + len([
                n FOR n IN any_value(s.fed_beats) IF n <= any_value(s.num_layers)
            ]) AS INTEGER)
    END AS lone_layers,
    min(b.start_ns) FILTER (b.beat > s.breaks[1]) AS break_ns,
    max(b.start_ns) FILTER (b.beat <= s.breaks[1] AND b.is_first) AS last_ns,
    any_value(s.is_vague) AS is_vague,
    bool_or(s.are_sure) AND len(any_value(s.breaks)) > 1 AS is_sure,
    CASE
        WHEN len(any_value(s.breaks)) = 0 THEN 'anchor count'
        WHEN bool_or(s.are_calls) THEN 'module calls'
        WHEN bool_or(s.are_steps) THEN 'step annotations'
        ELSE 'signature break'
    END AS pass_source
FROM sized AS s
JOIN played AS b
    ON b.trace_id = s.trace_id
    AND b.series = s.series
    AND b.device = s.device
GROUP BY s.trace_id, s.series, s.device;
