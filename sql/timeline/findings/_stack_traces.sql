-- One row per trace whose profiler recorded calls of Python functions. Calls of modules alone are
-- no stacks: annotations show them too.
--
-- stored: meanwhile
--
-- trace_id  VARCHAR  trace
-- calls     BIGINT   calls of functions
CREATE VIEW _stack_traces AS
SELECT trace_id, count(*) AS calls
FROM events
WHERE lane = 'python' AND NOT starts_with(name, 'nn.Module: ')
GROUP BY trace_id;
