-- One row per launch that shares no id with an operator: the innermost operator of its thread that
-- was running then. Older profilers number launches and operators apart.
--
-- The depth of an operator is the number of operators running on its thread when it starts, itself
-- among them: +1 at each start, -1 at each end, a running sum. At a launch the same sum is the
-- depth of the innermost operator running: the latest one of this depth to have started.
--
-- trace_id   VARCHAR  trace
-- launch_id  BIGINT   event_id of the launch
-- op_id      BIGINT   event_id of the operator
CREATE VIEW _enclosing_operators AS
WITH alone AS (
    SELECT DISTINCT
        trace_id, launch_id AS event_id, launch_pid AS pid, launch_tid AS tid, launch_ns AS at_ns
    FROM _launched
    WHERE op_id IS NULL AND launch_id IS NOT NULL
),
threads AS (
    SELECT DISTINCT trace_id, pid, tid FROM alone
),
causes AS (
    SELECT _operators.trace_id, op_id, _operators.pid, _operators.tid, start_ns, end_ns
    FROM _operators
    SEMI JOIN threads USING (trace_id, pid, tid)
),
edges AS (
    -- At one moment what ends goes first, then what starts, the longest first, then the launch.
    SELECT
        trace_id, pid, tid, op_id AS event_id, end_ns AS at_ns, -1 AS step, 0 AS turn,
        0 AS until_ns
    FROM causes
    UNION ALL
    SELECT trace_id, pid, tid, op_id, start_ns, 1, 1, -end_ns FROM causes
    UNION ALL
    SELECT trace_id, pid, tid, event_id, at_ns, 0, 2, 0 FROM alone
),
swept AS (
    SELECT
        trace_id, pid, tid, event_id, at_ns, turn,
        sum(step) OVER (
            PARTITION BY trace_id, pid, tid
            ORDER BY at_ns, turn, until_ns, event_id
            ROWS UNBOUNDED PRECEDING
        ) AS depth
    FROM edges
),
starts AS (
    SELECT trace_id, pid, tid, depth, at_ns, event_id AS op_id FROM swept WHERE turn = 1
),
launches AS (
    SELECT trace_id, pid, tid, depth, at_ns, event_id AS launch_id FROM swept WHERE turn = 2
)
SELECT launches.trace_id, launches.launch_id, starts.op_id
FROM launches
ASOF JOIN starts
    ON starts.trace_id = launches.trace_id
    AND starts.pid = launches.pid
    AND starts.tid = launches.tid
    AND starts.depth = launches.depth
    AND starts.at_ns <= launches.at_ns;
