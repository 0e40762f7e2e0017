-- One row per kind of collective of a trace, its devices, programs and groups together.
--
-- `FROM collective_breakdown(trace)` with the name or the id of a trace; collective_kinds has
-- devices, programs and groups apart.
--
-- trace_id          VARCHAR  trace
-- kind              VARCHAR  kind of collective
-- calls             BIGINT   calls, of all devices
-- calls_per_device  DOUBLE   calls over the devices of the trace
-- sum_us            DOUBLE   sum of their durations, µs
-- mean_us           DOUBLE   mean duration, µs
-- exposed_us        DOUBLE   time in which the device only communicates, µs
-- hidden_us         DOUBLE   time in which it computes, µs
-- exposed_pct       DOUBLE   exposed_us over devices × window, %
-- mean_bytes        DOUBLE   mean of the known sizes, bytes
-- bus_gbps          DOUBLE   mean bus bandwidth where known, weighted by time, GB/s
CREATE MACRO collective_breakdown(of_trace) AS TABLE
WITH wholes AS (
    SELECT trace_id, count(*) AS devices, sum(window_us) AS window_us
    FROM time_breakdown
    SEMI JOIN _named_traces(of_trace) AS wanted USING (trace_id)
    GROUP BY trace_id
)
SELECT
    trace_id, kind, count(*) AS calls, count(*) / any_value(wholes.devices) AS calls_per_device,
    sum(dur_us) AS sum_us, avg(dur_us) AS mean_us, sum(exposed_us) AS exposed_us,
    sum(hidden_us) AS hidden_us,
    100 * sum(exposed_us) / nullif(any_value(wholes.window_us), 0) AS exposed_pct,
    avg(bytes) AS mean_bytes,
    sum(bus_gbps * dur_us) / nullif(sum(dur_us) FILTER (bus_gbps IS NOT NULL), 0) AS bus_gbps
FROM collectives
JOIN wholes USING (trace_id)
GROUP BY trace_id, kind
ORDER BY exposed_us DESC, sum_us DESC, kind;
