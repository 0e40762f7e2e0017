-- One row per call that launches a kernel inside a counted operator: the innermost such operator.
--
-- Counted operators of one family are disjoint on a thread, so only the latest of each family to
-- have started can be around the call.
--
-- stored: per trace
--
-- key: trace_id, launch_id
--
-- trace_id       VARCHAR  trace
-- launch_id      BIGINT   event_id of the call
-- counted_op_id  BIGINT   event_id of the operator, op_id in counted_operators
CREATE VIEW launch_operators AS
WITH families AS (
    SELECT DISTINCT trace_id, pid, tid, family FROM counted_operators
),
calls AS (
    SELECT e.trace_id, e.event_id AS launch_id, e.pid, e.tid, e.start_ns, families.family
    FROM events AS e
    JOIN families USING (trace_id, pid, tid)
    WHERE
        e.lane = 'host'
        AND e.category IN (SELECT category FROM event_categories WHERE role = 'call')
        AND contains(e.name, 'Launch') AND NOT contains(e.name, 'GraphLaunch')
),
placed AS (
    SELECT calls.trace_id, calls.launch_id, leaves.op_id, leaves.start_ns
    FROM calls
    ASOF JOIN counted_operators AS leaves
        ON leaves.trace_id = calls.trace_id AND leaves.pid = calls.pid
        AND leaves.tid = calls.tid AND leaves.family = calls.family
        AND leaves.start_ns <= calls.start_ns
    WHERE calls.start_ns < leaves.end_ns
)
SELECT trace_id, launch_id, arg_max(op_id, (start_ns, op_id)) AS counted_op_id
FROM placed
GROUP BY trace_id, launch_id;
