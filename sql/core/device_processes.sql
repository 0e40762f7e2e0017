-- One row per process of a trace that has device events: the number of its device. The number comes
-- from the process's name or label, else it is the process's number, which is the device in Kineto
-- traces; the others are numbered in order of appearance, behind these if they would meet. In an
-- Ascend trace whose rows all have one device, it is that device; a timeline's process without a
-- number is device 0. Events that name a device themselves belong to that one.
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
),
found AS (
    SELECT
        trace_id, pid, first_id,
        coalesce(_ascend_devices.device, named.device, TRY_CAST(pid AS INTEGER)) AS device
    FROM processes
    LEFT JOIN _ascend_devices USING (trace_id)
    LEFT JOIN named USING (trace_id, pid)
)
SELECT
    trace_id, pid,
    CAST(coalesce(
        device,
        row_number() OVER (PARTITION BY trace_id, device IS NULL ORDER BY first_id, pid)
        - CASE WHEN min(device) FILTER (device >= 0) OVER of_trace < count(*) OVER of_trace
            -- Half of the largest number: behind a larger one there may be none left.
            THEN -coalesce(max(device) FILTER (device < 1 << 30) OVER of_trace, 0)
            ELSE 1
        END
    ) AS INTEGER) AS device
FROM found
WINDOW of_trace AS (PARTITION BY trace_id);
