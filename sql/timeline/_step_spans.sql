-- One row per step and device: where the step is marked, and how its work is found.
--
-- The work of a step is what was launched from it. Where the host is marked and the trace shows
-- launches, or the calls that enqueued the runs of compiled programs, these tell; then what the
-- device itself marks: its step line, the copies of annotations, without marks the runs of its main
-- program, without programs its passes. Last comes the host's time, for want of anything better.
--
-- Materialised per trace.
--
-- trace_id      VARCHAR  trace
-- device        INTEGER  device, NULL in a trace without device operations
-- step_id       BIGINT   step, from 0 in the order of the marks of its device
-- step_source   VARCHAR  from step_sources
-- work_source   VARCHAR  launches, program runs, step ids, device marks or host time; NULL in a
--                        trace without device operations
-- step_number   BIGINT   number of the step, NULL where the trace gives none
-- nth           BIGINT   of the steps of that number on the device, or of those without one, which
-- stage         VARCHAR  prefill, decode or mixed, NULL where not told; of passes of several models
--                        with the model before it
-- requests      BIGINT   requests in the step, NULL where neither its name nor its pass says
-- tokens        BIGINT   tokens that it computes, NULL likewise
-- pid           VARCHAR  process whose launches count, NULL for those of any
-- tid           VARCHAR  thread of the mark
-- start_ns      BIGINT   start of the mark, ns
-- end_ns        BIGINT   end of the mark, ns
-- is_host       BOOLEAN  the host is marked
-- is_whole      BOOLEAN  not a pass that lacks layers
CREATE VIEW _step_spans AS
WITH devices AS (
    SELECT trace_id, device, count(launch_id) > 0 AS has_launches
    FROM kernels
    GROUP BY trace_id, device
),
launchers AS (
    SELECT DISTINCT trace_id, device, launch_pid AS pid FROM kernels WHERE launch_id IS NOT NULL
),
marks AS MATERIALIZED (
    SELECT * FROM _step_marks
),
numbered_alike AS (
    -- Traces whose annotations and launches have the same numbers of processes.
    SELECT DISTINCT trace_id
    FROM marks
    JOIN launchers USING (trace_id, pid)
    WHERE marks.marked_by = 'host'
),
placed AS (
    SELECT
        devices.trace_id, devices.device, marked_by, marks.pid, tid, step_source, step_number,
        stage, requests, tokens, start_ns, end_ns
    FROM devices
    JOIN marks
        ON marks.trace_id = devices.trace_id AND marks.device = devices.device
        AND marks.marked_by <> 'host'
    UNION ALL
    SELECT
        devices.trace_id, devices.device, marked_by,
        if(alike.trace_id IS NULL, NULL, marks.pid), tid, step_source, step_number, stage,
        requests, tokens, start_ns, end_ns
    FROM devices
    JOIN marks ON marks.trace_id = devices.trace_id AND marks.marked_by = 'host'
    LEFT JOIN numbered_alike AS alike ON alike.trace_id = devices.trace_id
    LEFT JOIN launchers
        ON launchers.trace_id = devices.trace_id AND launchers.device = devices.device
        AND launchers.pid = marks.pid
    WHERE alike.trace_id IS NULL OR launchers.pid IS NOT NULL OR NOT devices.has_launches
    UNION ALL
    -- No operation of the device is in the trace.
    SELECT
        trace_id, marks.device, marked_by, NULL, NULL, step_source, step_number, stage, requests,
        tokens, start_ns, end_ns
    FROM marks
    ANTI JOIN devices
        ON devices.trace_id = marks.trace_id
        AND coalesce(devices.device = marks.device, TRUE)
),
enqueued AS (
    SELECT DISTINCT trace_id, device FROM programs WHERE enqueue_start_ns IS NOT NULL
),
evidence AS (
    SELECT
        placed.trace_id, placed.device,
        CASE
            WHEN bool_or(marked_by = 'rows') THEN 'step ids'
            WHEN bool_or(marked_by = 'host') AND bool_or(enqueued.trace_id IS NOT NULL)
                THEN 'program runs'
            WHEN bool_or(marked_by = 'host') AND bool_or(has_launches) THEN 'launches'
            WHEN bool_or(marked_by = 'device') THEN 'device marks'
            WHEN bool_or(has_launches IS NOT NULL) THEN 'host time'
        END AS work_source
    FROM placed
    LEFT JOIN devices
        ON devices.trace_id = placed.trace_id AND devices.device = placed.device
    LEFT JOIN enqueued
        ON enqueued.trace_id = placed.trace_id AND enqueued.device = placed.device
    GROUP BY placed.trace_id, placed.device
),
main_runs AS (
    SELECT trace_id, device, start_ns, end_ns
    FROM programs
    WHERE is_main
),
spans AS (
    SELECT
        placed.trace_id, placed.device, step_source, work_source, step_number, stage, requests,
        tokens, pid, tid, start_ns, end_ns, marked_by = 'host' AS is_host, TRUE AS is_whole
    FROM placed
    JOIN evidence
        ON evidence.trace_id = placed.trace_id
        AND evidence.device IS NOT DISTINCT FROM placed.device
        AND placed.marked_by = CASE
            WHEN work_source = 'step ids' THEN 'rows'
            WHEN work_source = 'device marks' THEN 'device'
            WHEN work_source IS NULL THEN placed.marked_by
            ELSE 'host'
        END
    UNION ALL
    SELECT
        trace_id, device, 'program', 'device marks', NULL, NULL, NULL, NULL, NULL, NULL, start_ns,
        end_ns, FALSE, TRUE
    FROM main_runs
    ANTI JOIN marks USING (trace_id)
    UNION ALL
    SELECT
        trace_id, device, 'pass', 'device marks', NULL,
        -- The passes of several models are steps of different programs.
        if(
            min(series) OVER on_device = max(series) OVER on_device,
            stage, concat_ws(' ', series, stage)
        ),
        requests, tokens, NULL, NULL, start_ns, end_ns, FALSE, complete
    FROM passes
    ANTI JOIN marks USING (trace_id)
    ANTI JOIN main_runs USING (trace_id)
    WINDOW on_device AS (PARTITION BY trace_id, device)
),
ordered AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY trace_id, device ORDER BY start_ns, end_ns, step_number, stage, pid
        ) - 1 AS step_id
    FROM spans
)
SELECT
    trace_id, device, step_id, step_source, work_source, step_number,
    row_number() OVER (
        PARTITION BY trace_id, device, step_number ORDER BY step_id
    ) - 1 AS nth,
    stage, requests, tokens, pid, tid, start_ns, end_ns, is_host, is_whole
FROM ordered;
