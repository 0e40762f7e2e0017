-- One row per device operation whose launch, or whose place on the device, is inside scopes
-- (modules, annotations, autograd's functions), or whose instruction has a path in the framework
-- (XLA): the path of their names, and the phase of training.
--
-- key: trace_id, kernel_id
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the operation
-- path       VARCHAR  scopes, joined by =>, the outermost first; NULL if only the phase is known
-- phase      VARCHAR  forward, backward or recompute; NULL in a trace without a backward pass,
--                     outside modules and differentiated operators, and under torch.no_grad
CREATE VIEW kernel_scopes AS
WITH compiled AS (
    SELECT DISTINCT trace_id FROM _xla_ops
)
SELECT s.trace_id, s.kernel_id, s.path, s.phase
FROM _launch_scopes AS s
ANTI JOIN compiled AS c ON c.trace_id = s.trace_id
UNION ALL
SELECT o.trace_id, o.kernel_id, o.path, o.phase
FROM _device_ops AS o
SEMI JOIN compiled AS c ON c.trace_id = o.trace_id
WHERE o.role = 'op' AND (o.path IS NOT NULL OR o.phase IS NOT NULL);
