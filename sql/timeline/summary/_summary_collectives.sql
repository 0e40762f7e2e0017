-- One row per trace, kind of collective, program and process group, over all devices.
-- trace_id        VARCHAR  trace
-- kind            VARCHAR  kind of collective
-- program         VARCHAR  compiled program, NULL if there are none
-- process_group   VARCHAR  process group
-- group_size      BIGINT   its ranks
-- calls           HUGEINT  calls
-- sum_us          DOUBLE   time on the devices
-- mean_us         DOUBLE   mean time
-- exposed_us      DOUBLE   time in which the device only communicates
-- hidden_us       DOUBLE   time in which it computes, too
-- exposed_pct     DOUBLE   share of the time of all devices
-- mean_bytes      DOUBLE   mean bytes of a call
-- algorithm_gbps  DOUBLE   bytes by the time of the calls where both are known, GB/s
-- bus_gbps        DOUBLE   mean bandwidth of the links by time, GB/s
CREATE VIEW _summary_collectives AS
SELECT
    c.trace_id, kind, program, process_group, group_size, sum(calls) AS calls,
    sum(sum_us) AS sum_us, sum(sum_us) / sum(calls) AS mean_us,
    sum(exposed_us) AS exposed_us, sum(hidden_us) AS hidden_us,
    100 * sum(exposed_us) / nullif(any_value(device_time_us), 0) AS exposed_pct,
    sum(bytes) / nullif(sum(calls), 0) AS mean_bytes,
    sum(bytes) / nullif(sum(1000 * sum_us) FILTER (algorithm_gbps IS NOT NULL), 0)
        AS algorithm_gbps,
    sum(bus_gbps * sum_us) / nullif(sum(sum_us) FILTER (bus_gbps IS NOT NULL), 0) AS bus_gbps
FROM collective_kinds AS c
LEFT JOIN _trace_times AS t ON t.trace_id = c.trace_id
GROUP BY c.trace_id, kind, program, process_group, group_size;
