-- One row per trace and device: what the device did from the first operation to the last of all
-- devices of its trace.
--
-- Compute hides communication, and both hide copies: compute_us + exposed_communication_us +
-- exposed_memory_us + idle_us = window_us, exactly. Operations that only wait are idle time:
-- idle_us = wait_us + host_bound_idle_us + other_idle_us.
--
-- stored: per trace
--
-- key: trace_id, device
--
-- trace_id                   VARCHAR  trace
-- rank                       INTEGER  rank in the job, NULL if unknown
-- device                     INTEGER  device
-- start_ns                   BIGINT   start of the first operation on any device of the trace, ns
-- end_ns                     BIGINT   end of the last, ns
-- window_us                  DOUBLE   from that start to that end, µs
-- compute_us                 DOUBLE   time with at least one operation that computes, µs
-- communication_us           DOUBLE   time with at least one communication operation running, µs
-- exposed_communication_us   DOUBLE   of that, time in which nothing computes, µs
-- hidden_communication_us    DOUBLE   of that, time in which something computes, µs
-- memory_us                  DOUBLE   time with at least one copy, fill or transfer running, µs
-- exposed_memory_us          DOUBLE   of that, time in which nothing computes or communicates, µs
-- copy_us                    DOUBLE   of that, copies and fills, µs
-- dma_us                     DOUBLE   of that, transfers beside the compute units, µs
-- busy_us                    DOUBLE   time with anything running that does not only wait, µs
-- idle_us                    DOUBLE   time with nothing running, or only operations that wait, µs
-- wait_us                    DOUBLE   time with only operations that wait, µs
-- host_bound_idle_us         DOUBLE   time with nothing running because the host had not launched
--                                     the next operation, see idle_causes; NULL if the trace does
--                                     not show launches, µs
-- other_idle_us              DOUBLE   the rest of the idle time, NULL in the same cases, µs
-- compute_pct                DOUBLE   share of the window
-- exposed_communication_pct  DOUBLE   share of the window
-- exposed_memory_pct         DOUBLE   share of the window
-- idle_pct                   DOUBLE   share of the window
CREATE VIEW time_breakdown AS
WITH parts AS (
    SELECT
        trace_id, device, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        sum(total_ns) AS window_ns,
        coalesce(sum(total_ns) FILTER (class = 'compute'), 0) AS compute_ns,
        coalesce(sum(total_ns) FILTER (communication_active), 0) AS communication_ns,
        coalesce(sum(total_ns) FILTER (class = 'communication'), 0) AS exposed_communication_ns,
        coalesce(sum(total_ns) FILTER (communication_active AND class = 'compute'), 0)
            AS hidden_communication_ns,
        coalesce(sum(total_ns) FILTER (memory_active), 0) AS memory_ns,
        coalesce(sum(total_ns) FILTER (class = 'copy'), 0) AS copy_ns,
        coalesce(sum(total_ns) FILTER (class = 'dma'), 0) AS dma_ns,
        coalesce(sum(total_ns) FILTER (class = 'wait'), 0) AS wait_ns,
        coalesce(sum(total_ns) FILTER (class IN ('wait', 'idle')), 0) AS idle_ns
    FROM _state_times
    GROUP BY trace_id, device
),
host_bound AS (
    SELECT
        trace_id, device,
        CASE
            WHEN bool_or(launch_id IS NOT NULL)
                THEN coalesce(sum(end_ns - start_ns) FILTER (host_bound), 0)
        END AS host_bound_ns
    FROM _idle_intervals
    GROUP BY trace_id, device
)
SELECT
    p.trace_id, rank, p.device, p.start_ns, p.end_ns,
    window_ns / 1000.0 AS window_us,
    compute_ns / 1000.0 AS compute_us,
    communication_ns / 1000.0 AS communication_us,
    exposed_communication_ns / 1000.0 AS exposed_communication_us,
    hidden_communication_ns / 1000.0 AS hidden_communication_us,
    memory_ns / 1000.0 AS memory_us,
    (copy_ns + dma_ns) / 1000.0 AS exposed_memory_us,
    copy_ns / 1000.0 AS copy_us,
    dma_ns / 1000.0 AS dma_us,
    (window_ns - idle_ns) / 1000.0 AS busy_us,
    idle_ns / 1000.0 AS idle_us,
    wait_ns / 1000.0 AS wait_us,
    host_bound_ns / 1000.0 AS host_bound_idle_us,
    (idle_ns - wait_ns - host_bound_ns) / 1000.0 AS other_idle_us,
    100.0 * compute_ns / window_ns AS compute_pct,
    100.0 * exposed_communication_ns / window_ns AS exposed_communication_pct,
    100.0 * (copy_ns + dma_ns) / window_ns AS exposed_memory_pct,
    100.0 * idle_ns / window_ns AS idle_pct
FROM parts AS p
JOIN traces ON traces.trace_id = p.trace_id
LEFT JOIN host_bound
    ON host_bound.trace_id = p.trace_id AND host_bound.device = p.device;
