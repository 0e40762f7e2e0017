-- One row per trace, device and stream: how much of the device's window the stream is busy.
--
-- The busy times of concurrent streams sum to more than the device's. Operations that enclose
-- others (enclosing_kernels) are not in counts and sums: their time is that of the operations in
-- them.
--
-- key: trace_id, device, stream?
--
-- trace_id              VARCHAR  trace
-- rank                  INTEGER  rank in the job, NULL if unknown
-- device                INTEGER  device
-- stream                BIGINT   stream; the line of an XLA device; NULL if the trace names none
-- kernel_count          BIGINT   operations on it
-- compute_sum_us        DOUBLE   sum of the durations of those that compute, µs
-- communication_sum_us  DOUBLE   sum of the durations of communication operations, µs
-- memory_sum_us         DOUBLE   sum of the durations of copies and fills, µs
-- sum_us                DOUBLE   sum of all durations, µs
-- busy_us               DOUBLE   time with at least one operation running, µs
-- idle_inside_us        DOUBLE   time between its first and its last operation with none running,
--                                µs
-- window_us             DOUBLE   window of the trace's devices, see time_breakdown, µs
-- busy_pct              DOUBLE   share of the window in which the stream is busy
-- start_ns              BIGINT   start of its first operation, ns
-- end_ns                BIGINT   end of its last operation, ns
CREATE VIEW stream_times AS
WITH reaching AS (
    SELECT
        trace_id, rank, device, stream, kind, start_ns, end_ns,
        e.kernel_id IS NULL AS is_counted,
        greatest(
            start_ns,
            coalesce(
                max(end_ns) OVER (
                    PARTITION BY trace_id, device, stream ORDER BY start_ns, end_ns
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ),
                start_ns
            )
        ) AS free_ns
    FROM kernels
    LEFT JOIN enclosing_kernels AS e USING (trace_id, kernel_id)
),
sums AS (
    SELECT
        trace_id, rank, device, stream, count(*) FILTER (is_counted) AS kernel_count,
        sum(end_ns - start_ns) FILTER (is_counted) AS sum_ns,
        sum(end_ns - start_ns) FILTER (is_counted AND kind = 'compute')
            AS compute_ns,
        sum(end_ns - start_ns) FILTER (is_counted AND kind = 'communication')
            AS communication_ns,
        sum(end_ns - start_ns) FILTER (kind = 'memory') AS memory_ns,
        sum(greatest(0, end_ns - free_ns)) AS busy_ns,
        min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        -- As in time_breakdown, operations without a duration do not widen the window.
        min(start_ns) FILTER (end_ns > start_ns) AS from_ns,
        max(end_ns) FILTER (end_ns > start_ns) AS to_ns
    FROM reaching
    GROUP BY trace_id, rank, device, stream
),
windows AS (
    SELECT trace_id, max(to_ns) - min(from_ns) AS window_ns
    FROM sums
    GROUP BY trace_id
)
SELECT
    trace_id, rank, device, stream, kernel_count,
    coalesce(compute_ns, 0) / 1000.0 AS compute_sum_us,
    coalesce(communication_ns, 0) / 1000.0 AS communication_sum_us,
    coalesce(memory_ns, 0) / 1000.0 AS memory_sum_us,
    sum_ns / 1000.0 AS sum_us, busy_ns / 1000.0 AS busy_us,
    (end_ns - start_ns - busy_ns) / 1000.0 AS idle_inside_us, window_ns / 1000.0 AS window_us,
    100.0 * busy_ns / window_ns AS busy_pct, start_ns, end_ns
FROM sums
JOIN windows USING (trace_id);
