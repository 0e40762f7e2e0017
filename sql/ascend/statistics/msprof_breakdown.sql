-- One row per trace, device and step of an Ascend trace: where the time goes, in the terms of the
-- profiler's step_trace_time.csv, computed from the kernels.
--
-- Like the profiler's own computing lane, this counts kernels of operators: no collectives, neither
-- their rows on vector cores nor on the control processor, and no copies. A kernel that exchanges
-- data itself (MoeDistributeDispatch), communication elsewhere, is computing. Intervals are merged.
-- The profiler also leaves out the streams on which fused collectives are scheduled, which a table
-- of kernels does not name; their rows are those of the control processor. A trace without steps
-- has one row, from its first kernel to its last.
--
-- key: trace_id, device, step_id
--
-- trace_id                           VARCHAR  trace
-- rank                               INTEGER  rank in the job, NULL if unknown
-- device                             INTEGER  device
-- step_id                            INTEGER  step of the profiler's schedule, -1 without one
-- start_ns                           BIGINT   start of the first kernel, ns
-- end_ns                             BIGINT   end of the last, ns
-- elapsed_us                         DOUBLE   from that start to that end, µs
-- computing_us                       DOUBLE   time with a kernel of an operator running, µs
-- communication_us                   DOUBLE   time with a collective running, µs
-- overlapped_us                      DOUBLE   of that, time with a kernel computing, µs
-- communication_not_overlapped_us    DOUBLE   of that, time with none, µs
-- free_us                            DOUBLE   time with neither, including copies, µs
-- bubble_us                          DOUBLE   time of hcom_receive, summed, µs
-- stage_us                           DOUBLE   elapsed_us without it, µs
-- not_overlapped_exclude_receive_us  DOUBLE   communication_not_overlapped_us without it, µs
CREATE VIEW msprof_breakdown AS
WITH tasks AS (
    SELECT
        k.trace_id, k.rank, k.device, coalesce(step_id, -1) AS step_id, k.start_ns, k.end_ns,
        CASE WHEN comm_role = 'compute' THEN 'compute' ELSE k.kind END AS kind,
        k.kind = 'communication' AND comm_kind = 'receive' AS receives
    FROM kernels AS k
    JOIN ascend_kernels AS a ON a.trace_id = k.trace_id AND a.kernel_id = k.kernel_id
    WHERE k.kind IN ('compute', 'communication')
),
edges AS (
    SELECT trace_id, rank, device, step_id, kind, start_ns AS at_ns, 1 AS step
    FROM tasks
    UNION ALL
    SELECT trace_id, rank, device, step_id, kind, end_ns, -1
    FROM tasks
),
slices AS (
    SELECT
        trace_id, rank, device, step_id, at_ns,
        lead(at_ns) OVER in_time - at_ns AS slice_ns,
        sum(CASE kind WHEN 'compute' THEN step ELSE 0 END) OVER in_time > 0 AS computes,
        sum(CASE kind WHEN 'communication' THEN step ELSE 0 END) OVER in_time > 0 AS communicates
    FROM edges
    WINDOW in_time AS (
        PARTITION BY trace_id, device, step_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING
    )
),
sums AS (
    SELECT
        trace_id, rank, device, step_id, min(at_ns) AS start_ns, max(at_ns) AS end_ns,
        coalesce(sum(slice_ns) FILTER (computes), 0) AS computing_ns,
        coalesce(sum(slice_ns) FILTER (communicates), 0) AS communication_ns,
        coalesce(sum(slice_ns) FILTER (communicates AND computes), 0) AS overlapped_ns
    FROM slices
    GROUP BY trace_id, rank, device, step_id
),
bubbles AS (
    SELECT trace_id, rank, device, step_id, sum(end_ns - start_ns) AS bubble_ns
    FROM tasks
    WHERE receives
    GROUP BY trace_id, rank, device, step_id
)
SELECT
    s.trace_id, s.rank, s.device, s.step_id, start_ns, end_ns,
    (end_ns - start_ns) / 1000.0 AS elapsed_us,
    computing_ns / 1000.0 AS computing_us,
    communication_ns / 1000.0 AS communication_us,
    overlapped_ns / 1000.0 AS overlapped_us,
    (communication_ns - overlapped_ns) / 1000.0 AS communication_not_overlapped_us,
    (end_ns - start_ns - computing_ns - communication_ns + overlapped_ns) / 1000.0 AS free_us,
    coalesce(bubble_ns, 0) / 1000.0 AS bubble_us,
    (end_ns - start_ns - coalesce(bubble_ns, 0)) / 1000.0 AS stage_us,
    (communication_ns - overlapped_ns - coalesce(bubble_ns, 0)) / 1000.0
        AS not_overlapped_exclude_receive_us
FROM sums AS s
LEFT JOIN bubbles AS b
    ON b.trace_id = s.trace_id
    AND b.device = s.device AND b.step_id = s.step_id;
