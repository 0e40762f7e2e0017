-- A layer's sum and counts are those of its kernels and copies. It begins and ends with one of its
-- kernels, and all kernels on its stream lie between.
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job
-- device    INTEGER  device
-- pass_id   BIGINT   pass
-- layer_id  BIGINT   layer that breaks the law
CREATE VIEW _layers_hold_their_kernels AS
WITH gathered AS (
    SELECT
        l.trace_id, l.device, l.pass_id, l.layer_id,
        count(*) FILTER (k.kind <> 'memory') AS kernel_count,
        count(*) FILTER (k.kind = 'memory') AS memory_count,
        sum(k.dur_ns) AS sum_ns,
        bool_or(k.kind <> 'memory' AND k.start_ns = l.start_ns)
            AND bool_or(k.kind <> 'memory' AND k.end_ns = l.end_ns)
            AND bool_and(
                k.kind = 'memory' OR k.stream IS DISTINCT FROM l.stream
                OR (k.start_ns >= l.start_ns AND k.end_ns <= l.end_ns)
            ) AS is_between
    FROM layers AS l
    JOIN layer_kernels AS p
        ON p.trace_id = l.trace_id
        AND p.device = l.device
        AND p.pass_id = l.pass_id
        AND p.layer_id = l.layer_id
    JOIN kernels AS k ON k.trace_id = p.trace_id AND k.kernel_id = p.kernel_id
    GROUP BY l.trace_id, l.device, l.pass_id, l.layer_id
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
    OR g.is_between IS DISTINCT FROM TRUE
    OR abs(g.sum_ns / 1000.0 - l.sum_us) > 0.0005;
