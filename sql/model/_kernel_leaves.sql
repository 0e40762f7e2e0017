-- One row per device operation with an operator known: by its launch, or by the capture of the
-- graph that replayed it.
--
-- Reads other traces: those of _capture_links.
--
-- trace_id     VARCHAR  trace
-- kernel_id    BIGINT   the operation
-- op_trace_id  VARCHAR  trace of the operator; another for a replay
-- op_id        BIGINT   counted operator, NULL where the work is of no product, attention or expert
-- op           VARCHAR  name of the operator whose work it is
-- work_id      UBIGINT  that work, in operator_works of the operator's trace
-- map_rule     VARCHAR  correlation or graph_capture
CREATE VIEW _kernel_leaves AS
WITH found AS (
    SELECT
        o.trace_id, o.kernel_id, o.trace_id AS op_trace_id, o.op_id, k.op_name, o.own_work_id,
        'correlation' AS map_rule
    FROM _kernel_ops AS o
    JOIN kernels AS k ON k.trace_id = o.trace_id AND k.kernel_id = o.kernel_id
    UNION ALL
    SELECT trace_id, kernel_id, op_trace_id, op_id, op_name, own_work_id, 'graph_capture'
    FROM _replayed_ops
)
SELECT
    f.trace_id, f.kernel_id, f.op_trace_id, f.op_id, coalesce(l.op, f.op_name) AS op,
    coalesce(l.work_id, f.own_work_id) AS work_id, f.map_rule
FROM found AS f
LEFT JOIN counted_operators AS l ON l.trace_id = f.op_trace_id AND l.op_id = f.op_id
WHERE coalesce(l.op, f.op_name) IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY f.trace_id, f.kernel_id ORDER BY f.map_rule DESC
) = 1;
