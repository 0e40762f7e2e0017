-- One row per device operation that was launched while a backward function of PyTorch ran on that
-- thread: gradients, and what is computed again for them.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the operation
CREATE VIEW _backward_launches AS
SELECT k.trace_id, k.kernel_id
FROM kernels AS k
ASOF JOIN (
    SELECT trace_id, pid, tid, start_ns, end_ns
    FROM autograd_calls
    WHERE is_backward AND outer_function_id IS NULL
) AS f
    ON f.trace_id = k.trace_id AND f.pid = k.issued_pid AND f.tid = k.issued_tid
    AND f.start_ns <= k.issued_ns
WHERE k.issued_ns < f.end_ns;
