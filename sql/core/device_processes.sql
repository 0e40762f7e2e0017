-- One row per process of a trace that events of a device bear: the number of the device. It is the
-- one in the process's name or label, else the process's number, which is the device in traces of
-- Kineto, else its place among these processes in order of appearance. In a trace of Ascend it is
-- the device of all rows, if they have one alone; a timeline's process without a number is device
-- 0. Events that name a device themselves are of that one.
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
    SELECT
        trace_id, pid, coalesce(min(device), any_value(if(format = 'ascend', 0, NULL))) AS device
    FROM _lines
    JOIN traces USING (trace_id)
    GROUP BY trace_id, pid
)
SELECT
    trace_id, pid,
    CAST(coalesce(
        _ascend_devices.device, named.device, TRY_CAST(pid AS INTEGER),
        row_number() OVER (PARTITION BY trace_id ORDER BY first_id, pid) - 1
    ) AS INTEGER) AS device
FROM processes
LEFT JOIN _ascend_devices USING (trace_id)
LEFT JOIN named USING (trace_id, pid);
