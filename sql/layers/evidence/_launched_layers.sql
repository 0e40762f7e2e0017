-- One row per device operation that a backward function launched, with the layer whose forward it
-- differentiates: that of the operator that created the function's node, by autograd's numbers. Of
-- nested functions the outermost counts.
--
-- AccumulateGrad adds a gradient to its parameter's; it has no number. Autograd runs it directly
-- after the function that computed the gradient, on the same stream, and what it launches there
-- belongs to that function's layer. Its hooks also reduce the gradients of several layers (a bucket
-- of data parallelism): communication, and operations on other streams, belong to no layer.
CREATE VIEW _backward_layers AS
WITH functions AS (
    SELECT
        trace_id, event_id, pid, tid, start_ns, end_ns,
        ends_with(name, '::AccumulateGrad') AS accumulates
    FROM autograd_calls
    WHERE is_backward AND outer_function_id IS NULL
),
layered AS (
    SELECT
        l.trace_id, l.function_id, o.series, o.call_id, o.layer_id, o.num_layers
    FROM functions AS f
    JOIN autograd_links AS l ON l.trace_id = f.trace_id AND l.function_id = f.event_id
    JOIN _operator_layers AS o ON o.trace_id = l.trace_id AND o.event_id = l.forward_op_id
    WHERE o.pass_source = 'module scopes'
),
computed AS (
    -- Each function with the one that decides its layer: itself, or that whose gradient it adds.
    SELECT
        f.trace_id, f.pid, f.tid, f.start_ns, f.end_ns, f.accumulates, c.event_id AS function_id
    FROM functions AS f
    ASOF JOIN (SELECT * FROM functions WHERE NOT accumulates) AS c
        ON c.trace_id = f.trace_id AND c.pid = f.pid AND c.tid = f.tid
        AND c.start_ns <= f.start_ns
),
launched AS MATERIALIZED (
    SELECT
        k.trace_id, k.rank, k.device, k.stream, k.kernel_id, k.kind, k.start_ns, k.end_ns,
        f.accumulates, l.series, l.call_id, l.layer_id, l.num_layers
    FROM kernels AS k
    ASOF JOIN computed AS f
        ON f.trace_id = k.trace_id AND f.pid = k.issued_pid AND f.tid = k.issued_tid
        AND f.start_ns <= k.issued_ns
    JOIN layered AS l ON l.trace_id = f.trace_id AND l.function_id = f.function_id
    WHERE
        k.issued_ns < f.end_ns
        AND (k.launch_kernels = 1 OR k.issued_by IS DISTINCT FROM k.launch_id)
),
streams AS (
    SELECT DISTINCT trace_id, device, stream
    FROM launched
    WHERE NOT accumulates AND kind = 'compute'
)
SELECT
    k.trace_id, k.rank, k.device, k.kernel_id, k.kind, k.start_ns, k.end_ns, k.series, k.call_id,
    k.layer_id, k.num_layers
FROM launched AS k
LEFT JOIN streams AS s
    ON s.trace_id = k.trace_id AND s.device = k.device AND s.stream = k.stream
WHERE NOT k.accumulates OR (s.stream IS NOT NULL AND k.kind <> 'communication');

-- One row per device operation that a layer's stretch of host time launched, by a launch or an
-- operator of its own: a graph's kernels share one launch, which does not show layers. Modules
-- launch on their thread; annotations cover launches of other threads of the process at the same
-- time (backward). If no launch is on the thread that shows layers, thread numbers differ and any
-- thread will do. Annotated layers must run attention, each kernel of it at most twice: otherwise
-- the cycle is something else. Copies and fills of memory are placed like kernels, but decide
-- nothing. Kernels of a backward function belong to the layer that it differentiates; the calls
-- that autograd records run forward, others (under torch.no_grad: a rollout) have no direction.
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
        k.issued_ns, k.issued_pid, k.issued_tid, r.role = 'inside' AS is_attention
    FROM kernels AS k
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE k.launch_kernels = 1 OR k.issued_by IS DISTINCT FROM k.launch_id
),
threads AS (
    SELECT
        h.trace_id, h.pid, h.tid, any_value(h.pass_source) AS pass_source,
        any_value(h.pass_source) = 'annotations' OR count(l.issued_tid) = 0 AS is_any_thread
    FROM (SELECT DISTINCT trace_id, pid, tid, pass_source FROM _host_layers) AS h
    LEFT JOIN (
        SELECT DISTINCT trace_id, issued_pid, issued_tid FROM launched WHERE kind <> 'memory'
    ) AS l
        ON l.trace_id = h.trace_id AND l.issued_pid = h.pid AND l.issued_tid = h.tid
    GROUP BY h.trace_id, h.pid, h.tid
),
fitting AS (
    SELECT l.*, t.tid AS host_tid
    FROM launched AS l
    JOIN threads AS t
        ON t.trace_id = l.trace_id
        AND t.pid = l.issued_pid
        AND (t.is_any_thread OR t.tid = l.issued_tid)
),
placed AS (
    SELECT
        f.trace_id, f.rank, f.device, f.kernel_id, f.name, f.kind, f.is_attention, f.start_ns,
        f.end_ns, h.pid, h.series, h.call_id, h.layer_id, h.num_layers, h.component,
        h.direction, h.pass_source
    FROM fitting AS f
    ASOF JOIN _host_layers AS h
        ON h.trace_id = f.trace_id
        AND h.pid = f.issued_pid
        AND h.tid = f.host_tid
        AND h.start_ns <= f.issued_ns
    WHERE f.issued_ns < h.end_ns
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
),
differentiated AS (
    -- Calls of modules in which an operator creates a node of the autograd graph.
    SELECT DISTINCT trace_id, pid, call_id FROM _operator_layers
)
SELECT
    p.trace_id, p.rank, p.device, p.kernel_id, p.kind, p.start_ns, p.end_ns, p.series, p.call_id,
    p.layer_id, p.num_layers, p.component,
    CASE WHEN d.call_id IS NOT NULL THEN 'forward' ELSE p.direction END AS direction,
    p.pass_source
FROM placed AS p
LEFT JOIN (SELECT DISTINCT trace_id FROM _backward_layers) AS t ON t.trace_id = p.trace_id
LEFT JOIN differentiated AS d
    ON d.trace_id = t.trace_id AND d.pid = p.pid AND d.call_id = p.call_id
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
