-- Whether a host event's name is that of a PyTorch backward function: the engine's own call of it,
-- or the function, whose class ends in Backward and a number.
CREATE MACRO _is_backward(name) AS
starts_with(name, 'autograd::engine::evaluate_function: ')
OR regexp_matches(name, '^[\w:<>]*Backward\d*$') AND NOT starts_with(name, 'aten::');

-- One row per run of a backward function.
--
-- stored: meanwhile
CREATE VIEW _backward_functions AS
WITH names AS (
    SELECT name
    FROM (SELECT DISTINCT name FROM events WHERE lane = 'host' AND category = 'cpu_op')
    WHERE _is_backward(name)
)
SELECT trace_id, event_id
FROM events
SEMI JOIN names USING (name)
WHERE lane = 'host' AND category = 'cpu_op' AND dur_ns > 0;

-- One row per call of a PyTorch backward function and per operator that creates a node of the
-- autograd graph, in traces that show both.
--
-- The nodes that a thread creates are numbered. An operator carries the number of the next node to
-- be created, a backward function that of its own node. Operators that create no node carry the
-- same number as the next one that does: of all operators with one number on a thread, the last
-- created the node, if a higher number follows or a backward function has it.
--
-- stored: per trace
--
-- key: trace_id, event_id
--
-- trace_id     VARCHAR  trace
-- event_id     BIGINT   event of the call
-- pid          VARCHAR  process
-- tid          VARCHAR  thread
-- name         VARCHAR  name
-- start_ns     BIGINT   start, ns
-- end_ns       BIGINT   end, ns
-- is_backward  BOOLEAN  a backward function; else an operator
-- sequence     BIGINT   number of the node, NULL if the trace has none
CREATE VIEW autograd_calls AS
WITH numbered AS (
    SELECT
        events.trace_id, events.event_id, pid, tid, name, start_ns, end_ns,
        functions.event_id IS NOT NULL AS is_backward,
        json_extract_string(args, ['$."Sequence number"', '$."Fwd thread id"']) AS numbers
    FROM events
    SEMI JOIN (SELECT DISTINCT trace_id FROM _backward_functions) USING (trace_id)
    LEFT JOIN _backward_functions AS functions
        ON functions.trace_id = events.trace_id AND functions.event_id = events.event_id
    WHERE lane = 'host' AND category = 'cpu_op' AND dur_ns > 0
),
calls AS (
    SELECT
        trace_id, event_id, pid, tid, name, start_ns, end_ns, is_backward,
        TRY_CAST(numbers[1] AS BIGINT) AS sequence
    FROM numbered
    -- Operators that a backward function calls carry the thread that created the node.
    WHERE is_backward OR (numbers[1] IS NOT NULL AND coalesce(numbers[2], '0') = '0')
),
answered AS (
    SELECT DISTINCT trace_id, sequence FROM calls WHERE is_backward AND sequence IS NOT NULL
),
ranked AS (
    SELECT
        trace_id, event_id, pid, tid, name, start_ns, end_ns, sequence,
        row_number() OVER (
            PARTITION BY trace_id, pid, tid, sequence ORDER BY start_ns DESC, event_id DESC
        ) AS place,
        sequence < max(sequence) OVER (PARTITION BY trace_id, pid, tid) AS is_followed
    FROM calls
    WHERE NOT is_backward
)
SELECT trace_id, event_id, pid, tid, name, start_ns, end_ns, is_backward, sequence
FROM calls
WHERE is_backward
UNION ALL
SELECT trace_id, event_id, pid, tid, name, start_ns, end_ns, FALSE, sequence
FROM ranked
LEFT JOIN answered USING (trace_id, sequence)
WHERE place = 1 AND (is_followed OR answered.sequence IS NOT NULL);
