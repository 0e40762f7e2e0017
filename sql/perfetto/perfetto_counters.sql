-- One row per change of a counter: its value from that moment to the next.
--
-- Achieved TFLOP/s and GB/s of a device are the sums over the operations running at the moment:
-- each at the rate of its operator, whose work is spread evenly over the kernels that do it, so
-- that the area below the curve is the work. Operations of unknown work add nothing. The queue
-- depth of a stream is that of queue_depth.
--
-- key: trace_id, device, counter, start_ns
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- counter   VARCHAR  achieved TFLOP/s, achieved GB/s, or queue depth with its stream
-- unit      VARCHAR  TFLOP/s, GB/s or operations
-- start_ns  BIGINT   start of the interval, ns on the file's clock
-- end_ns    BIGINT   end of the interval, ns; NULL after the last change
-- value     DOUBLE   value in the interval
CREATE VIEW perfetto_counters AS
WITH rates AS (
    SELECT
        trace_id, device, start_ns, end_ns, coalesce(group_tflops, tflops) AS tflops,
        coalesce(group_bytes / nullif(group_us, 0) / 1e3, gbps) AS gbps
    FROM kernel_roofline
),
edges AS (
    -- Decimals, so that the sum is exactly 0 when nothing runs, without accumulated rounding
    -- errors.
    SELECT
        trace_id, device, unit, unnest([start_ns, end_ns]) AS at_ns,
        unnest([1, -1]) * TRY_CAST(rate AS DECIMAL(30, 6)) AS step
    FROM rates
    UNPIVOT (rate FOR unit IN (tflops AS 'TFLOP/s', gbps AS 'GB/s'))
    WHERE end_ns > start_ns
),
changes AS (
    SELECT trace_id, device, unit, at_ns, sum(step) AS step
    FROM edges
    GROUP BY trace_id, device, unit, at_ns
)
SELECT
    trace_id, device, concat('achieved ', unit) AS counter, unit, at_ns AS start_ns,
    lead(at_ns) OVER in_time AS end_ns, CAST(sum(step) OVER in_time AS DOUBLE) AS value
FROM changes
WINDOW in_time AS (
    PARTITION BY trace_id, device, unit ORDER BY at_ns ROWS UNBOUNDED PRECEDING
)
UNION ALL
SELECT
    trace_id, device, concat('queue depth, stream ', coalesce(stream, 0)), 'operations', start_ns,
    end_ns, CAST(depth AS DOUBLE)
FROM queue_depth;
