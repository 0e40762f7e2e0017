-- One row per device row of an Ascend timeline and kind of scope: the innermost scope of the host
-- that was running where its arrow begins.
--
-- Scopes are found by depth, as in _enclosing_operators, for each kind apart. Where no arrow leads
-- to an operator, the place of the runtime's call is taken; of a call on a thread that only empties
-- a queue, the place where the work was put into the queue.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the device row
-- kind       VARCHAR  call (the runtime's), operator (the framework's) or shaped (an operator that
--                     says the shapes of its inputs)
-- scope_id   BIGINT   event_id of the scope
CREATE VIEW _ascend_scopes AS
WITH arrows AS (
    SELECT trace_id, kernel_id, kind, tid, at_ns FROM _ascend_arrows
),
traced AS (
    SELECT DISTINCT trace_id FROM arrows
),
call_lines AS (
    SELECT trace_id, pid, tid FROM _lines SEMI JOIN traced USING (trace_id) WHERE role = 'call'
),
queue_events AS (
    SELECT
        trace_id, category, tid, start_ns, end_ns, event_id,
        json_extract_string(args, '$.correlation_id') AS number
    FROM events
    SEMI JOIN traced USING (trace_id)
    WHERE lane = 'host' AND category IN ('enqueue', 'dequeue') AND dur_ns IS NOT NULL
),
taken AS (
    SELECT trace_id, tid, start_ns, end_ns, number FROM queue_events WHERE category = 'dequeue'
),
put AS (
    SELECT trace_id, number, arg_min(tid, event_id) AS tid, arg_min(start_ns, event_id) AS at_ns
    FROM queue_events
    WHERE category = 'enqueue' AND number IS NOT NULL
    GROUP BY trace_id, number
),
without_operator AS (
    SELECT trace_id, kernel_id, tid, at_ns FROM arrows WHERE kind = 'call'
    EXCEPT
    SELECT calls.trace_id, calls.kernel_id, calls.tid, calls.at_ns
    FROM arrows AS calls
    JOIN arrows AS named USING (trace_id, kernel_id)
    WHERE calls.kind = 'call' AND named.kind = 'operator'
),
taken_by AS (
    SELECT
        without_operator.trace_id, kernel_id, without_operator.tid, at_ns,
        if(at_ns <= taken.end_ns, taken.number, NULL) AS number
    FROM without_operator
    ASOF LEFT JOIN taken
        ON taken.trace_id = without_operator.trace_id
        AND taken.tid = without_operator.tid
        AND taken.start_ns <= without_operator.at_ns
),
places AS (
    SELECT trace_id, kernel_id, kind, tid, at_ns FROM arrows
    UNION ALL
    SELECT
        taken_by.trace_id, kernel_id, 'operator', coalesce(put.tid, taken_by.tid),
        coalesce(put.at_ns, taken_by.at_ns)
    FROM taken_by
    LEFT JOIN put USING (trace_id, number)
),
moments AS (
    SELECT trace_id, kernel_id, kind, tid, at_ns FROM places
    UNION ALL
    SELECT trace_id, kernel_id, 'shaped', tid, at_ns FROM places WHERE kind = 'operator'
),
threads AS (
    SELECT DISTINCT trace_id, kind, tid FROM moments
),
candidates AS (
    SELECT trace_id, 'call' AS kind, event_id, tid, start_ns, end_ns
    FROM events
    SEMI JOIN call_lines USING (trace_id, pid, tid)
    WHERE lane = 'host' AND dur_ns > 0
    UNION ALL
    SELECT
        trace_id, unnest(if(input_dims IS NULL, ['operator'], ['operator', 'shaped'])), event_id,
        tid, start_ns, end_ns
    FROM events
    SEMI JOIN traced USING (trace_id)
    WHERE lane = 'host' AND category = 'cpu_op' AND dur_ns > 0
),
scopes AS (
    SELECT trace_id, kind, event_id, tid, start_ns, end_ns
    FROM candidates
    SEMI JOIN threads USING (trace_id, kind, tid)
),
edges AS (
    -- At one moment what ends goes first, then what starts, the longest first, then the arrow.
    SELECT
        trace_id, kind, tid, event_id, end_ns AS at_ns, -1 AS step, 0 AS turn, 0 AS until_ns
    FROM scopes
    UNION ALL
    SELECT trace_id, kind, tid, event_id, start_ns, 1, 1, -end_ns FROM scopes
    UNION ALL
    SELECT trace_id, kind, tid, kernel_id, at_ns, 0, 2, 0 FROM moments
),
swept AS (
    SELECT
        trace_id, kind, tid, event_id, at_ns, turn,
        CAST(sum(step) OVER (
            PARTITION BY trace_id, kind, tid
            ORDER BY at_ns, turn, until_ns, event_id
            ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS depth
    FROM edges
),
starts AS (
    SELECT trace_id, kind, tid, depth, at_ns, event_id AS scope_id FROM swept WHERE turn = 1
),
arrivals AS (
    SELECT trace_id, kind, tid, depth, at_ns, event_id AS kernel_id FROM swept WHERE turn = 2
)
SELECT arrivals.trace_id, arrivals.kernel_id, arrivals.kind, starts.scope_id
FROM arrivals
ASOF JOIN starts
    ON starts.trace_id = arrivals.trace_id
    AND starts.kind = arrivals.kind
    AND starts.tid = arrivals.tid
    AND starts.depth = arrivals.depth
    AND starts.at_ns <= arrivals.at_ns;
