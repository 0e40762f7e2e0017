-- A layer's sum and counts are those of its kernels and copies, its extent is that of its kernels.
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job
-- device    INTEGER  device
-- pass_id   BIGINT   pass
-- layer_id  BIGINT   layer that breaks the law
CREATE VIEW _layers_hold_their_kernels AS
WITH gathered AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id,
        count(*) FILTER (kernels.kind <> 'memory') AS kernel_count,
        count(*) FILTER (kernels.kind = 'memory') AS memory_count,
        sum(kernels.dur_ns) AS sum_ns,
        min(kernels.start_ns) FILTER (kernels.kind <> 'memory') AS start_ns,
        max(kernels.end_ns) FILTER (kernels.kind <> 'memory') AS end_ns
    FROM layer_kernels AS k
    JOIN kernels ON kernels.trace_id = k.trace_id AND kernels.kernel_id = k.kernel_id
    GROUP BY k.trace_id, k.rank, k.device, k.pass_id, k.layer_id
)
SELECT l.trace_id, l.rank, l.device, l.pass_id, l.layer_id
FROM layers AS l
LEFT JOIN gathered AS g
    ON g.trace_id = l.trace_id
    AND g.device = l.device
    AND g.pass_id = l.pass_id
    AND g.layer_id = l.layer_id
WHERE
    g.kernel_count IS DISTINCT FROM l.kernel_count
    OR g.memory_count IS DISTINCT FROM l.memory_count
    OR g.start_ns IS DISTINCT FROM l.start_ns
    OR g.end_ns IS DISTINCT FROM l.end_ns
    OR abs(g.sum_ns / 1000.0 - l.sum_us) > 0.0005;
