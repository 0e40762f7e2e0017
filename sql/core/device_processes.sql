-- One row per process of a trace that has device events: the number of its device. The number comes
-- from the process's name or label, else it is the process's number, which is the device in Kineto
-- traces, else the process's place among these processes in order of appearance. In an Ascend trace
-- whose rows all have one device, it is that device; a timeline's process without a number is
-- device 0. Events that name a device themselves belong to that one.
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
