-- One row per named interval of a thread to which its kernels can be attributed: calls of modules,
-- user annotations, and runs of backward functions and of differentiated operators.
--
-- Annotations that mark a step are left out: each has its own name, and all work is inside them.
-- Annotations need not nest: NVTX ranges have a stack per domain, or none. One that still runs when
-- an earlier one ends is left out, unless each of those crosses an earlier one itself. An overhang
-- of up to 1 µs is rounding.
--
-- stored: meanwhile
CREATE VIEW _scopes AS
WITH found AS (
    SELECT
        trace_id, pid, tid, event_id, start_ns, end_ns, name,
        if(lane = 'host', 'annotation', 'device') AS kind
    FROM events
    WHERE
        dur_ns > 0
        AND (
            (lane = 'host' AND category = 'user_annotation')
            OR (lane = 'device' AND category = 'gpu_user_annotation')
        )
        AND NOT regexp_matches(name, '^ProfilerStep#\d+$')
),
steps AS (
    -- As a condition on the key it would be tried on every row.
    SELECT trace_id, any_value(name) AS name
    FROM found
    GROUP BY trace_id, found.name
    HAVING len(_matching_step_rules(any_value(name))) > 0
),
annotations AS (
    SELECT * FROM found
    ANTI JOIN steps USING (trace_id, name)
),
edges AS (
    SELECT
        trace_id, pid, tid, event_id, start_ns AS at_ns, 1 AS step, -end_ns AS other_ns
    FROM annotations
    UNION ALL
    SELECT trace_id, pid, tid, event_id, end_ns, -1, -start_ns FROM annotations
),
depths AS (
    SELECT
        trace_id, pid, tid, event_id, step,
        sum(step) OVER (PARTITION BY trace_id, pid, tid ORDER BY at_ns, step, other_ns)
        - greatest(step, 0) AS depth
    FROM edges
),
untidy AS (
    -- Threads whose annotations may not nest, hardly any: of those that do, each ends at the depth
    -- at which it started. The windows below take ten times as long as this sum.
    SELECT trace_id, pid, tid
    FROM depths
    GROUP BY trace_id, pid, tid
    HAVING sum(step * CAST(hash(event_id, depth) AS HUGEINT)) <> 0
),
marked AS (
    SELECT *, coalesce(min(start_ns) OVER ended_inside < start_ns, FALSE) AS crosses
    FROM annotations
    SEMI JOIN untidy USING (trace_id, pid, tid)
    WINDOW ended_inside AS (
        PARTITION BY trace_id, pid, tid ORDER BY end_ns
        RANGE BETWEEN (end_ns - start_ns - 1) PRECEDING AND 1001 PRECEDING
    )
)
SELECT trace_id, pid, tid, event_id AS scope_id, kind, name AS scope, start_ns, end_ns
FROM annotations
ANTI JOIN untidy USING (trace_id, pid, tid)
UNION ALL
SELECT trace_id, pid, tid, event_id, kind, name, start_ns, end_ns
FROM marked
WINDOW ended_inside AS (
    PARTITION BY trace_id, pid, tid ORDER BY end_ns
    RANGE BETWEEN (end_ns - start_ns - 1) PRECEDING AND 1001 PRECEDING
)
QUALIFY coalesce(min(start_ns) FILTER (NOT crosses) OVER ended_inside >= start_ns, TRUE)
UNION ALL
SELECT trace_id, pid, tid, event_id, 'module', module, start_ns, end_ns
FROM module_calls
UNION ALL
SELECT
    trace_id, pid, tid, event_id, if(is_backward, 'backward', 'forward'), name, start_ns, end_ns
FROM autograd_calls;

