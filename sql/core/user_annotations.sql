-- One row per annotation with a duration: a range named by the program, an engine or the profiler,
-- on the host or on a device.
--
-- key: trace_id, event_id
--
-- trace_id  VARCHAR  trace
-- event_id  BIGINT   event
-- device    INTEGER  device, NULL if the annotation is the host's
-- start_ns  BIGINT   start
-- end_ns    BIGINT   end
-- name      VARCHAR  its name
CREATE VIEW user_annotations AS
SELECT
    trace_id, event_id,
    CASE
        WHEN category = 'gpu_user_annotation'
            THEN coalesce(processes.merged_device, events.device, processes.device)
    END AS device,
    start_ns, end_ns, name
FROM events
LEFT JOIN device_processes AS processes USING (trace_id, pid)
WHERE
    lane IN ('host', 'device') AND category IN ('user_annotation', 'gpu_user_annotation')
    AND dur_ns > 0;
