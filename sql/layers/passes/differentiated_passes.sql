-- One row per pass of a trace that shows backward functions of PyTorch: whether the pass is part of
-- training. It is if a call of autograd runs while it is launched: an operator that creates a node
-- of the graph, or a backward function. A pass under torch.no_grad creates none: a rollout, or a
-- reference model's. If the trace shows no operator that creates a node, each pass is part of it.
--
-- stored: meanwhile
--
-- key: trace_id, device, pass_id
--
-- trace_id           VARCHAR  trace
-- device             INTEGER  device
-- pass_id            BIGINT   pass, from 0
-- is_differentiated  BOOLEAN  part of training; also if the trace does not show its launches
CREATE VIEW differentiated_passes AS
WITH traces_seen AS (
    SELECT trace_id, bool_or(NOT is_backward) AS has_nodes
    FROM autograd_calls
    GROUP BY trace_id
),
launches AS (
    SELECT
        p.trace_id, p.device, p.pass_id, k.issued_pid, k.issued_tid,
        min(k.issued_ns) AS first_ns, max(k.issued_ns) AS last_ns, t.has_nodes
    FROM _kernel_places AS p
    JOIN traces_seen AS t ON t.trace_id = p.trace_id
    JOIN kernels AS k ON k.trace_id = p.trace_id AND k.kernel_id = p.kernel_id
    WHERE p.layer_id IS NOT NULL
    GROUP BY p.trace_id, p.device, p.pass_id, k.issued_pid, k.issued_tid, t.has_nodes
)
SELECT
    l.trace_id, l.device, l.pass_id,
    bool_or(NOT l.has_nodes OR l.first_ns IS NULL OR c.end_ns > l.first_ns) AS is_differentiated
FROM launches AS l
ASOF LEFT JOIN autograd_calls AS c
    ON c.trace_id = l.trace_id AND c.pid = l.issued_pid AND c.tid = l.issued_tid
    AND c.start_ns <= l.last_ns
GROUP BY l.trace_id, l.device, l.pass_id;
