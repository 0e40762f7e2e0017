-- One row per process of a trace that events of a device bear: the number of the device. It is the
-- one in the process's name or label, else the process's number, which is the device in traces of
-- Kineto, else its place among these processes in order of appearance. Events that name a device
-- themselves are of that one.
--
-- key: trace_id, pid
--
-- trace_id  VARCHAR  trace
-- pid       VARCHAR  process
-- device    INTEGER  device
CREATE VIEW device_processes AS
WITH processes AS (
    SELECT trace_id, pid, min(event_id) AS first_id
    FROM events
    WHERE lane = 'device' AND pid IS NOT NULL
    GROUP BY trace_id, pid
),
named AS (
    SELECT trace_id, pid, min(device) AS device FROM _lines GROUP BY trace_id, pid
)
SELECT
    trace_id, pid,
    CAST(coalesce(
        named.device, TRY_CAST(pid AS INTEGER),
        row_number() OVER (PARTITION BY trace_id ORDER BY first_id, pid) - 1
    ) AS INTEGER) AS device
FROM processes
LEFT JOIN named USING (trace_id, pid);
