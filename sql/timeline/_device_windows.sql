-- One row per device with its own extent and the window that it shares with the other devices of
-- its trace: from the first start to the last end of their operations.
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL when unknown
-- device           INTEGER  device
-- first_ns         BIGINT   start of its first operation, ns
-- last_ns          BIGINT   end of its last operation, ns
-- window_start_ns  BIGINT   start of the window, ns
-- window_end_ns    BIGINT   end of the window, ns
CREATE VIEW _device_windows AS
WITH extents AS (
    SELECT trace_id, device, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM _device_ops
    WHERE role = 'op' AND end_ns > start_ns
    GROUP BY trace_id, device
)
SELECT
    trace_id, rank, device, first_ns, last_ns,
    min(first_ns) OVER (PARTITION BY trace_id) AS window_start_ns,
    max(last_ns) OVER (PARTITION BY trace_id) AS window_end_ns
FROM extents
JOIN traces USING (trace_id);
