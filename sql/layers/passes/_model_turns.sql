-- One row per stretch of beats from one break to the next on a device that runs several models in
-- turn, if neither the host nor graphs show them: an encoder and its decoder, a vision tower and a
-- language model, a draft and its target. The stretches then differ in length, and their lengths
-- recur: stretches of one length are one model. A length may occur once only if it is that of the
-- first stretch, with its beginning in the capture: the encoder of a single prompt, the tower of a
-- single image. One that occurs once between two breaks, as where a single image comes between
-- passes of a server, is of no model, since nothing shows that it is one pass; it may be no
-- multiple of the shortest length that recurs, which would be several passes. If the first or last
-- stretch may be cut, it counts as whole if another stretch has its length. Between two breaks
-- nothing may weigh more than half of the lightest break, or else the breaks are in doubt. A model
-- begins with the first kernel by which tokens, patches or sound enter, after the last one that
-- draws a token; else after that one, else with the first gather after the last feed-forward, which
-- looks up tokens in a trace without operators; else after the longest idle time after the
-- attention.
-- trace_id       VARCHAR  trace
-- shown_series   VARCHAR  the model in _pass_beats, empty
-- device         INTEGER  device
-- first_beat     BIGINT   first beat, 0 for the first stretch
-- last_beat      BIGINT   last beat
-- series         VARCHAR  model 1 and so on in order of appearance, NULL if the stretch may be of
--                         any: the capture cuts it, or its length occurs once
-- from_ns        BIGINT   start of its first kernel
-- beats          BIGINT   beats of all stretches of the model
-- beats_skipped  BIGINT   beats of other models before the stretch
-- is_last        BOOLEAN  the last stretch of its model
CREATE VIEW _model_turns AS
WITH lanes AS (
    SELECT
        trace_id, series, device, any_value(last_beat) AS beats,
        list(beat ORDER BY beat) FILTER (is_break) AS breaks,
        bool_or(beat = 0 AND (weight >= 4 OR (weight >= 2 AND is_strange))) AS has_beginning,
        bool_or(beat = 0 AND is_strange) AS may_begin,
        bool_or(beat = last_beat AND (weight >= 3 OR lacks_product)) AS has_end,
        bool_or(beat = last_beat AND is_strange) AS may_end
    FROM _pass_beats
    GROUP BY trace_id, series, device
    HAVING
        series = '' AND count(*) FILTER (is_break) > 1
        AND 2 * count(DISTINCT name) <= any_value(last_beat)
        AND 2 * coalesce(
            max(weight) FILTER (NOT is_break AND beat BETWEEN 1 AND last_beat - 1), 0
        ) <= min(weight) FILTER (is_break)
),
stretches AS (
    SELECT
        trace_id, series, device, nth, coalesce(breaks[nth] + 1, 0) AS first_beat,
        coalesce(breaks[nth + 1], beats) AS last_beat,
        last_beat - coalesce(breaks[nth], 0) AS length,
        (nth > 0 OR has_beginning) AND (nth < len(breaks) OR has_end) AS is_whole,
        (nth > 0 OR has_beginning OR may_begin) AND (nth < len(breaks) OR has_end OR may_end)
            AS may_be_whole,
        nth > 0 AND nth < len(breaks) AS is_between
    FROM lanes
    CROSS JOIN LATERAL (SELECT unnest(range(len(breaks) + 1)) AS nth) AS numbers
),
lengths AS (
    SELECT
        trace_id, series, device, length, count(*) > 1 OR min(nth) = 0 AS recurs,
        bool_and(is_between) AS is_between
    FROM stretches
    WHERE may_be_whole
    GROUP BY trace_id, series, device, length
    HAVING bool_or(is_whole)
),
models AS (
    SELECT trace_id, series, device, length
    FROM lengths
    WINDOW lane AS (PARTITION BY trace_id, series, device)
    QUALIFY
        recurs AND count(*) OVER lane > 1 AND max(length) OVER lane > 1
        AND count(*) FILTER (NOT recurs) OVER lane <= 1 AND bool_and(recurs OR is_between) OVER lane
        AND coalesce(
            min(length) FILTER (NOT recurs) OVER lane % min(length) FILTER (recurs) OVER lane <> 0,
            TRUE
        )
),
placed AS (
    SELECT s.*, m.length IS NULL AS is_cut, min(s.nth) OVER alike AS model_nth
    FROM stretches AS s
    SEMI JOIN models AS n
        ON n.trace_id = s.trace_id AND n.series = s.series AND n.device = s.device
    LEFT JOIN models AS m
        ON m.trace_id = s.trace_id AND m.series = s.series AND m.device = s.device
        AND m.length = s.length AND s.may_be_whole
    WINDOW alike AS (PARTITION BY s.trace_id, s.series, s.device, m.length)
),
named AS (
    SELECT
        *,
        CASE
            WHEN NOT is_cut THEN format('model {}', dense_rank() OVER (
                PARTITION BY trace_id, series, device, is_cut ORDER BY model_nth
            ))
        END AS model,
        sum(length) OVER alike AS beats,
        sum(length) OVER (PARTITION BY trace_id, series, device ORDER BY nth)
            - sum(length) OVER (alike ORDER BY nth) AS beats_skipped,
        nth = max(nth) OVER alike AS is_last
    FROM placed
    WINDOW alike AS (PARTITION BY trace_id, series, device, is_cut, model_nth)
),
entries AS (
    SELECT
        n.trace_id, n.series, n.device, n.nth, b.start_ns,
        b.category IN ('embedding', 'conv') OR l.kernel_id IS NOT NULL AS enters,
        max(CASE WHEN b.natural_role = 'inside' THEN b.start_ns END) OVER beat AS attention_ns,
        max(CASE WHEN b.category IN ('sampling', 'loss') THEN b.start_ns END) OVER beat AS drawn_ns,
        b.category = 'index' AND b.start_ns > max(
            CASE WHEN b.category IN ('activation', 'moe', 'moe_gemm') THEN b.start_ns END
        ) OVER beat AS may_enter,
        b.start_ns - max(b.end_ns) OVER (
            beat ORDER BY b.start_ns, b.kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS idle_ns
    FROM named AS n
    JOIN _beats AS b
        ON b.trace_id = n.trace_id AND b.series = n.series AND b.device = n.device
        AND b.beat = n.first_beat - 1
    LEFT JOIN _token_lookups AS l ON l.trace_id = b.trace_id AND l.kernel_id = b.kernel_id
    WHERE n.nth > 0
    WINDOW beat AS (PARTITION BY n.trace_id, n.series, n.device, n.nth)
),
entered AS (
    SELECT
        trace_id, series, device, nth,
        coalesce(
            min(start_ns) FILTER (enters AND start_ns > coalesce(drawn_ns, start_ns - 1)),
            min(start_ns) FILTER (start_ns > drawn_ns),
            min(start_ns) FILTER (may_enter AND start_ns > attention_ns),
            arg_max(start_ns, (idle_ns, -start_ns)) FILTER (start_ns > attention_ns)
        ) AS from_ns
    FROM entries
    GROUP BY trace_id, series, device, nth
)
SELECT
    n.trace_id, n.series AS shown_series, n.device, n.first_beat, n.last_beat, n.model AS series,
    -- Kernels before the first attention belong to the first model.
    coalesce(e.from_ns, CAST(-9.2e18 AS BIGINT)) AS from_ns, CAST(n.beats AS BIGINT) AS beats,
    CAST(n.beats_skipped AS BIGINT) AS beats_skipped, n.is_last
FROM named AS n
LEFT JOIN entered AS e
    ON e.trace_id = n.trace_id AND e.series = n.series AND e.device = n.device AND e.nth = n.nth;
