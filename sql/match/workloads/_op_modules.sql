-- One row per counted operator inside calls of modules, as the profiler's Python frames show them.
--
-- The depth of a module is the number of modules running on its thread when it starts, itself among
-- them. The modules around an operator are, of each depth up to that at its start, the latest.
--
-- stored: per trace
--
-- trace_id     VARCHAR  trace
-- op_id        BIGINT   event_id of the operator
-- module       VARCHAR  name of the innermost module
-- module_path  VARCHAR  names of all modules, the outermost first, with / between
CREATE VIEW _op_modules AS
WITH threads AS (
    SELECT DISTINCT trace_id, pid, tid FROM counted_operators
),
frames AS (
    SELECT trace_id, pid, tid, event_id, substr(name, 12) AS module, start_ns, end_ns
    FROM events
    SEMI JOIN threads USING (trace_id, pid, tid)
    WHERE lane = 'python' AND starts_with(name, 'nn.Module: ') AND dur_ns > 0
),
edges AS (
    -- At one moment what ends goes first, then what starts, the longest first, then operators.
    SELECT
        trace_id, pid, tid, event_id AS id, end_ns AS at_ns, -1 AS step, 0 AS turn, 0 AS until_ns
    FROM frames
    UNION ALL
    SELECT trace_id, pid, tid, event_id, start_ns, 1, 1, -end_ns FROM frames
    UNION ALL
    SELECT trace_id, pid, tid, op_id, start_ns, 0, 2, 0
    FROM counted_operators
    SEMI JOIN (SELECT DISTINCT trace_id, pid, tid FROM frames) USING (trace_id, pid, tid)
),
swept AS (
    SELECT
        trace_id, pid, tid, id, turn,
        CAST(sum(step) OVER in_time AS BIGINT) AS depth,
        row_number() OVER in_time AS place
    FROM edges
    WINDOW in_time AS (
        PARTITION BY trace_id, pid, tid ORDER BY at_ns, turn, until_ns, id
        ROWS UNBOUNDED PRECEDING
    )
),
starts AS (
    SELECT trace_id, pid, tid, depth, place, id AS frame_id FROM swept WHERE turn = 1
),
levels AS (
    SELECT
        trace_id, pid, tid, id AS op_id, place, unnest(range(1, depth + 1)) AS depth
    FROM swept
    WHERE turn = 2
),
around AS (
    SELECT levels.trace_id, levels.op_id, levels.depth, starts.frame_id
    FROM levels
    ASOF JOIN starts
        ON starts.trace_id = levels.trace_id AND starts.pid = levels.pid
        AND starts.tid = levels.tid AND starts.depth = levels.depth
        AND starts.place < levels.place
)
SELECT
    around.trace_id, op_id, arg_max(module, depth) AS module,
    string_agg(module, '/' ORDER BY depth) AS module_path
FROM around
JOIN frames ON frames.trace_id = around.trace_id AND frames.event_id = around.frame_id
GROUP BY around.trace_id, op_id;
