-- One row per kernel whose launch, or place on the device, lies in scopes: the path of their names.
--
-- A scope's depth is the number of scopes that run on its thread when it starts; what encloses it
-- is the latest to have started one level up. A kernel belongs to the scopes that run when it is
-- launched. One that a backward function launches belongs to those of the operator whose gradient
-- the function computes; unless a module, or such an operator, runs inside the function: that is
-- recomputed. What either launches outside of a backward function is forward.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the kernel
-- path       VARCHAR  scopes, => between, the outermost first; NULL where only the phase is known
-- phase      VARCHAR  forward, backward or recompute; NULL in a trace without a backward, and
--                     outside of modules and of what is differentiated
CREATE VIEW _kernel_scopes AS
WITH RECURSIVE scoped_traces AS (
    SELECT trace_id, bool_or(kind = 'backward') AS has_backward FROM _scopes GROUP BY trace_id
),
launched AS (
    SELECT
        trace_id, kernel_id, launch_id, launch_pid, launch_tid, launch_ns,
        CAST(device AS VARCHAR) AS device_pid, CAST(stream AS VARCHAR) AS device_tid, start_ns
    FROM kernels
    SEMI JOIN scoped_traces USING (trace_id)
),
points AS (
    SELECT DISTINCT
        trace_id, launch_pid AS pid, launch_tid AS tid, launch_id AS id, launch_ns AS at_ns
    FROM launched
    WHERE launch_id IS NOT NULL
    UNION ALL
    SELECT trace_id, device_pid, device_tid, kernel_id, start_ns
    FROM launched
    WHERE launch_id IS NULL
),
edges AS (
    -- At one moment what ends goes first, then what starts, the longest first, then the points.
    SELECT trace_id, pid, tid, scope_id AS id, end_ns AS at_ns, -1 AS step, 0 AS turn, 0 AS until_ns
    FROM _scopes
    UNION ALL
    SELECT trace_id, pid, tid, scope_id, start_ns, 1, 1, -end_ns FROM _scopes
    UNION ALL
    SELECT trace_id, pid, tid, id, at_ns, 0, 2, 0 FROM points
),
swept AS (
    SELECT
        trace_id, pid, tid, id, turn,
        sum(step) OVER in_time - greatest(step, 0) AS depth,
        row_number() OVER in_time AS place
    FROM edges
    WINDOW in_time AS (
        PARTITION BY trace_id, pid, tid ORDER BY at_ns, turn, until_ns, id
        ROWS UNBOUNDED PRECEDING
    )
),
starts AS (
    SELECT trace_id, pid, tid, depth + 1 AS inner_depth, place, id AS scope_id
    FROM swept
    WHERE turn = 1
),
around AS (
    -- Of scopes and of points, the scope around them.
    SELECT s.trace_id, s.turn, s.id, s.depth, starts.scope_id AS outer_id
    FROM (SELECT * FROM swept WHERE turn > 0) AS s
    ASOF LEFT JOIN starts
        ON starts.trace_id = s.trace_id AND starts.pid = s.pid AND starts.tid = s.tid
        AND starts.inner_depth = s.depth AND starts.place < s.place
),
placed AS (
    SELECT a.trace_id, a.id AS scope_id, a.outer_id, a.depth, s.kind, s.scope
    FROM around AS a
    JOIN _scopes AS s ON s.trace_id = a.trace_id AND s.scope_id = a.id
    WHERE a.turn = 1
),
paths (trace_id, scope_id, function_id, path, outer_path, in_forward) AS (
    -- Inside a backward function a path begins anew; the one around it is the last resort. Forward
    -- operators are no part of a path.
    SELECT
        trace_id, scope_id, CASE WHEN kind = 'backward' THEN scope_id END,
        CASE WHEN kind NOT IN ('backward', 'forward') THEN scope END, CAST(NULL AS VARCHAR),
        kind IN ('module', 'forward')
    FROM placed
    WHERE outer_id IS NULL
    UNION ALL
    SELECT
        p.trace_id, p.scope_id,
        CASE WHEN p.kind = 'backward' THEN p.scope_id ELSE paths.function_id END,
        CASE
            WHEN p.kind = 'forward' THEN paths.path
            WHEN p.kind <> 'backward' THEN concat_ws('=>', paths.path, p.scope)
        END,
        CASE
            WHEN p.kind = 'backward' THEN coalesce(paths.path, paths.outer_path)
            ELSE paths.outer_path
        END,
        p.kind IN ('module', 'forward') OR (p.kind <> 'backward' AND paths.in_forward)
    FROM paths
    JOIN placed AS p ON p.trace_id = paths.trace_id AND p.outer_id = paths.scope_id
),
pointed AS (
    SELECT a.trace_id, a.id, function_id, path, outer_path, in_forward
    FROM around AS a
    JOIN paths ON paths.trace_id = a.trace_id AND paths.scope_id = a.outer_id
    WHERE a.turn = 2
),
resolved AS (
    SELECT
        p.trace_id, p.id, coalesce(p.path, forward.path, p.outer_path) AS path,
        CASE
            WHEN p.function_id IS NOT NULL AND p.in_forward THEN 'recompute'
            WHEN p.function_id IS NOT NULL THEN 'backward'
            WHEN p.in_forward AND scoped_traces.has_backward THEN 'forward'
        END AS phase
    FROM pointed AS p
    JOIN scoped_traces USING (trace_id)
    LEFT JOIN autograd_links AS causes
        ON causes.trace_id = p.trace_id AND causes.function_id = p.function_id
    LEFT JOIN paths AS forward
        ON forward.trace_id = causes.trace_id AND forward.scope_id = causes.op_id
)
SELECT launched.trace_id, launched.kernel_id, path, phase
FROM launched
JOIN resolved
    ON resolved.trace_id = launched.trace_id
    AND resolved.id = coalesce(launched.launch_id, launched.kernel_id);
