-- One row per host call that launched something. A call seen twice (runtime and driver) is one row,
-- the earlier.
-- trace_id     VARCHAR  trace
-- correlation  BIGINT   id shared with what it launched
-- launch_id    BIGINT   event_id of the call
-- external_id  BIGINT   id shared with the operator, where the profiler wrote one
-- launch_ns    BIGINT   start of the call, ns
-- launch_pid   VARCHAR  process of the call
-- launch_tid   VARCHAR  thread of the call
CREATE VIEW _launches AS
SELECT
    trace_id,
    correlation,
    min(event_id) AS launch_id,
    arg_min(external_id, event_id) AS external_id,
    arg_min(start_ns, event_id) AS launch_ns,
    arg_min(pid, event_id) AS launch_pid,
    arg_min(tid, event_id) AS launch_tid
FROM events
WHERE
    lane = 'host' AND correlation IS NOT NULL AND dur_ns IS NOT NULL
    AND category NOT IN (SELECT category FROM event_categories WHERE role <> 'call')
GROUP BY trace_id, correlation;
