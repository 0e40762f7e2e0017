-- One row per Ascend device with attention: the idle time that separates two passes. Sorted by
-- length, the idle times of the main streams jump from those within a pass to those between two:
-- the limit is the midpoint of the jump with the largest ratio. If there is no five-fold jump
-- to a millisecond or more, the limit is far above the usual idle times.
-- trace_id      VARCHAR  trace
-- device        INTEGER  device
-- threshold_ns  BIGINT   longer idle times separate passes
CREATE VIEW _gap_thresholds AS
WITH pauses AS (
    SELECT
        trace_id, device, pause_ns,
        lag(pause_ns) OVER (PARTITION BY trace_id, device ORDER BY pause_ns) AS shorter_ns
    FROM _ascend_marks
    WHERE pause_ns > 0
),
jumps AS (
    SELECT
        trace_id, device, median(pause_ns) AS median_ns, quantile_cont(pause_ns, 0.95) AS p95_ns,
        arg_max(shorter_ns + (pause_ns - shorter_ns) / 2, (pause_ns / shorter_ns, pause_ns))
            FILTER (pause_ns >= 1000000 AND pause_ns // 5 >= shorter_ns) AS middle_ns
    FROM pauses
    GROUP BY trace_id, device
)
SELECT
    trace_id, device,
    -- No idle time is longer than 9.2e18 ns, which 64 bits hold.
    CAST(least(
        coalesce(middle_ns, greatest(1000000, 20 * median_ns, 3 * p95_ns)), 9.2e18
    ) AS BIGINT) AS threshold_ns
FROM jumps;
