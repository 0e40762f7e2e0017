-- One row per trace and execution of a compiled program that its profiler numbers.
-- trace_id      VARCHAR  trace
-- execution_id  BIGINT   number
-- start_ns      BIGINT   when it first ran
CREATE VIEW _summary_executions AS
SELECT trace_id, execution_id, min(start_ns) AS start_ns
FROM programs
WHERE execution_id IS NOT NULL
GROUP BY trace_id, execution_id;
