-- One row per pass of a device that trains: its time, with the work before and after its layers and
-- with its backward, and its training step. An optimizer step ends a training step: the passes
-- between two of them form one step, including all micro-batches and passes that recompute
-- activations. Without an optimizer each forward pass begins a step; if the host shows which layers
-- run backward, these passes then have no row.
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- pass_id   BIGINT   pass
-- step_ns   BIGINT   start of the last kernel of the optimizer before the pass, NULL before the
--                    first; without an optimizer, start of the pass, or of the forward
--                    pass before it
-- start_ns  BIGINT   start of its first kernel, ns
-- end_ns    BIGINT   end of its last kernel, ns
-- complete  BOOLEAN  it has all layers
CREATE VIEW _trained_passes AS
WITH trained AS (
    SELECT trace_id, device, bool_or(phase = 'optimizer') AS is_optimized
    FROM _training_kernels
    GROUP BY trace_id, device
)
SELECT
    p.trace_id, p.device, p.pass_id,
    CASE
        WHEN t.is_optimized THEN o.start_ns
        ELSE max(CASE WHEN p.direction IS DISTINCT FROM 'backward' THEN p.start_ns END) OVER (
            PARTITION BY p.trace_id, p.device ORDER BY p.start_ns, p.pass_id
        )
    END AS step_ns,
    w.start_ns, w.end_ns, p.complete
FROM passes AS p
JOIN trained AS t ON t.trace_id = p.trace_id AND t.device = p.device
JOIN pass_windows AS w
    ON w.trace_id = p.trace_id AND w.device = p.device AND w.pass_id = p.pass_id
    AND w.window_kind = 'extended'
ASOF LEFT JOIN (SELECT * FROM _training_kernels WHERE phase = 'optimizer') AS o
    ON o.trace_id = p.trace_id AND o.device = p.device AND o.start_ns <= p.start_ns
WHERE
    t.is_optimized OR p.direction IS NULL
    OR p.pass_source NOT IN ('module scopes', 'annotations');
