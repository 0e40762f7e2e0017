-- One row per trace whose devices show the operations of compiled programs (XLA): they nest on
-- their line, and only the innermost counts.
--
-- rows: of jax traces
--
-- trace_id  VARCHAR  trace
CREATE VIEW _nesting_traces AS
SELECT DISTINCT trace_id
FROM lines
WHERE role = 'operation' AND starts_with(process, '/device:');
