-- One row per counted operator that ran while a graph was captured: between a call that begins and
-- one that ends the capture of a stream, or in an event that says so by its name.
-- trace_id  VARCHAR  trace
-- op_id     BIGINT   event_id of the operator
CREATE VIEW _op_captures AS
WITH calls AS (
    SELECT
        trace_id, pid, tid, event_id, start_ns, end_ns, lower(name) AS name,
        contains(name, 'StreamBeginCapture') AS is_begin,
        contains(name, 'StreamBeginCapture') OR contains(name, 'StreamEndCapture') AS is_mark
    FROM events
    WHERE
        lane = 'host' AND (
            contains(name, 'StreamBeginCapture') OR contains(name, 'StreamEndCapture')
            OR (
                contains(replace(lower(name), '_', ''), 'cudagraph')
                AND (contains(lower(name), 'capture') OR contains(lower(name), 'record'))
            )
        )
),
ranges AS (
    SELECT trace_id, start_ns, until_ns
    FROM (
        SELECT
            trace_id, start_ns, is_begin,
            lead(start_ns) OVER (
                PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id
            ) AS until_ns
        FROM calls
        WHERE is_mark
    )
    WHERE is_begin AND until_ns IS NOT NULL
    UNION ALL
    SELECT trace_id, start_ns, end_ns FROM calls WHERE NOT is_mark AND end_ns > start_ns
),
reaching AS (
    -- Ranges may lie in each other: the latest end so far counts.
    SELECT
        trace_id, start_ns,
        max(until_ns) OVER (
            PARTITION BY trace_id ORDER BY start_ns ROWS UNBOUNDED PRECEDING
        ) AS until_ns
    FROM ranges
)
SELECT leaves.trace_id, leaves.op_id
FROM counted_operators AS leaves
ASOF JOIN reaching
    ON reaching.trace_id = leaves.trace_id AND reaching.start_ns <= leaves.start_ns
WHERE leaves.start_ns < reaching.until_ns;
