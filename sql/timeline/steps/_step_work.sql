-- One row per device operation that belongs to a step. It belongs to one step at most.
--
-- By launches: to the step in whose host time it was issued (see kernels), a graph's operations by
-- the launch of the graph. The marked thread takes precedence, then what other threads of its
-- process issued in that time, such as the backward pass of a training step. When the operation ran
-- does not matter, and one for which the trace does not show it belongs to no step.
--
-- By device marks, program runs or, as a last resort, the host's time: to the step in which it
-- starts. By step ids: to the step named in its row.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   the operation
-- stream     BIGINT   its stream
-- step_id    BIGINT   step of the device
-- start_ns   BIGINT   its start, ns
-- end_ns     BIGINT   its end, ns
CREATE VIEW _step_work AS
WITH spans AS MATERIALIZED (
    SELECT
        trace_id, device, step_id, work_source, step_number, pid, tid, start_ns, end_ns
    FROM _step_spans
    WHERE work_source IS NOT NULL
),
sources AS (
    SELECT trace_id, device, any_value(work_source) AS work_source, count(pid) > 0 AS has_process
    FROM spans
    GROUP BY trace_id, device
),
operations AS MATERIALIZED (
    SELECT
        kernels.trace_id, kernels.device, kernel_id, stream, start_ns, end_ns, issued_ns,
        work_source, if(has_process, issued_pid, '') AS pid, issued_tid AS tid
    FROM kernels
    JOIN sources ON sources.trace_id = kernels.trace_id AND sources.device = kernels.device
),
launched AS (
    SELECT
        operations.trace_id, operations.device, kernel_id, stream, operations.start_ns,
        operations.end_ns, issued_ns, operations.pid,
        CASE WHEN issued_ns < spans.end_ns THEN step_id END AS step_id
    FROM operations
    ASOF LEFT JOIN spans
        ON spans.trace_id = operations.trace_id AND spans.device = operations.device
        AND coalesce(spans.pid, '') = operations.pid AND spans.tid = operations.tid
        AND spans.start_ns <= operations.issued_ns
    WHERE operations.work_source = 'launches' AND issued_ns IS NOT NULL
),
meanwhile AS (
    SELECT
        launched.trace_id, launched.device, kernel_id, stream, spans.step_id, launched.start_ns,
        launched.end_ns
    FROM launched
    ASOF JOIN spans
        ON spans.trace_id = launched.trace_id AND spans.device = launched.device
        AND coalesce(spans.pid, '') = launched.pid
        AND spans.start_ns <= launched.issued_ns
    WHERE launched.step_id IS NULL AND launched.issued_ns < spans.end_ns
),
sought AS (
    SELECT
        spans.trace_id, spans.device, spans.step_id,
        CASE work_source
            WHEN 'device marks' THEN spans.start_ns
            WHEN 'program runs' THEN runs.start_ns
            ELSE coalesce(runs.start_ns, spans.start_ns)
        END AS from_ns,
        CASE work_source
            WHEN 'device marks' THEN spans.end_ns
            WHEN 'program runs' THEN runs.end_ns
            ELSE coalesce(runs.end_ns, spans.end_ns)
        END AS to_ns
    FROM spans
    LEFT JOIN _step_runs AS runs
        ON runs.trace_id = spans.trace_id AND runs.device = spans.device
        AND runs.step_id = spans.step_id
    WHERE work_source IN ('device marks', 'program runs', 'host time')
),
timed AS (
    SELECT
        operations.trace_id, operations.device, kernel_id, stream, step_id, start_ns, end_ns
    FROM operations
    ASOF JOIN (SELECT * FROM sought WHERE from_ns IS NOT NULL) AS sought
        ON sought.trace_id = operations.trace_id AND sought.device = operations.device
        AND sought.from_ns <= operations.start_ns
    WHERE operations.start_ns < sought.to_ns
)
SELECT trace_id, device, kernel_id, stream, step_id, start_ns, end_ns
FROM launched
WHERE step_id IS NOT NULL
UNION ALL
SELECT trace_id, device, kernel_id, stream, step_id, start_ns, end_ns FROM meanwhile
UNION ALL
SELECT trace_id, device, kernel_id, stream, step_id, start_ns, end_ns FROM timed
UNION ALL
SELECT
    operations.trace_id, operations.device, operations.kernel_id, operations.stream,
    spans.step_id, operations.start_ns, operations.end_ns
FROM operations
JOIN ascend_kernels AS given
    ON given.trace_id = operations.trace_id AND given.kernel_id = operations.kernel_id
JOIN spans
    ON spans.trace_id = operations.trace_id AND spans.device = operations.device
    AND spans.work_source = 'step ids' AND spans.step_number = given.step_id;
