-- One row per device operation of a trace that shows calls of modules: the series of passes that it
-- may belong to, one for each model of the trace. Models are those whose layers the modules show,
-- and outermost modules that run attention twice or more without showing layers, compiled ones.
-- Where a trace has one model, all its work is of one series.
--
-- Materialised per trace.
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   the operation
-- series     VARCHAR  name of the model, empty where there is one alone; NULL: none of the models
-- call_ns    BIGINT   start of the outermost module's call that launched it, NULL when unknown
-- module     VARCHAR  that module
CREATE VIEW _kernel_series AS
WITH outermost AS (
    SELECT trace_id, pid, tid, event_id, start_ns, end_ns, module
    FROM _module_frames
    WHERE depth = 0
),
shown AS (
    SELECT
        o.trace_id, o.event_id, min(l.series) AS series, count(DISTINCT l.series) AS models
    FROM _module_layers AS l
    ASOF JOIN outermost AS o
        ON o.trace_id = l.trace_id AND o.pid = l.pid AND o.tid = l.tid AND o.start_ns <= l.start_ns
    GROUP BY o.trace_id, o.event_id
),
launched AS (
    SELECT
        k.trace_id, k.device, k.kernel_id, k.launch_ns, k.launch_pid, k.launch_tid,
        coalesce(r.role = 'inside', FALSE) AS is_attention
    FROM kernels AS k
    SEMI JOIN outermost ON outermost.trace_id = k.trace_id
    LEFT JOIN anchor_roles AS r ON r.category = k.category
),
threads AS (
    SELECT
        o.trace_id, o.pid, o.tid, count(l.launch_tid) = 0 AS is_any_thread
    FROM (
        SELECT trace_id, pid, tid, count(*) AS calls FROM outermost GROUP BY trace_id, pid, tid
    ) AS o
    LEFT JOIN (SELECT DISTINCT trace_id, launch_pid, launch_tid FROM launched) AS l
        ON l.trace_id = o.trace_id AND l.launch_pid = o.pid AND l.launch_tid = o.tid
    GROUP BY o.trace_id, o.pid, o.tid
    -- Where no launch is on a thread of modules, threads are numbered apart: one of them will do.
    QUALIFY NOT is_any_thread OR row_number() OVER (
        PARTITION BY o.trace_id, o.pid ORDER BY is_any_thread, max(o.calls) DESC, o.tid
    ) = 1
),
fitting AS (
    SELECT l.*, t.tid AS host_tid
    FROM launched AS l
    JOIN threads AS t
        ON t.trace_id = l.trace_id AND t.pid = l.launch_pid
        AND (t.is_any_thread OR t.tid = l.launch_tid)
),
called AS (
    SELECT f.trace_id, f.kernel_id, o.event_id, o.start_ns AS call_ns, o.module
    FROM fitting AS f
    ASOF JOIN outermost AS o
        ON o.trace_id = f.trace_id AND o.pid = f.launch_pid AND o.tid = f.host_tid
        AND o.start_ns <= f.launch_ns
    WHERE f.launch_ns < o.end_ns
),
named AS (
    SELECT
        l.trace_id, l.device, l.kernel_id, l.is_attention, c.call_ns, c.module,
        h.series IS NOT NULL AS is_shown,
        coalesce(
            h.series, CASE WHEN s.models IS NULL THEN c.module WHEN s.models = 1 THEN s.series END
        ) AS series
    FROM launched AS l
    LEFT JOIN called AS c ON c.trace_id = l.trace_id AND c.kernel_id = l.kernel_id
    LEFT JOIN shown AS s ON s.trace_id = c.trace_id AND s.event_id = c.event_id
    LEFT JOIN _launched_layers AS h ON h.trace_id = l.trace_id AND h.kernel_id = l.kernel_id
),
calls AS (
    SELECT
        trace_id, device, series, call_ns, bool_or(is_shown) AS is_shown,
        count(*) FILTER (is_attention) AS attentions
    FROM named
    WHERE series IS NOT NULL
    GROUP BY trace_id, device, series, call_ns
),
models AS (
    SELECT
        trace_id, device, series, count(*) OVER (PARTITION BY trace_id, device) AS models
    FROM calls
    GROUP BY trace_id, device, series
    HAVING bool_or(is_shown) OR max(attentions) > 1
)
SELECT
    n.trace_id, n.device, n.kernel_id,
    CASE WHEN coalesce(d.models, 1) = 1 THEN '' ELSE m.series END AS series, n.call_ns, n.module
FROM named AS n
LEFT JOIN (SELECT DISTINCT trace_id, device, models FROM models) AS d
    ON d.trace_id = n.trace_id AND d.device IS NOT DISTINCT FROM n.device
LEFT JOIN models AS m
    ON m.trace_id = n.trace_id AND m.device IS NOT DISTINCT FROM n.device AND m.series = n.series;
