-- One row per call of a backward function with the operator whose gradient it computes: the last
-- one before it that created the node with its number.
--
-- Numbers are unique on a thread only. A function inside another one (reentrant checkpointing) is
-- linked to an operator inside the same outermost function if there is one. All other functions are
-- linked to operators outside of backward functions: what non-reentrant checkpointing recomputes
-- inside a function has numbers that may overlap with those of the forward pass.
--
-- key: trace_id, function_id
--
-- trace_id     VARCHAR  trace
-- function_id  BIGINT   event_id of the call of the backward function
-- op_id        BIGINT   event_id of the operator
CREATE VIEW autograd_links AS
WITH functions AS (
    SELECT trace_id, event_id, start_ns, sequence, outer_function_id
    FROM autograd_calls
    WHERE is_backward
),
operators AS (
    SELECT trace_id, event_id, start_ns, sequence, outer_function_id
    FROM autograd_calls
    WHERE NOT is_backward
),
reentrant AS MATERIALIZED (
    SELECT f.trace_id, f.event_id AS function_id, o.event_id AS op_id
    FROM functions AS f
    ASOF JOIN operators AS o
        ON o.trace_id = f.trace_id
        AND o.outer_function_id = f.outer_function_id
        AND o.sequence = f.sequence
        AND o.start_ns < f.start_ns
)
SELECT trace_id, function_id, op_id
FROM reentrant
UNION ALL
SELECT f.trace_id, f.event_id, o.event_id
FROM (
    SELECT f.trace_id, f.event_id, f.start_ns, f.sequence
    FROM functions AS f
    ANTI JOIN reentrant AS r ON r.trace_id = f.trace_id AND r.function_id = f.event_id
) AS f
ASOF JOIN (
    SELECT trace_id, event_id, start_ns, sequence FROM operators WHERE outer_function_id IS NULL
) AS o
    ON o.trace_id = f.trace_id
    AND o.sequence = f.sequence
    AND o.start_ns < f.start_ns;
