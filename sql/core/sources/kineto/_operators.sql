-- One row per framework operator that a launch can be traced to.
-- trace_id     VARCHAR  trace
-- op_id        BIGINT   event_id of the operator
-- external_id  BIGINT   id shared with what it caused
-- pid          VARCHAR  process
-- tid          VARCHAR  thread
-- start_ns     BIGINT   start, ns
-- end_ns       BIGINT   end, ns
CREATE VIEW _operators AS
SELECT trace_id, event_id AS op_id, external_id, pid, tid, start_ns, end_ns
FROM events
WHERE lane = 'host' AND category = 'cpu_op' AND dur_ns > 0;