-- One row per scope, and per launch (or operator that issues work by a launch of another thread,
-- see kernels) and device operation inside a scope: the path of the names around it, including its
-- own.
--
-- A scope's depth is the number of scopes running on its thread when it starts; the scope around it
-- is the latest to have started one level up, if it does not end before. A launch belongs to the
-- scopes running when it is made, an operation without a launch to those of its stream. What a
-- backward function launches belongs to the scopes of the operator whose gradient the function
-- computes, unless a module or a differentiated operator runs inside the function: then it is
-- recomputed. What either of them launches outside a backward function is forward, except in calls
-- of modules that run no differentiated operator (under torch.no_grad), if others of the trace do.
--
-- stored: per trace
--
-- trace_id  VARCHAR  trace
-- id        BIGINT   event_id of the scope, the launch (kernels.issued_by) or the operation
-- kind      VARCHAR  module, annotation, backward, forward or device, as in _scopes; point if it is
--                    not a scope
-- pid       VARCHAR  process
-- path      VARCHAR  scopes, joined by =>, the outermost first; NULL if only the phase is known
-- phase     VARCHAR  forward, backward or recompute; NULL in a trace without a backward pass,
--                    outside modules and differentiated operators, and under torch.no_grad
-- start_ns  BIGINT   start of a scope, ns
-- end_ns    BIGINT   end of a scope, ns
-- covered   BIGINT   scopes of the path that the scope around it shares, in the same phase and for
--                    all of its time; 0 if none
CREATE VIEW _scope_paths AS
WITH RECURSIVE named AS MATERIALIZED (
    -- A hash of the thread sorts faster than its names.
    SELECT
        trace_id, pid, hash(trace_id, pid, tid) AS thread_id, scope_id, kind, scope, start_ns,
        end_ns
    FROM _scopes
),
scoped_traces AS (
    SELECT
        trace_id, bool_or(kind = 'backward') AS has_backward,
        bool_or(kind = 'forward') AS has_forward
    FROM named
    GROUP BY trace_id
),
points AS (
    SELECT DISTINCT
        trace_id,
        hash(
            trace_id,
            if(issued_by IS NULL, CAST(device AS VARCHAR), issued_pid),
            if(issued_by IS NULL, CAST(stream AS VARCHAR), issued_tid)
        ) AS thread_id,
        coalesce(issued_by, kernel_id) AS id,
        if(issued_by IS NULL, start_ns, issued_ns) AS at_ns
    FROM kernels
    SEMI JOIN scoped_traces USING (trace_id)
),
edges AS (
    -- At the same moment ends come first, then starts, the longest first, then points.
    SELECT
        trace_id, thread_id, scope_id AS id, end_ns AS at_ns, -1 AS step, 0 AS turn, 0 AS until_ns
    FROM named
    UNION ALL
    SELECT trace_id, thread_id, scope_id, start_ns, 1, 1, -end_ns FROM named
    UNION ALL
    SELECT trace_id, thread_id, id, at_ns, 0, 2, -at_ns FROM points
),
swept AS (
    SELECT
        trace_id, thread_id, id, turn, until_ns,
        sum(step) OVER in_time - greatest(step, 0) AS depth,
        row_number() OVER in_time AS place
    FROM edges
    WINDOW in_time AS (
        PARTITION BY thread_id ORDER BY at_ns, turn, until_ns, id ROWS UNBOUNDED PRECEDING
    )
),
starts AS (
    SELECT thread_id, depth + 1 AS inner_depth, place, id AS scope_id, until_ns
    FROM swept
    WHERE turn = 1
),
around AS (
    -- The scope around each scope and each point; the ends are negative.
    SELECT
        s.trace_id, s.turn, s.id,
        CASE WHEN starts.until_ns <= s.until_ns + 1000 THEN starts.scope_id END AS outer_id
    FROM (SELECT * FROM swept WHERE turn > 0) AS s
    ASOF LEFT JOIN starts
        ON starts.thread_id = s.thread_id AND starts.inner_depth = s.depth
        AND starts.place < s.place
),
placed AS (
    SELECT
        a.trace_id, a.id AS scope_id, a.outer_id, s.kind, s.scope, s.pid, s.start_ns, s.end_ns
    FROM around AS a
    JOIN named AS s ON s.trace_id = a.trace_id AND s.scope_id = a.id
    WHERE a.turn = 1
),
paths (trace_id, scope_id, kind, function_id, path, outer_path, forward_id) AS (
    -- Inside a backward function a path starts anew; the path around it is a fallback. Forward
    -- operators are not part of a path. The outermost module or forward operator is forward_id.
    SELECT
        trace_id, scope_id, kind, CASE WHEN kind = 'backward' THEN scope_id END,
        CASE WHEN kind NOT IN ('backward', 'forward') THEN scope END, CAST(NULL AS VARCHAR),
        CASE WHEN kind IN ('module', 'forward') THEN scope_id END
    FROM placed
    WHERE outer_id IS NULL
    UNION ALL
    SELECT
        p.trace_id, p.scope_id, p.kind,
        CASE WHEN p.kind = 'backward' THEN p.scope_id ELSE paths.function_id END,
        CASE
            WHEN p.kind = 'forward' THEN paths.path
            WHEN p.kind <> 'backward' THEN concat_ws('=>', paths.path, p.scope)
        END,
        CASE
            WHEN p.kind = 'backward' THEN coalesce(paths.path, paths.outer_path)
            ELSE paths.outer_path
        END,
        CASE
            WHEN p.kind <> 'backward'
                THEN coalesce(
                    paths.forward_id, CASE WHEN p.kind IN ('module', 'forward') THEN p.scope_id END
                )
        END
    FROM paths
    JOIN placed AS p ON p.trace_id = paths.trace_id AND p.outer_id = paths.scope_id
),
causes AS (
    SELECT l.trace_id, l.function_id, forward.path
    FROM autograd_links AS l
    JOIN paths AS forward ON forward.trace_id = l.trace_id AND forward.scope_id = l.forward_op_id
),
differentiated AS (
    SELECT DISTINCT trace_id, forward_id FROM paths WHERE kind = 'forward'
),
resolved AS (
    SELECT
        p.trace_id, p.scope_id, coalesce(p.path, causes.path, p.outer_path) AS path,
        CASE
            WHEN p.function_id IS NOT NULL AND p.forward_id IS NOT NULL THEN 'recompute'
            WHEN p.function_id IS NOT NULL THEN 'backward'
            WHEN d.forward_id IS NOT NULL THEN 'forward'
            WHEN t.has_backward AND NOT t.has_forward AND p.forward_id IS NOT NULL THEN 'forward'
        END AS phase
    FROM paths AS p
    JOIN scoped_traces AS t ON t.trace_id = p.trace_id
    LEFT JOIN differentiated AS d
        ON d.trace_id = p.trace_id AND d.forward_id = p.forward_id
    LEFT JOIN causes ON causes.trace_id = p.trace_id AND causes.function_id = p.function_id
),
scopes AS (
    SELECT
        trace_id, scope_id, outer_id, kind, pid, path, phase, start_ns, end_ns,
        CAST(len(string_split(path, '=>')) AS BIGINT) AS depth
    FROM placed
    JOIN resolved USING (trace_id, scope_id)
)
SELECT
    s.trace_id, s.scope_id AS id, s.kind, s.pid, s.path, s.phase, s.start_ns, s.end_ns,
    CASE
        WHEN
            a.end_ns >= s.end_ns AND a.kind IN ('module', 'annotation', 'backward')
            AND nullif(a.phase, 'forward') IS NOT DISTINCT FROM nullif(s.phase, 'forward')
            AND (a.path = s.path OR starts_with(s.path, a.path || '=>'))
        THEN a.depth
        ELSE 0
    END AS covered
FROM scopes AS s
LEFT JOIN scopes AS a ON a.trace_id = s.trace_id AND a.scope_id = s.outer_id
UNION ALL
SELECT a.trace_id, a.id, 'point', NULL, path, phase, NULL, NULL, NULL
FROM around AS a
JOIN resolved AS r ON r.trace_id = a.trace_id AND r.scope_id = a.outer_id
WHERE a.turn = 2;
