-- One row per call of a backward function with the operator whose gradient it computes: the last
-- one before it that created the node with its number.
--
-- key: trace_id, function_id
--
-- trace_id     VARCHAR  trace
-- function_id  BIGINT   event_id of the call of the backward function
-- op_id        BIGINT   event_id of the operator
CREATE VIEW autograd_links AS
SELECT calls.trace_id, calls.event_id AS function_id, operators.event_id AS op_id
FROM (
    SELECT trace_id, event_id, start_ns, sequence FROM autograd_calls WHERE is_backward
) AS calls
ASOF JOIN (
    SELECT trace_id, event_id, start_ns, sequence FROM autograd_calls WHERE NOT is_backward
) AS operators
    ON operators.trace_id = calls.trace_id
    AND operators.sequence = calls.sequence
    AND operators.start_ns < calls.start_ns;
