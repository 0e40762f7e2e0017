-- One row per call on the host that begins or ends the capture of a stream.
--
-- stored: meanwhile
CREATE VIEW _capture_marks AS
SELECT
    trace_id, pid, tid, event_id, name, start_ns,
    contains(name, 'StreamBeginCapture') AS is_begin
FROM events
WHERE
    lane = 'host'
    AND category IN ('cuda_runtime', 'cuda_driver')
    AND (contains(name, 'StreamBeginCapture') OR contains(name, 'StreamEndCapture'));

-- One row per kernel launch that a stream capture recorded instead of running, in order, with the
-- innermost operator and module of its thread at that moment.
--
-- A range lasts from a call of StreamBeginCapture to the next StreamEndCapture of its thread; one
-- without an end is left out. HIP names the kernel in each launch: in such a range only these
-- count. CUDA does not: there each launch of a kernel counts, by the names of its operators.
-- Launches that ran immediately do not count. Scopes are found by depth, as in
-- _enclosing_operators, separately for operators and modules.
--
-- stored: per trace
--
-- trace_id      VARCHAR  trace
-- capture_id    BIGINT   event_id of the call that begins the range
-- capture_name  VARCHAR  name of that call
-- sequence      VARCHAR  digest of the names of the range's kernels, in order; without names of the
--                        operators
-- position      BIGINT   place of the launch in the range, from 0
-- launch_id     BIGINT   event_id of the launch
-- name          VARCHAR  name of its kernel, NULL if no launch of the range has one
-- op_name       VARCHAR  name of the operator
-- op_category   VARCHAR  category of the operator's kernels, NULL if unknown
-- input_dims    VARCHAR  shapes of the operator's inputs, JSON
-- input_types   VARCHAR  types of the operator's inputs, JSON
-- module        VARCHAR  name of the innermost module's frame
-- module_path   VARCHAR  names of all modules running then, the outermost first
CREATE VIEW _capture_launches AS
WITH turns AS (
    -- A call seen twice, by runtime and driver, marks the same moment: the first counts.
    SELECT *
    FROM _capture_marks
    QUALIFY is_begin IS DISTINCT FROM lag(is_begin) OVER (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id
    )
),
ranges AS (
    SELECT
        trace_id, pid, tid, event_id AS capture_id, name AS capture_name, start_ns,
        lead(start_ns) OVER (
            PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id
        ) AS until_ns
    FROM turns
    QUALIFY is_begin AND until_ns IS NOT NULL
),
threads AS (
    SELECT DISTINCT trace_id, pid, tid FROM ranges
),
calls AS (
    SELECT
        trace_id, pid, tid, event_id AS launch_id, start_ns, correlation, name AS call_name,
        args ->> '$.kernel' AS name
    FROM events
    SEMI JOIN threads USING (trace_id, pid, tid)
    WHERE
        lane = 'host' AND category IN ('cuda_runtime', 'cuda_driver') AND contains(name, 'Launch')
),
recorded AS (
    SELECT
        calls.trace_id, calls.pid, calls.tid, calls.launch_id, calls.start_ns, calls.call_name,
        calls.name, calls.correlation, ranges.capture_id, ranges.capture_name
    FROM calls
    ASOF JOIN ranges
        ON ranges.trace_id = calls.trace_id
        AND ranges.pid = calls.pid
        AND ranges.tid = calls.tid
        AND ranges.start_ns <= calls.start_ns
    WHERE calls.start_ns < ranges.until_ns
),
launching AS (
    SELECT *
    FROM recorded
    WINDOW one_range AS (PARTITION BY trace_id, capture_id)
    QUALIFY
        name IS NOT NULL
        OR (
            count(name) OVER one_range = 0
            AND (contains(call_name, 'LaunchKernel') OR contains(call_name, 'LaunchCooperative'))
            -- A launch seen twice, by runtime and driver, is one.
            AND 1 = row_number() OVER (
                PARTITION BY trace_id, capture_id, correlation ORDER BY start_ns, launch_id
            )
        )
),
launches AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY trace_id, capture_id ORDER BY start_ns, launch_id
        ) - 1 AS position
    FROM launching
    ANTI JOIN _operations USING (trace_id, correlation)
),
scopes AS (
    SELECT
        trace_id, 'operator' AS kind, event_id, pid, tid, start_ns, end_ns, name, input_dims,
        input_types
    FROM events
    SEMI JOIN threads USING (trace_id, pid, tid)
    WHERE lane = 'host' AND category = 'cpu_op' AND dur_ns > 0
    UNION ALL
    SELECT trace_id, 'module', event_id, pid, tid, start_ns, end_ns, name, NULL, NULL
    FROM events
    SEMI JOIN threads USING (trace_id, pid, tid)
    WHERE lane = 'python' AND starts_with(name, 'nn.Module: ') AND dur_ns > 0
),
edges AS (
    -- At the same time, ends sort first, then starts, the longest first, then the launch.
    SELECT
        trace_id, pid, tid, kind, event_id, end_ns AS at_ns, -1 AS step, 0 AS turn, 0 AS until_ns
    FROM scopes
    UNION ALL
    SELECT trace_id, pid, tid, kind, event_id, start_ns, 1, 1, -end_ns FROM scopes
    UNION ALL
    SELECT trace_id, pid, tid, kind, launch_id, start_ns, 0, 2, 0
    FROM launches
    CROSS JOIN (VALUES ('operator'), ('module')) AS kinds(kind)
),
swept AS (
    SELECT
        trace_id, pid, tid, kind, event_id, at_ns, turn,
        CAST(sum(step) OVER (
            PARTITION BY trace_id, pid, tid, kind
            ORDER BY at_ns, turn, until_ns, event_id
            ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS depth
    FROM edges
),
starts AS (
    SELECT trace_id, pid, tid, kind, depth, at_ns, event_id AS scope_id FROM swept WHERE turn = 1
),
placed AS (
    -- Of operators the innermost is needed, of modules those around it as well.
    SELECT
        trace_id, pid, tid, kind, at_ns, event_id AS launch_id,
        unnest(range(if(kind = 'module', 1, depth), depth + 1)) AS depth
    FROM swept
    WHERE turn = 2
),
enclosing AS (
    SELECT placed.trace_id, placed.kind, placed.launch_id, placed.depth, starts.scope_id
    FROM placed
    ASOF JOIN starts
        ON starts.trace_id = placed.trace_id
        AND starts.pid = placed.pid
        AND starts.tid = placed.tid
        AND starts.kind = placed.kind
        AND starts.depth = placed.depth
        AND starts.at_ns <= placed.at_ns
),
given AS (
    SELECT
        enclosing.trace_id,
        enclosing.launch_id,
        any_value(name) FILTER (WHERE scopes.kind = 'operator') AS op_name,
        any_value(input_dims) AS input_dims,
        any_value(input_types) AS input_types,
        arg_max(name, depth) FILTER (WHERE scopes.kind = 'module') AS module,
        string_agg(replace(name, 'nn.Module: ', ''), '/' ORDER BY depth)
            FILTER (WHERE scopes.kind = 'module') AS module_path
    FROM enclosing
    JOIN scopes
        ON scopes.trace_id = enclosing.trace_id
        AND scopes.kind = enclosing.kind
        AND scopes.event_id = enclosing.scope_id
    GROUP BY enclosing.trace_id, enclosing.launch_id
),
sequences AS (
    SELECT
        trace_id, capture_id,
        md5(string_agg(md5(coalesce(name, op_name, '')), '' ORDER BY position)) AS sequence
    FROM launches
    LEFT JOIN given USING (trace_id, launch_id)
    GROUP BY trace_id, capture_id
),
op_categories AS (
    SELECT op_name, category AS op_category
    FROM (SELECT DISTINCT op_name, _op_category_rule(op_name) AS priority FROM given)
    JOIN op_category_rules USING (priority)
)
SELECT
    launches.trace_id, launches.capture_id, launches.capture_name, sequences.sequence,
    launches.position, launches.launch_id, launches.name, given.op_name, op_category,
    given.input_dims, given.input_types,
    given.module, given.module_path
FROM launches
JOIN sequences USING (trace_id, capture_id)
LEFT JOIN given USING (trace_id, launch_id)
LEFT JOIN op_categories USING (op_name);
