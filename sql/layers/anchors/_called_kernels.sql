-- One row per outermost call of a module on the host, or of compiled code if a trace shows no
-- modules.
--
-- stored: meanwhile
CREATE VIEW _outermost_calls AS
SELECT trace_id, pid, tid, event_id, start_ns, end_ns, module, TRUE AS is_module
FROM module_calls
WHERE depth = 0
UNION ALL
SELECT
    trace_id, pid, tid, event_id, start_ns, end_ns, regexp_replace(name, '/\d+$', ''), FALSE
FROM events
ANTI JOIN (SELECT DISTINCT trace_id FROM module_calls) AS shown USING (trace_id)
WHERE
    lane = 'host' AND category = 'cpu_op' AND dur_ns > 0
    AND starts_with(name, 'Torch-Compiled Region: ')
WINDOW thread AS (PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id)
QUALIFY start_ns >= coalesce(
    max(end_ns) OVER (thread ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns
);

-- One row per device operation of a trace that shows calls of modules, or graphs of several models:
-- the series of passes that it may belong to, one for each model of the trace. Models are those
-- whose layers the modules show, and outermost modules that run attention at least twice without
-- showing layers, such as compiled ones. If no modules were recorded, calls of compiled code stand
-- for them. If modules show no models, graphs may (see _graph_models). Everything else that a
-- graph's step launched belongs to the graph's model. So does work without a graph whose attention
-- and other kernels run as often in the graphs of that model and in no other's: it has its layers.
-- In a trace with one model, all work is one series.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   the operation
-- series     VARCHAR  name of the model, empty if there is only one; NULL: none of the models
-- call_ns    BIGINT   start of the outermost call, of a module or of compiled code, that launched
--                     it; NULL if unknown
-- module     VARCHAR  that module
CREATE VIEW _called_kernels AS
WITH shown AS (
    SELECT
        o.trace_id, o.event_id, min(l.series) AS series, count(DISTINCT l.series) AS models
    FROM _module_layers AS l
    ASOF JOIN _outermost_calls AS o
        ON o.trace_id = l.trace_id AND o.pid = l.pid AND o.tid = l.tid AND o.start_ns <= l.start_ns
    GROUP BY o.trace_id, o.event_id
),
launched AS (
    SELECT
        k.trace_id, k.device, k.kernel_id, k.issued_ns, k.issued_pid, k.issued_tid,
        coalesce(r.role = 'inside', FALSE) AS is_attention
    FROM kernels AS k
    SEMI JOIN _outermost_calls AS o ON o.trace_id = k.trace_id
    LEFT JOIN anchor_roles AS r ON r.category = k.category
),
threads AS (
    SELECT
        o.trace_id, o.pid, o.tid, count(l.issued_tid) = 0 AS is_any_thread
    FROM (
        SELECT trace_id, pid, tid, count(*) AS calls
        FROM _outermost_calls
        GROUP BY trace_id, pid, tid
    ) AS o
    LEFT JOIN (SELECT DISTINCT trace_id, issued_pid, issued_tid FROM launched) AS l
        ON l.trace_id = o.trace_id AND l.issued_pid = o.pid AND l.issued_tid = o.tid
    GROUP BY o.trace_id, o.pid, o.tid
    -- If no launch is on a thread with modules, thread numbers differ: the busiest is used.
    QUALIFY NOT is_any_thread OR row_number() OVER (
        PARTITION BY o.trace_id, o.pid ORDER BY is_any_thread, max(o.calls) DESC, o.tid
    ) = 1
),
fitting AS (
    SELECT l.*, t.tid AS host_tid
    FROM launched AS l
    JOIN threads AS t
        ON t.trace_id = l.trace_id AND t.pid = l.issued_pid
        AND (t.is_any_thread OR t.tid = l.issued_tid)
),
called AS (
    SELECT f.trace_id, f.kernel_id, o.event_id, o.start_ns AS call_ns, o.module, o.is_module
    FROM fitting AS f
    ASOF JOIN _outermost_calls AS o
        ON o.trace_id = f.trace_id AND o.pid = f.issued_pid AND o.tid = f.host_tid
        AND o.start_ns <= f.issued_ns
    WHERE f.issued_ns < o.end_ns
),
named AS (
    SELECT
        l.trace_id, l.device, l.kernel_id, l.is_attention, c.call_ns,
        CASE WHEN c.is_module THEN c.module END AS module,
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
),
mixed AS (
    SELECT g.trace_id, g.device
    FROM _graph_models AS g
    ANTI JOIN models ON models.trace_id = g.trace_id AND models.device = g.device
    GROUP BY g.trace_id, g.device
    HAVING count(DISTINCT g.series) > 1
),
step_models AS (
    SELECT s.trace_id, s.start_ns, g.device, min(g.series) AS series
    FROM _graph_models AS g
    ASOF JOIN _host_steps AS s ON s.trace_id = g.trace_id AND s.start_ns <= g.launch_ns
    WHERE g.launch_ns < s.end_ns
    GROUP BY s.trace_id, s.start_ns, g.device
    HAVING count(DISTINCT g.series) = 1
),
stepped AS (
    SELECT
        k.trace_id, k.device, k.kernel_id, k.launch_id, k.name, k.category, k.start_ns,
        CASE WHEN k.issued_ns < s.end_ns THEN s.start_ns END AS step_ns
    FROM kernels AS k
    SEMI JOIN mixed ON mixed.trace_id = k.trace_id AND mixed.device = k.device
    ASOF LEFT JOIN _host_steps AS s ON s.trace_id = k.trace_id AND s.start_ns <= k.issued_ns
),
graphed AS (
    SELECT
        k.trace_id, k.device, k.kernel_id, k.name, k.category, k.start_ns,
        coalesce(g.series, s.series) AS series
    FROM stepped AS k
    LEFT JOIN _graph_models AS g
        ON g.trace_id = k.trace_id AND g.device = k.device AND g.launch_id = k.launch_id
    LEFT JOIN step_models AS s
        ON s.trace_id = k.trace_id AND s.device = k.device AND s.start_ns = k.step_ns
),
-- Work of no graph and no step between two of them, or from where tokens enter to where one is
-- drawn.
stretches AS (
    SELECT
        *,
        count(CASE WHEN series IS NOT NULL OR category = 'embedding' OR is_drawn THEN 1 END) OVER (
            PARTITION BY trace_id, device ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS stretch
    FROM (
        SELECT
            *, lag(category) OVER (
                PARTITION BY trace_id, device ORDER BY start_ns, kernel_id
            ) = 'sampling' AS is_drawn
        FROM graphed
    )
),
stretch_counts AS (
    SELECT
        s.trace_id, s.device, s.stretch, s.name, count(*) AS calls,
        coalesce(bool_or(r.role = 'inside'), FALSE) AS is_attention,
        min(s.start_ns) AS start_ns, max(s.start_ns) AS last_ns
    FROM stretches AS s
    LEFT JOIN anchor_roles AS r ON r.category = s.category
    WHERE s.series IS NULL
    GROUP BY s.trace_id, s.device, s.stretch, s.name
    QUALIFY
        count(*) > 3
        AND sum(count(*) FILTER (r.role = 'inside')) OVER (
            PARTITION BY s.trace_id, s.device, s.stretch
        ) > 1
),
stretch_models AS (
    -- Its attention runs as often as the model's, one kind beside the other: none of it is that of
    -- an encoder before it.
    SELECT s.trace_id, s.device, s.stretch, min(m.series) AS series
    FROM (
        SELECT
            *, max(calls) FILTER (is_attention) OVER one AS attentions,
            max(start_ns) FILTER (is_attention) OVER one
                <= min(last_ns) FILTER (is_attention) OVER one AS is_mingled
        FROM stretch_counts
        WINDOW one AS (PARTITION BY trace_id, device, stretch)
    ) AS s
    JOIN (
        SELECT DISTINCT
            g.trace_id, g.device, g.series, c.name, c.calls,
            max(c.calls) FILTER (c.is_attention) OVER (
                PARTITION BY g.trace_id, g.device, g.launch_id
            ) AS attentions
        FROM _graph_models AS g
        JOIN _graph_counts AS c
            ON c.trace_id = g.trace_id AND c.device = g.device AND c.launch_id = g.launch_id
        WHERE g.series IS NOT NULL
    ) AS m
        ON m.trace_id = s.trace_id AND m.device = s.device AND m.name = s.name
        AND m.calls = s.calls AND m.attentions = s.attentions
    WHERE s.is_mingled
    GROUP BY s.trace_id, s.device, s.stretch
    HAVING count(DISTINCT m.series) = 1
)
SELECT
    n.trace_id, n.device, n.kernel_id,
    CASE WHEN coalesce(d.models, 1) = 1 THEN '' ELSE m.series END AS series, n.call_ns, n.module
FROM named AS n
ANTI JOIN mixed ON mixed.trace_id = n.trace_id AND mixed.device = n.device
LEFT JOIN (SELECT DISTINCT trace_id, device, models FROM models) AS d
    ON d.trace_id = n.trace_id AND d.device = n.device
LEFT JOIN models AS m
    ON m.trace_id = n.trace_id AND m.device = n.device AND m.series = n.series
UNION ALL
SELECT
    k.trace_id, k.device, k.kernel_id, coalesce(k.series, m.series) AS series, n.call_ns, n.module
FROM stretches AS k
LEFT JOIN stretch_models AS m
    ON m.trace_id = k.trace_id AND m.device = k.device AND m.stretch = k.stretch
LEFT JOIN named AS n ON n.trace_id = k.trace_id AND n.kernel_id = k.kernel_id;
