-- One row per operation of a SparseCore, a core of a TPU beside the one that runs its programs.
--
-- stored: meanwhile
-- rows: of jax traces
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the operation
-- core       VARCHAR  the core: process of its line
CREATE VIEW _sparse_core_operations AS
SELECT events.trace_id, event_id AS kernel_id, events.pid AS core
FROM events
JOIN _lines USING (trace_id, pid, tid)
WHERE lane = 'device' AND role = 'operation' AND contains(process, ' SparseCore');
