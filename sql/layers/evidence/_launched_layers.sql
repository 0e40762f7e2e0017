-- One row per device operation that a backward function launched, with the layer whose forward it
-- differentiates: that of the operator that created the function's node, by autograd's numbers. Of
-- nested functions the outermost counts.
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
    -- Threads of modules may be numbered differently from those of operators.
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

-- One row per device operation that a layer's stretch of host time launched, by a launch of its
-- own: a graph's kernels share one launch, which does not show layers. Modules launch on their
-- thread; annotations cover launches of other threads of the process at the same time (backward).
-- If no launch is on the thread that shows layers, thread numbers differ and any thread will do.
-- Annotated layers must run attention, each kernel of it at most twice: otherwise the cycle is
-- something else. Copies and fills of memory are placed like kernels, but decide nothing. Kernels
-- of a backward function belong to the layer that it differentiates.
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL if unknown
-- device       INTEGER  device
-- kernel_id    BIGINT   the operation
-- kind         VARCHAR  compute, communication or memory
-- start_ns     BIGINT   its start
-- end_ns       BIGINT   its end
-- series       VARCHAR  the model
-- call_id      BIGINT   call of the model, from 0
-- layer_id     BIGINT   layer, from 0
-- num_layers   BIGINT   layers of the model
-- component    VARCHAR  part of the layer, NULL if unknown
-- direction    VARCHAR  forward, backward or weight gradient in training, NULL if unknown
-- pass_source  VARCHAR  module scopes or annotations
CREATE VIEW _launched_layers AS
WITH launched AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.name, k.kind, k.start_ns, k.end_ns,
        k.launch_ns, k.launch_pid, k.launch_tid, r.role = 'inside' AS is_attention
    FROM kernels AS k
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE k.launch_kernels = 1
),
threads AS (
    SELECT
        h.trace_id, h.pid, h.tid, any_value(h.pass_source) AS pass_source,
        any_value(h.pass_source) = 'annotations' OR count(l.launch_tid) = 0 AS is_any_thread
    FROM (SELECT DISTINCT trace_id, pid, tid, pass_source FROM _host_layers) AS h
    LEFT JOIN (
        SELECT DISTINCT trace_id, launch_pid, launch_tid FROM launched WHERE kind <> 'memory'
    ) AS l
        ON l.trace_id = h.trace_id AND l.launch_pid = h.pid AND l.launch_tid = h.tid
    GROUP BY h.trace_id, h.pid, h.tid
),
fitting AS (
    SELECT l.*, t.tid AS host_tid
    FROM launched AS l
    JOIN threads AS t
        ON t.trace_id = l.trace_id
        AND t.pid = l.launch_pid
        AND (t.is_any_thread OR t.tid = l.launch_tid)
),
placed AS (
    SELECT
        f.trace_id, f.rank, f.device, f.kernel_id, f.name, f.kind, f.is_attention, f.start_ns,
        f.end_ns, h.series, h.call_id, h.layer_id, h.num_layers, h.component,
        h.direction, h.pass_source
    FROM fitting AS f
    ASOF JOIN _host_layers AS h
        ON h.trace_id = f.trace_id
        AND h.pid = f.launch_pid
        AND h.tid = f.host_tid
        AND h.start_ns <= f.launch_ns
    WHERE f.launch_ns < h.end_ns
),
attentions AS (
    SELECT trace_id, rank, device, call_id, layer_id, name, count(*) AS kernel_count
    FROM placed
    WHERE is_attention
    GROUP BY trace_id, rank, device, call_id, layer_id, name
),
calls AS (
    SELECT trace_id, rank, device, call_id
    FROM attentions
    GROUP BY trace_id, rank, device, call_id
    HAVING max(kernel_count) <= 2
)
SELECT
    p.trace_id, p.rank, p.device, p.kernel_id, p.kind, p.start_ns, p.end_ns, p.series, p.call_id,
    p.layer_id, p.num_layers, p.component,
    CASE WHEN t.trace_id IS NOT NULL THEN 'forward' ELSE p.direction END AS direction,
    p.pass_source
FROM placed AS p
LEFT JOIN (SELECT DISTINCT trace_id FROM _backward_layers) AS t ON t.trace_id = p.trace_id
ANTI JOIN _backward_layers AS b ON b.trace_id = p.trace_id AND b.kernel_id = p.kernel_id
LEFT JOIN calls AS c
    ON c.trace_id = p.trace_id
    AND c.device = p.device
    AND c.call_id = p.call_id
WHERE c.call_id IS NOT NULL OR p.pass_source = 'module scopes'
UNION ALL
SELECT
    trace_id, rank, device, kernel_id, kind, start_ns, end_ns, series, call_id, layer_id,
    num_layers, NULL, 'backward', 'module scopes'
FROM _backward_layers;
