-- One row per call of a backward function with the operator whose gradient it computes: the last
-- one before it that created the node with its number.
--
-- Numbers are unique on a thread only. A function inside another one (reentrant checkpointing) is
-- linked to an operator inside the same outermost function if there is one. Other functions are
-- linked to operators outside of backward functions: what non-reentrant checkpointing recomputes
-- inside a function has numbers that may overlap with those of the forward pass. Only a node that
-- a later thread than the first created is looked for inside any function before: a backward pass
-- that is differentiated itself (create_graph) creates nodes in its functions.
--
-- key: trace_id, function_id
--
-- trace_id       VARCHAR  trace
-- function_id    BIGINT   event_id of the call of the backward function
-- op_id          BIGINT   event_id of the operator
-- forward_op_id  BIGINT   event_id of the operator of the forward pass that it goes back to: op_id,
--                         or if that runs in a function before, the operator of that function;
--                         NULL if there is none
CREATE VIEW autograd_links AS
WITH functions AS (
    -- Where the operator may be: in the function around, -1 in any, -2 outside of all.
    SELECT
        trace_id, event_id, start_ns, sequence,
        unnest([
            outer_function_id,
            CASE
                WHEN forward_thread > min(forward_thread) OVER (PARTITION BY trace_id, pid) THEN -1
            END,
            -2
        ]) AS place_id
    FROM autograd_calls
    WHERE is_backward
),
operators AS (
    SELECT
        trace_id, event_id, start_ns, sequence, outer_function_id,
        unnest(CASE
            WHEN outer_function_id IS NULL THEN [-2] ELSE [outer_function_id, -1]
        END) AS place_id
    FROM autograd_calls
    WHERE NOT is_backward
),
links AS MATERIALIZED (
    SELECT
        f.trace_id, f.event_id AS function_id, arg_max(
            {
                'op_id': o.event_id,
                'function_id': CASE WHEN o.place_id = -1 THEN o.outer_function_id END
            }, o.place_id
        ) AS op
    FROM functions AS f
    ASOF JOIN operators AS o
        ON o.trace_id = f.trace_id
        AND o.place_id = f.place_id
        AND o.sequence = f.sequence
        AND o.start_ns < f.start_ns
    GROUP BY f.trace_id, f.event_id
)
SELECT
    l.trace_id, l.function_id, l.op.op_id AS op_id,
    CASE WHEN l.op.function_id IS NULL THEN l.op.op_id ELSE d.op.op_id END AS forward_op_id
FROM links AS l
LEFT JOIN links AS d ON d.trace_id = l.trace_id AND d.function_id = l.op.function_id;
