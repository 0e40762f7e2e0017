-- One row per stream: how the host feeds it.
--
-- key: trace_id, device, stream?
--
-- trace_id            VARCHAR  trace
-- rank                INTEGER  rank in the job, NULL if unknown
-- device              INTEGER  device
-- stream              BIGINT   stream
-- kernel_count        BIGINT   operations whose launch the trace shows
-- launches            BIGINT   calls that launched them
-- graph_kernels       BIGINT   operations that share their launch with others
-- median_call_us      DOUBLE   median duration of a call, µs
-- median_dur_us       DOUBLE   median duration of an operation, µs
-- median_latency_us   DOUBLE   median from the call's start to the operation's, µs
-- p90_latency_us      DOUBLE   90th percentile, µs
-- max_latency_us      DOUBLE   longest, µs
-- median_overhead_us  DOUBLE   median of the part not spent queued behind other operations of the
--                              stream, µs
-- shorter_pct         DOUBLE   operations shorter than the call that launched only them
-- negative            BIGINT   operations that start before their call: the clocks disagree
CREATE VIEW launch_summary AS
WITH calls AS (
    SELECT
        trace_id, rank, device, stream, count(*) AS launches,
        median(call_us) AS median_call_us
    FROM (
        SELECT DISTINCT trace_id, rank, device, stream, launch_id, call_us FROM launch_latency
    )
    GROUP BY trace_id, rank, device, stream
),
operations AS (
    SELECT
        trace_id, rank, device, stream, count(*) AS kernel_count,
        count(*) FILTER (launch_kernels > 1) AS graph_kernels, median(dur_us) AS median_dur_us,
        median(latency_us) AS median_latency_us,
        quantile_cont(latency_us, 0.9) AS p90_latency_us, max(latency_us) AS max_latency_us,
        median(overhead_us) AS median_overhead_us,
        100.0 * count(*) FILTER (dur_us < call_us AND launch_kernels = 1) / count(*)
            AS shorter_pct,
        count(*) FILTER (latency_us < 0) AS negative
    FROM launch_latency
    GROUP BY trace_id, rank, device, stream
)
SELECT
    operations.trace_id, operations.rank, operations.device, operations.stream,
    operations.kernel_count, calls.launches, operations.graph_kernels, calls.median_call_us,
    operations.median_dur_us, operations.median_latency_us, operations.p90_latency_us,
    operations.max_latency_us, operations.median_overhead_us, operations.shorter_pct,
    operations.negative
FROM operations
JOIN calls
    ON calls.trace_id = operations.trace_id
    AND calls.device = operations.device
    AND calls.stream IS NOT DISTINCT FROM operations.stream;
