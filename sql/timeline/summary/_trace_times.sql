-- One row per trace with device operations: how long its devices were observed.
-- trace_id        VARCHAR  trace
-- devices         BIGINT   devices
-- window_us       DOUBLE   window that all devices share
-- device_time_us  DOUBLE   time of all devices
CREATE VIEW _trace_times AS
SELECT
    trace_id, count(*) AS devices, max(window_us) AS window_us, sum(window_us) AS device_time_us
FROM time_breakdown
GROUP BY trace_id;
