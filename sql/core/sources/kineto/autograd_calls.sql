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
-- created the node, if a higher number follows or a backward function has it. A negative number is
-- none: torch_npu writes -1.
--
-- Each thread counts from its own start, so an operator that is recomputed inside a backward
-- function (activation checkpointing) may have the number of another thread's operator. Its node is
-- used inside that function only (reentrant) or not at all.
--
-- stored: per trace
--
-- key: trace_id, event_id
--
-- trace_id           VARCHAR  trace
-- event_id           BIGINT   event of the call
-- pid                VARCHAR  process
-- tid                VARCHAR  thread
-- name               VARCHAR  name
-- start_ns           BIGINT   start, ns
-- end_ns             BIGINT   end, ns
-- is_backward        BOOLEAN  a backward function; else an operator
-- sequence           BIGINT   number of the node, NULL if the trace has none
-- forward_thread     BIGINT   of a backward function: PyTorch's number of the thread that created
--                             its node; NULL if the trace has none, and of operators
-- outer_function_id  BIGINT   event_id of the outermost backward function that it runs inside, NULL
--                             if none
CREATE VIEW autograd_calls AS
WITH numbered AS (
    SELECT
        events.trace_id, events.event_id, pid, tid, name, start_ns, end_ns,
        functions.event_id IS NOT NULL AS is_backward,
        list_transform(
            json_extract_string(args, ['$."Sequence number"', '$."Fwd thread id"']),
            LAMBDA number: TRY_CAST(number AS BIGINT)
        ) AS numbers
    FROM events
    SEMI JOIN (SELECT DISTINCT trace_id FROM _backward_functions) USING (trace_id)
    LEFT JOIN _backward_functions AS functions
        ON functions.trace_id = events.trace_id AND functions.event_id = events.event_id
    WHERE lane = 'host' AND category = 'cpu_op' AND dur_ns > 0
),
calls AS (
    SELECT
        trace_id, event_id, pid, tid, name, start_ns, end_ns, is_backward,
        CASE WHEN numbers[1] >= 0 THEN numbers[1] END AS sequence,
        CASE WHEN is_backward THEN numbers[2] END AS forward_thread
    FROM numbered
    -- Operators that a backward function calls carry the thread that created the node.
    WHERE is_backward OR (numbers[1] >= 0 AND coalesce(numbers[2], 0) = 0)
),
outermost AS (
    SELECT trace_id, pid, tid, event_id, start_ns, end_ns
    FROM calls
    WHERE is_backward
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns)
),
nested AS (
    SELECT
        c.trace_id, c.event_id, c.pid, c.tid, c.name, c.start_ns, c.end_ns, c.is_backward,
        c.sequence, c.forward_thread,
        CASE
            WHEN c.start_ns < o.end_ns AND c.event_id <> o.event_id THEN o.event_id
        END AS outer_function_id
    FROM calls AS c
    ASOF LEFT JOIN outermost AS o
        ON o.trace_id = c.trace_id AND o.pid = c.pid AND o.tid = c.tid
        AND o.start_ns <= c.start_ns
),
answered AS (
    -- Where the node of a number was created, if a backward function has it: in the function around
    -- that one, or outside of all, as -1.
    SELECT DISTINCT trace_id, sequence, unnest([outer_function_id, -1]) AS place_id
    FROM nested
    WHERE is_backward AND sequence IS NOT NULL
),
ranked AS (
    SELECT
        trace_id, event_id, pid, tid, name, start_ns, end_ns, sequence, outer_function_id,
        coalesce(outer_function_id, -1) AS place_id,
        row_number() OVER (
            PARTITION BY trace_id, pid, tid, sequence
            ORDER BY start_ns DESC, end_ns, event_id DESC
        ) AS nth_last,
        sequence < max(sequence) OVER (PARTITION BY trace_id, pid, tid) AS is_followed
    FROM nested
    WHERE NOT is_backward
)
SELECT
    trace_id, event_id, pid, tid, name, start_ns, end_ns, is_backward, sequence, forward_thread,
    outer_function_id
FROM nested
WHERE is_backward
UNION ALL
SELECT
    trace_id, event_id, pid, tid, name, start_ns, end_ns, FALSE, sequence, NULL, outer_function_id
FROM ranked
LEFT JOIN answered USING (trace_id, sequence, place_id)
WHERE nth_last = 1 AND (is_followed OR answered.sequence IS NOT NULL);
