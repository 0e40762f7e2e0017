-- One row per kernel that starts in a pass, or in some layers of it: the content of a small trace.
-- `_perfetto_kernels(trace_id, pass, layers)`; an empty list of layers selects the whole pass with
-- the parts around its layers.
-- kernel_id    BIGINT   operation
-- device       INTEGER  device
-- stream       BIGINT   stream, 0 if it has none
-- start_ns     BIGINT   start in ns on the file's clock
-- end_ns       BIGINT   end in ns on the file's clock
-- name         VARCHAR  full name
-- category     VARCHAR  kernel category
-- kind         VARCHAR  compute, communication or memory
-- correlation  BIGINT   number that links it to its launch
-- pass_id      BIGINT   pass of the layer that it belongs to, NULL for none
-- layer_id     BIGINT   that layer
-- half         VARCHAR  half of that layer
CREATE MACRO _perfetto_kernels(of_trace, of_pass, of_layers) AS TABLE
WITH windows AS (
    SELECT device, start_ns, end_ns
    FROM perfetto_ranges
    WHERE
        trace_id = of_trace AND pass_id = of_pass
        AND CASE
            WHEN len(of_layers) = 0 THEN range <> 'gap'
            ELSE range = 'layer' AND list_contains(of_layers, layer_id)
        END
)
SELECT
    k.kernel_id, k.device, coalesce(k.stream, 0) AS stream, k.start_ns, k.end_ns, k.name,
    k.category, k.kind, k.correlation, l.pass_id, l.layer_id, l.half
FROM kernels AS k
SEMI JOIN windows AS w
    ON w.device = k.device AND k.start_ns >= w.start_ns AND k.start_ns < w.end_ns
LEFT JOIN layer_kernels AS l ON l.trace_id = k.trace_id AND l.kernel_id = k.kernel_id
WHERE k.trace_id = of_trace;
