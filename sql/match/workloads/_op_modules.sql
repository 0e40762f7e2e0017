-- One row per counted operator inside calls of modules, as the profiler's Python frames show them.
--
-- The innermost module is the latest at the depth given by the number of modules running when the
-- operator starts.
--
-- stored: per trace
--
-- trace_id     VARCHAR  trace
-- op_id        BIGINT   event_id of the operator
-- module       VARCHAR  name of the innermost module
-- module_path  VARCHAR  names of all modules, the outermost first, with / between
CREATE VIEW _op_modules AS
WITH RECURSIVE calls AS MATERIALIZED (
    -- A hash of the thread sorts faster than its names.
    SELECT
        trace_id, hash(trace_id, pid, tid) AS thread_id, event_id, parent_id, module, depth,
        start_ns, end_ns
    FROM module_calls
),
edges AS (
    -- At the same moment ends come first, then starts, then operators.
    SELECT
        thread_id, CAST(NULL AS BIGINT) AS op_id, end_ns AS at_ns, 0 AS turn, -1 AS step
    FROM calls
    UNION ALL
    SELECT thread_id, NULL, start_ns, 1, 1 FROM calls
    UNION ALL
    SELECT hash(trace_id, pid, tid), op_id, start_ns, 2, 0 FROM counted_operators
),
operators AS (
    SELECT
        thread_id, op_id, at_ns,
        sum(step) OVER (
            PARTITION BY thread_id ORDER BY at_ns, turn ROWS UNBOUNDED PRECEDING
        ) - 1 AS depth
    FROM edges
    QUALIFY op_id IS NOT NULL
),
paths (trace_id, event_id, path) AS (
    SELECT trace_id, event_id, module
    FROM calls
    WHERE parent_id IS NULL
    UNION ALL
    SELECT calls.trace_id, calls.event_id, concat(paths.path, '/', calls.module)
    FROM paths
    JOIN calls ON calls.trace_id = paths.trace_id AND calls.parent_id = paths.event_id
)
SELECT around.trace_id, op_id, around.module, paths.path AS module_path
FROM operators
ASOF JOIN calls AS around
    ON around.thread_id = operators.thread_id AND around.depth = operators.depth
    AND around.start_ns <= operators.at_ns
JOIN paths ON paths.trace_id = around.trace_id AND paths.event_id = around.event_id;
