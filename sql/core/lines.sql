-- One row per named line of a trace (a thread of a process): what it shows, and of which device.
--
-- Roles come from line_roles: sums over a device must use only its lines of role operation, since
-- modules, steps and annotations are drawn over the same time.
--
-- key: trace_id, pid, tid
--
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job, NULL if unknown
-- device    INTEGER  device the line belongs to, NULL for lines of the host
-- pid       VARCHAR  process
-- tid       VARCHAR  thread
-- process   VARCHAR  process name, without the host that XProf's streaming viewer puts before it
-- thread    VARCHAR  thread name
-- role      VARCHAR  operation, async, module, step, annotation, counter, summary, collective,
--                    detail, call or host; NULL for lines without a rule
CREATE VIEW lines AS
SELECT
    trace_id, traces.rank,
    CASE
        -- An Ascend process may have no device number: its rows belong to device 0.
        WHEN role NOT IN ('host', 'call')
            THEN coalesce(
                _ascend_devices.device, processes.merged_device, _lines.device,
                if(format = 'ascend', 0, TRY_CAST(pid AS INTEGER)), processes.device
            )
    END AS device,
    pid, tid, process, thread, role
FROM _lines
JOIN traces USING (trace_id)
LEFT JOIN _ascend_devices USING (trace_id)
LEFT JOIN device_processes AS processes USING (trace_id, pid);
