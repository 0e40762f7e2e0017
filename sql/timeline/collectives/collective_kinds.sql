-- One row per device, program, kind of collective and group of ranks: how often, how long, how
-- fast.
--
-- key: trace_id, device, kind, process_group?
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- program         VARCHAR  program, NULL if the trace shows none
-- kind            VARCHAR  kind of collective
-- process_group   VARCHAR  group of ranks, as the trace names it
-- group_size      BIGINT   ranks in it
-- calls           BIGINT   collectives
-- sum_us          DOUBLE   sum of their durations; those that overlap count twice, µs
-- mean_us         DOUBLE   mean duration, µs
-- max_us          DOUBLE   longest, µs
-- exposed_us      DOUBLE   time in which the device only communicates; adds up over all rows of a
--                          device to time_breakdown.exposed_communication_us, µs
-- hidden_us       DOUBLE   time in which the device computes, µs
-- exposed_pct     DOUBLE   exposed_us over the device's window, %
-- bytes           DOUBLE   sum of the sizes, NULL unless all are known, bytes
-- mean_bytes      DOUBLE   mean of the known sizes, bytes
-- algorithm_gbps  DOUBLE   sum of sizes over sum of times, of those with a size, GB/s
-- bus_gbps        DOUBLE   the same for the bus bandwidth, GB/s
CREATE VIEW collective_kinds AS
SELECT
    collectives.trace_id, collectives.rank, collectives.device, program, kind, process_group,
    group_size,
    count(*) AS calls,
    sum(dur_us) AS sum_us,
    avg(dur_us) AS mean_us,
    max(dur_us) AS max_us,
    sum(exposed_us) AS exposed_us,
    sum(hidden_us) AS hidden_us,
    100 * sum(exposed_us) / nullif(any_value(time_breakdown.window_us), 0) AS exposed_pct,
    CASE WHEN count(bytes) = count(*) THEN sum(bytes) END AS bytes,
    avg(bytes) AS mean_bytes,
    sum(bytes) FILTER (algorithm_gbps IS NOT NULL)
        / sum(1000 * dur_us) FILTER (algorithm_gbps IS NOT NULL) AS algorithm_gbps,
    sum(bus_gbps * 1000 * dur_us) / sum(1000 * dur_us) FILTER (bus_gbps IS NOT NULL) AS bus_gbps
FROM collectives
LEFT JOIN time_breakdown
    ON time_breakdown.trace_id = collectives.trace_id
    AND time_breakdown.device = collectives.device
GROUP BY
    collectives.trace_id, collectives.rank, collectives.device, program, kind, process_group,
    group_size;
