-- One row per kernel that computes activations again: launched by an operator that a backward
-- function of PyTorch runs, and that creates a node of the autograd graph.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the kernel
CREATE VIEW _recomputed_kernels AS
WITH operators AS (
    SELECT trace_id, pid, tid, start_ns, end_ns
    FROM autograd_calls
    WHERE NOT is_backward AND outer_function_id IS NOT NULL
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns)
)
SELECT k.trace_id, k.kernel_id
FROM kernels AS k
ASOF JOIN operators AS o
    ON o.trace_id = k.trace_id AND o.pid = k.issued_pid AND o.tid = k.issued_tid
    AND o.start_ns <= k.issued_ns
WHERE k.issued_ns < o.end_ns;
