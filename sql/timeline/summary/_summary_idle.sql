-- One row per trace, cause for which its devices were idle, and what the host did meanwhile.
-- trace_id       VARCHAR  trace
-- cause          VARCHAR  cause, of idle_rules
-- host_activity  VARCHAR  what the host did
-- intervals      HUGEINT  idle intervals
-- idle_us        DOUBLE   time, summed over devices
-- share_pct      DOUBLE   share of the time of all devices
-- advice         VARCHAR  what to do about it
CREATE VIEW _summary_idle AS
SELECT
    i.trace_id, cause, host_activity, sum(intervals) AS intervals, sum(idle_us) AS idle_us,
    100 * sum(idle_us) / nullif(any_value(device_time_us), 0) AS share_pct,
    any_value(advice) AS advice
FROM idle_causes AS i
LEFT JOIN _trace_times AS t ON t.trace_id = i.trace_id
GROUP BY i.trace_id, cause, host_activity;
