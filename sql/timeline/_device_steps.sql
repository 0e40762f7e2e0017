-- One row per step and device, with what the device did in it.
--
-- A device takes the steps marked on itself; where there are fewer of them than on the host, the
-- host's. Without marks its steps are the runs of its main program, without programs its passes.
--
-- Operations belong to the step in which they start. Where the host is marked they belong to the
-- step that launched them: by their launch, for compiled programs by the call that enqueued the
-- run.
--
-- Materialised per trace.
--
-- trace_id      VARCHAR  trace
-- device        INTEGER  device, NULL in a trace without device operations
-- step_id       BIGINT   step, from 0 in time order on its device
-- step_source   VARCHAR  from step_sources
-- step_number   BIGINT   number of the step, NULL where the trace gives none
-- nth           BIGINT   of the steps of that number on the device, or of those without one, which
-- program       VARCHAR  longest program that ran in it, else the stage of an engine's step
-- execution_id  BIGINT   run of that program
-- start_ns      BIGINT   start, ns
-- end_ns        BIGINT   end, ns
-- ops           BIGINT   device operations in it
-- first_ns      BIGINT   start of the first of them, ns
-- last_ns       BIGINT   end of the last of them, ns
-- is_whole      BOOLEAN  not a pass that lacks layers
CREATE VIEW _device_steps AS
WITH devices AS (
    SELECT DISTINCT trace_id, device FROM kernels
),
places AS (
    SELECT trace_id, device FROM devices
    UNION
    SELECT trace_id, device FROM _step_marks WHERE device IS NOT NULL
    UNION
    SELECT trace_id, NULL FROM _step_marks ANTI JOIN devices USING (trace_id)
),
counts AS (
    SELECT
        places.trace_id, places.device,
        count(*) FILTER (marks.device = places.device) AS own,
        count(*) FILTER (marks.device IS NULL) AS shared
    FROM places
    JOIN _step_marks AS marks USING (trace_id)
    GROUP BY places.trace_id, places.device
),
marked AS (
    SELECT
        counts.trace_id, counts.device, marks.step_source, marks.step_number, marks.stage,
        marks.start_ns, marks.end_ns, marks.device IS NULL AS is_host
    FROM counts
    JOIN _step_marks AS marks
        ON marks.trace_id = counts.trace_id
        AND CASE
            WHEN counts.own >= counts.shared THEN marks.device = counts.device
            ELSE marks.device IS NULL
        END
),
main_runs AS (
    SELECT trace_id, device, start_ns, end_ns
    FROM programs
    WHERE is_main
),
unmarked AS (
    SELECT
        trace_id, device, 'program' AS step_source, CAST(NULL AS BIGINT) AS step_number,
        CAST(NULL AS VARCHAR) AS stage, start_ns, end_ns, TRUE AS is_whole
    FROM main_runs
    ANTI JOIN counts USING (trace_id)
    UNION ALL
    SELECT trace_id, device, 'pass', NULL, stage, start_ns, end_ns, complete
    FROM passes
    ANTI JOIN counts USING (trace_id)
    ANTI JOIN main_runs USING (trace_id)
),
spans AS (
    SELECT
        trace_id, device, step_source, step_number, stage, start_ns, end_ns, is_host, is_whole,
        row_number() OVER (
            PARTITION BY trace_id, device ORDER BY start_ns, end_ns, step_number, stage
        ) - 1 AS step_id
    FROM (
        SELECT
            trace_id, device, step_source, step_number, stage, start_ns, end_ns, is_host,
            TRUE AS is_whole
        FROM marked
        UNION ALL
        SELECT
            trace_id, device, step_source, step_number, stage, start_ns, end_ns, FALSE, is_whole
        FROM unmarked
    )
),
run_steps AS (
    -- The middle of a run, or the call that enqueued it.
    SELECT
        runs.trace_id, runs.device, runs.program, runs.execution_id, runs.start_ns,
        runs.end_ns, spans.step_id
    FROM (
        SELECT
            programs.trace_id, programs.device, program, execution_id, programs.start_ns,
            programs.end_ns,
            CASE
                WHEN hosts.trace_id IS NOT NULL AND enqueue_start_ns IS NOT NULL
                    THEN enqueue_start_ns
                ELSE programs.start_ns + (programs.end_ns - programs.start_ns) // 2
            END AS at_ns
        FROM programs
        LEFT JOIN (SELECT DISTINCT trace_id, device FROM spans WHERE is_host) AS hosts
            ON hosts.trace_id = programs.trace_id AND hosts.device = programs.device
    ) AS runs
    ASOF JOIN spans
        ON spans.trace_id = runs.trace_id AND spans.device = runs.device
        AND spans.start_ns <= runs.at_ns
    WHERE runs.at_ns < spans.end_ns
),
step_runs AS (
    SELECT
        trace_id, device, step_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        arg_max(
            {'program': program, 'execution_id': execution_id},
            (end_ns - start_ns, -start_ns)
        ) AS main
    FROM run_steps
    GROUP BY trace_id, device, step_id
),
searched AS (
    -- Where its operations are, and on which clock: launches, or the device's.
    SELECT
        spans.trace_id, spans.device, spans.step_id,
        spans.is_host AND step_runs.step_id IS NULL AS by_launch,
        CASE WHEN spans.is_host THEN step_runs.start_ns END AS runs_from_ns,
        CASE WHEN spans.is_host THEN step_runs.end_ns END AS runs_to_ns,
        spans.start_ns, spans.end_ns
    FROM spans
    LEFT JOIN step_runs
        ON step_runs.trace_id = spans.trace_id AND step_runs.device = spans.device
        AND step_runs.step_id = spans.step_id
),
clocks AS (
    SELECT trace_id, device, bool_and(by_launch) AS by_launch
    FROM searched
    GROUP BY trace_id, device
),
sought AS (
    SELECT
        trace_id, device, step_id, coalesce(runs_from_ns, start_ns) AS from_ns,
        coalesce(runs_to_ns, end_ns) AS to_ns
    FROM searched
),
operations AS (
    SELECT
        kernels.trace_id, kernels.device, kernels.start_ns, kernels.end_ns,
        CASE
            WHEN clocks.by_launch THEN coalesce(launch_ns, kernels.start_ns)
            ELSE kernels.start_ns
        END AS at_ns
    FROM kernels
    JOIN clocks
        ON clocks.trace_id = kernels.trace_id AND clocks.device = kernels.device
),
step_operations AS (
    SELECT
        operations.trace_id, operations.device, sought.step_id, count(*) AS ops,
        min(operations.start_ns) AS first_ns, max(operations.end_ns) AS last_ns
    FROM operations
    ASOF JOIN sought
        ON sought.trace_id = operations.trace_id AND sought.device = operations.device
        AND sought.from_ns <= operations.at_ns
    WHERE operations.at_ns < sought.to_ns
    GROUP BY operations.trace_id, operations.device, sought.step_id
)
SELECT
    spans.trace_id, spans.device, spans.step_id, spans.step_source, spans.step_number,
    row_number() OVER (
        PARTITION BY spans.trace_id, spans.device, spans.step_number ORDER BY spans.step_id
    ) - 1 AS nth,
    coalesce(step_runs.main.program, spans.stage) AS program,
    step_runs.main.execution_id AS execution_id,
    spans.start_ns, spans.end_ns,
    coalesce(step_operations.ops, 0) AS ops, step_operations.first_ns, step_operations.last_ns,
    spans.is_whole
FROM spans
LEFT JOIN step_runs
    ON step_runs.trace_id = spans.trace_id AND step_runs.device = spans.device
    AND step_runs.step_id = spans.step_id
LEFT JOIN step_operations
    ON step_operations.trace_id = spans.trace_id AND step_operations.device = spans.device
    AND step_operations.step_id = spans.step_id;
