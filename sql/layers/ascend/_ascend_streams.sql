-- One row per main stream of an Ascend device: the streams that run its layers. Each layer needs
-- the result of the one before, so these streams take turns: eager kernels, each ACL graph, and the
-- graph pieces between two attentions have streams of their own, and wait for each other. Streams
-- that run beside these, such as another micro-batch, shared experts or the norm of the keys,
-- overlap them.
-- Streams with attention or norms are ranked, by number of anchors, then by time. The first is
-- main. Any other is main if at most 1 % of its time overlaps streams ranked above it. But if most
-- anchors are on another stream than the anchor before, layers of two micro-batches may alternate:
-- then the first stream is the only main one with anchors. A layer may have several anchors: those
-- of one stream without a norm between them count as one, if there are as many norms as these.
--
-- rows: of ascend traces
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- stream    BIGINT   the stream
CREATE VIEW _ascend_streams AS
WITH marking AS MATERIALIZED (
    SELECT trace_id, device, stream, kernel_id, start_ns, end_ns, mark
    FROM _marking_kernels
),
candidates AS (
    SELECT
        trace_id, device, stream, count(*) FILTER (mark = 'anchor') AS anchors,
        sum(end_ns - start_ns) AS sum_ns
    FROM marking
    GROUP BY trace_id, device, stream
    HAVING count(*) FILTER (mark IN ('anchor', 'residual', 'closing', 'norm')) > 0
),
ranked AS (
    SELECT
        *, count(*) OVER (PARTITION BY trace_id, device) AS stream_count,
        row_number() OVER (
            PARTITION BY trace_id, device ORDER BY anchors DESC, sum_ns DESC, stream NULLS LAST
        ) AS stream_rank
    FROM candidates
    QUALIFY max(anchors) OVER (PARTITION BY trace_id, device) > 0
),
-- Devices with one candidate have no rows from here on.
in_turn AS (
    SELECT
        m.trace_id, m.device, r.stream_rank, m.start_ns, m.end_ns, m.mark,
        max(m.end_ns) OVER before AS running_until_ns,
        arg_max(r.stream_rank, m.end_ns) OVER before AS running_rank
    FROM marking AS m
    JOIN ranked AS r
        ON r.trace_id = m.trace_id AND r.device = m.device AND r.stream_count > 1
        AND r.stream IS NOT DISTINCT FROM m.stream
    WINDOW before AS (
        PARTITION BY m.trace_id, m.device ORDER BY m.start_ns, m.kernel_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
overlapping AS (
    SELECT
        trace_id, device, greatest(stream_rank, running_rank) AS stream_rank,
        sum(least(end_ns, running_until_ns) - start_ns) AS overlap_ns
    FROM in_turn
    WHERE running_until_ns > start_ns AND running_rank <> stream_rank
    GROUP BY trace_id, device, greatest(stream_rank, running_rank)
),
taking_turns AS (
    SELECT r.*
    FROM ranked AS r
    LEFT JOIN overlapping AS o
        ON o.trace_id = r.trace_id AND o.device = r.device AND o.stream_rank = r.stream_rank
    WHERE r.stream_rank = 1 OR coalesce(100 * o.overlap_ns <= r.sum_ns, TRUE)
),
switching AS (
    SELECT
        i.trace_id, i.device, i.mark, i.mark = 'anchor' AND i.stream_rank <> lag(i.stream_rank)
            OVER (
                PARTITION BY i.trace_id, i.device, i.mark = 'anchor'
                ORDER BY i.start_ns, i.stream_rank
            ) AS is_other,
        i.mark = 'anchor' AND (i.mark, i.stream_rank) IS DISTINCT FROM lag((i.mark, i.stream_rank))
            OVER (PARTITION BY i.trace_id, i.device ORDER BY i.start_ns, i.stream_rank) AS is_first
    FROM in_turn AS i
    SEMI JOIN taking_turns AS t
        ON t.trace_id = i.trace_id AND t.device = i.device AND t.stream_rank = i.stream_rank
    WHERE i.mark IN ('anchor', 'residual', 'closing', 'norm')
),
alternating AS (
    SELECT trace_id, device
    FROM switching
    GROUP BY trace_id, device
    HAVING count(*) FILTER (is_other) * 2 > if(
        count(*) FILTER (mark <> 'anchor') < count(*) FILTER (is_first),
        count(*) FILTER (mark = 'anchor'), count(*) FILTER (is_first)
    )
)
SELECT t.trace_id, t.device, t.stream
FROM taking_turns AS t
LEFT JOIN alternating AS a ON a.trace_id = t.trace_id AND a.device = t.device
WHERE t.stream_rank = 1 OR t.anchors = 0 OR a.device IS NULL;
