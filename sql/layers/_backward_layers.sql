-- One row per device operation that a backward function launched, with the layer whose forward it
-- differentiates: that of the operator which made the function's node, by the autograd's numbers.
-- Of functions within functions the outermost counts.
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL when unknown
-- device      INTEGER  device
-- kernel_id   BIGINT   the operation
-- kind        VARCHAR  compute, communication or memory
-- start_ns    BIGINT   its start
-- end_ns      BIGINT   its end
-- series      VARCHAR  the model
-- call_id     BIGINT   call of the model, from 0
-- layer_id    BIGINT   layer, from 0
-- num_layers  BIGINT   layers of the model
CREATE VIEW _backward_layers AS
WITH functions AS (
    SELECT trace_id, event_id, pid, tid, start_ns, end_ns
    FROM autograd_calls
    WHERE is_backward
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns)
),
forwards AS (
    SELECT f.trace_id, f.event_id AS function_id, o.pid, o.tid, o.start_ns
    FROM functions AS f
    JOIN autograd_links AS l ON l.trace_id = f.trace_id AND l.function_id = f.event_id
    JOIN autograd_calls AS o ON o.trace_id = l.trace_id AND o.event_id = l.op_id
),
threads AS (
    -- Threads of modules may be numbered apart from those of operators.
    SELECT h.trace_id, h.pid, h.tid, count(f.tid) = 0 AS is_any_thread
    FROM (
        SELECT DISTINCT trace_id, pid, tid FROM _host_layers WHERE pass_source = 'module scopes'
    ) AS h
    LEFT JOIN (SELECT DISTINCT trace_id, pid, tid FROM forwards) AS f
        ON f.trace_id = h.trace_id AND f.pid = h.pid AND f.tid = h.tid
    GROUP BY h.trace_id, h.pid, h.tid
),
fitting AS (
    SELECT f.*, t.tid AS host_tid
    FROM forwards AS f
    JOIN threads AS t
        ON t.trace_id = f.trace_id AND t.pid = f.pid AND (t.is_any_thread OR t.tid = f.tid)
),
layered AS (
    SELECT
        f.trace_id, f.function_id, h.series, h.call_id, h.layer_id, h.num_layers
    FROM fitting AS f
    ASOF JOIN _host_layers AS h
        ON h.trace_id = f.trace_id AND h.pid = f.pid AND h.tid = f.host_tid
        AND h.start_ns <= f.start_ns
    WHERE f.start_ns < h.end_ns AND h.pass_source = 'module scopes'
),
launched AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.kind, k.start_ns, k.end_ns,
        f.event_id AS function_id
    FROM kernels AS k
    ASOF JOIN functions AS f
        ON f.trace_id = k.trace_id AND f.pid = k.launch_pid AND f.tid = k.launch_tid
        AND f.start_ns <= k.launch_ns
    WHERE k.launch_ns < f.end_ns AND k.launch_kernels = 1
)
SELECT
    k.trace_id, k.rank, k.device, k.kernel_id, k.kind, k.start_ns, k.end_ns, l.series, l.call_id,
    l.layer_id, l.num_layers
FROM launched AS k
JOIN layered AS l ON l.trace_id = k.trace_id AND l.function_id = k.function_id;
