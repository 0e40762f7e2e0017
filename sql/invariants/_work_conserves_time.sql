-- The time of a pass is that of its kernels: mapped to an operator, of overhead, and of the rest.
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job
-- device    INTEGER  device
-- pass_id   BIGINT   pass that breaks the law
CREATE VIEW _work_conserves_time AS
WITH timed AS (
    SELECT r.trace_id, r.device, r.pass_id, sum(k.dur_ns) / 1000.0 AS kernels_us
    FROM kernel_roofline AS r
    JOIN kernels AS k ON k.trace_id = r.trace_id AND k.kernel_id = r.kernel_id
    WHERE r.pass_id IS NOT NULL
    GROUP BY r.trace_id, r.device, r.pass_id
)
SELECT p.trace_id, p.rank, p.device, p.pass_id
FROM pass_mfu AS p
LEFT JOIN timed AS t
    ON t.trace_id = p.trace_id AND t.device = p.device AND t.pass_id = p.pass_id
WHERE
    p.time_basis = 'sum'
    AND (
        abs(p.mapped_us + p.overhead_us + p.unmapped_us - p.sum_us) > 0.0005
        OR abs(p.sum_us - t.kernels_us) > 0.0005
        OR t.kernels_us IS NULL
    );
