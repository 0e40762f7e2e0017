-- One row per device operation that a window of a pass may contain, including those that do not
-- count. Operations that enclose others are left out: their time is that of the operations in them.
-- A block is a run of rows, in file order, with non-descending starts.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- kernel_id  BIGINT   the operation
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- dur_ns     BIGINT   its duration
-- part       VARCHAR  compute, communication, or service: a helper that waits while another works
-- counted    BOOLEAN  it counts: no other row stands for the same work
-- block      BIGINT   block of its device in the file's table, from 1; NULL for other traces
CREATE VIEW _window_rows AS
WITH tables AS (
    SELECT
        trace_id, rank, device, kernel_id, start_ns, end_ns, dur_ns,
        CASE
            WHEN comm_role = 'service' OR (comm_role = 'task' AND NOT counted) THEN 'service'
            WHEN comm_role = 'compute' THEN 'compute'
            ELSE 'communication'
        END AS part,
        counted, source = 'csv' AS is_table,
        coalesce(
            start_ns < lag(start_ns) OVER (
                PARTITION BY trace_id, device, source ORDER BY kernel_id
            ), FALSE
        ) AS descends
    FROM ascend_kernels
    WHERE
        start_ns IS NOT NULL AND dur_ns IS NOT NULL
        -- The timeline repeats the rows of a table; its other rows are counters or marks.
        AND (source = 'csv' OR (counted IS TRUE AND dup_reason IS NULL) OR comm_role <> 'compute')
        AND dup_reason IS DISTINCT FROM 'timeline_twin'
)
SELECT
    trace_id, rank, device, kernel_id, start_ns, end_ns, dur_ns, part, counted,
    CASE
        WHEN is_table THEN 1 + count(CASE WHEN descends THEN 1 END) OVER (
            PARTITION BY trace_id, device, is_table ORDER BY kernel_id ROWS UNBOUNDED PRECEDING
        )
    END AS block
FROM tables
UNION ALL
SELECT
    k.trace_id, k.rank, k.device, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
    CASE WHEN k.kind = 'communication' THEN 'communication' ELSE 'compute' END, TRUE, NULL
FROM kernels AS k
JOIN traces AS t ON t.trace_id = k.trace_id
ANTI JOIN enclosing_kernels AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
WHERE t.format <> 'ascend';
