-- One row per device and phase of training: how long the device works for it. Empty for traces that
-- show neither a backward nor an optimizer.
--
-- Phases may run at the same time, so their times need not add up to the device's busy time.
--
-- key: trace_id, device, phase
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- phase         VARCHAR  forward, backward (with weight gradients and recomputation), optimizer, or
--                        other: unknown, or no part of the training (under torch.no_grad)
-- kernel_count  BIGINT   operations
-- busy_us       DOUBLE   time with at least one of them running, µs
CREATE VIEW training_phases AS
WITH covered AS (
    SELECT
        trace_id, rank, device, phase, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, phase ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_ns
    FROM _training_kernels
)
SELECT
    trace_id, any_value(rank) AS rank, device, phase, count(*) AS kernel_count,
    sum(greatest(end_ns - greatest(start_ns, covered_ns), 0)) / 1000.0 AS busy_us
FROM covered
GROUP BY trace_id, device, phase;
