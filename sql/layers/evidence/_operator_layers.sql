-- One row per operator that creates a node of PyTorch's autograd graph in a layer's stretch of host
-- time. An operator around a layer is the layer's if it runs no other: checkpointing
-- (CheckpointFunction) runs the layer's module, and its node goes back through the layer.
--
-- trace_id     VARCHAR  trace
-- event_id     BIGINT   the operator, as in autograd_calls
-- pid          VARCHAR  process
-- series       VARCHAR  the model
-- call_id      BIGINT   call of the model, from 0
-- layer_id     BIGINT   layer, from 0
-- num_layers   BIGINT   layers of the model
-- pass_source  VARCHAR  module scopes or annotations
CREATE VIEW _operator_layers AS
WITH operators AS (
    SELECT trace_id, event_id, pid, tid, start_ns, end_ns
    FROM autograd_calls
    WHERE NOT is_backward AND outer_function_id IS NULL
),
threads AS (
    -- Threads of modules may be numbered differently from those of operators.
    SELECT
        h.trace_id, h.pid, h.tid,
        any_value(h.pass_source) = 'annotations' OR count(o.tid) = 0 AS is_any_thread
    FROM (SELECT DISTINCT trace_id, pid, tid, pass_source FROM _host_layers) AS h
    LEFT JOIN (SELECT DISTINCT trace_id, pid, tid FROM operators) AS o
        ON o.trace_id = h.trace_id AND o.pid = h.pid AND o.tid = h.tid
    GROUP BY h.trace_id, h.pid, h.tid
),
fitting AS (
    SELECT o.*, t.tid AS host_tid
    FROM operators AS o
    JOIN threads AS t
        ON t.trace_id = o.trace_id AND t.pid = o.pid AND (t.is_any_thread OR t.tid = o.tid)
),
stretches AS (
    SELECT *, lag(start_ns) OVER (PARTITION BY trace_id, pid, tid ORDER BY start_ns) AS before_ns
    FROM _host_layers
)
SELECT
    o.trace_id, o.event_id, o.pid, h.series, h.call_id, h.layer_id, h.num_layers, h.pass_source
FROM fitting AS o
ASOF JOIN stretches AS h
    ON h.trace_id = o.trace_id AND h.pid = o.pid AND h.tid = o.host_tid
    AND h.start_ns <= o.start_ns
WHERE o.start_ns < h.end_ns
UNION ALL
-- The last stretch that begins in the operator, if it is the first one too.
SELECT
    o.trace_id, o.event_id, o.pid, h.series, h.call_id, h.layer_id, h.num_layers, h.pass_source
FROM fitting AS o
ASOF JOIN stretches AS h
    ON h.trace_id = o.trace_id AND h.pid = o.pid AND h.tid = o.host_tid
    AND h.start_ns < o.end_ns
WHERE
    h.start_ns > o.start_ns AND h.end_ns <= o.end_ns
    AND h.pass_source = 'module scopes' AND coalesce(h.before_ns <= o.start_ns, TRUE);
