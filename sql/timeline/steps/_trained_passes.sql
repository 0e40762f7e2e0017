-- One row per pass of a device that shows training, though not which passes run backward: its time
-- with what comes before and after its layers, the backward with them, and the step that it is of.
-- A step ends with the optimizer: the passes between two of them are one, among them those that
-- compute activations again. Without an optimizer each pass is a step.
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- pass_id   BIGINT   pass
-- step_ns   BIGINT   start of the last kernel of the optimizer before the pass, NULL before the
--                    first; of a device without, start of the pass
-- start_ns  BIGINT   start of its first kernel, ns
-- end_ns    BIGINT   end of its last one, ns
-- complete  BOOLEAN  all layers are there
CREATE VIEW _trained_passes AS
WITH trained AS (
    SELECT trace_id, device, bool_or(phase = 'optimizer') AS is_optimized
    FROM _training_kernels
    GROUP BY trace_id, device
)
SELECT
    p.trace_id, p.device, p.pass_id,
    CASE WHEN t.is_optimized THEN o.start_ns ELSE p.start_ns END AS step_ns,
    w.start_ns, w.end_ns, p.complete
FROM passes AS p
JOIN trained AS t ON t.trace_id = p.trace_id AND t.device = p.device
JOIN pass_windows AS w
    ON w.trace_id = p.trace_id AND w.device = p.device AND w.pass_id = p.pass_id
    AND w.window_kind = 'extended'
ASOF LEFT JOIN (SELECT * FROM _training_kernels WHERE phase = 'optimizer') AS o
    ON o.trace_id = p.trace_id AND o.device = p.device AND o.start_ns <= p.start_ns
WHERE p.direction IS NULL;
