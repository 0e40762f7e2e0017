-- One row per step and device: where the step is marked, and how its work is found.
--
-- The work of a step is what was launched from it. If the host is marked and the trace shows
-- launches, or the calls that enqueued the runs of compiled programs, these are used; else the
-- device's own marks: its step line, the copies of annotations, without marks the runs of its main
-- program, without programs its passes. The host's time is the last resort.
--
-- stored: per trace
--
-- trace_id      VARCHAR  trace
-- device        INTEGER  device, -1 for the host in a trace without device operations
-- step_id       BIGINT   step, from 0 in the order of the marks of its device
-- step_source   VARCHAR  from step_sources
-- work_source   VARCHAR  launches, program runs, step ids, device marks or host time; NULL in a
--                        trace without device operations
-- step_number   BIGINT   number of the step, NULL if the trace gives none
-- nth           BIGINT   place among the steps of that number on the device, or without one, from 0
-- stage         VARCHAR  prefill, decode or mixed, NULL if unknown; preceded by the model for
--                        passes of several models
-- requests      BIGINT   requests in the step, NULL if neither its name nor its pass has them
-- tokens        BIGINT   tokens that it computes, NULL in the same cases
-- pid           VARCHAR  process whose launches count, NULL for any
-- tid           VARCHAR  thread of the mark
-- start_ns      BIGINT   start of the mark, ns
-- end_ns        BIGINT   end of the mark, ns
-- is_host       BOOLEAN  the host is marked
-- is_whole      BOOLEAN  FALSE for a pass that lacks layers
CREATE VIEW _step_spans AS
WITH devices AS (
    -- Without recorded launches, the operators of a few kernels do not place the work of steps.
    SELECT
        trace_id, device, count(launch_id) > 0 OR 2 * count(issued_by) > count(*) AS has_launches
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
    -- Traces in which annotations and launches use the same process numbers.
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
    -- The trace has no operation of the device.
    SELECT
        trace_id, coalesce(marks.device, -1), marked_by, NULL, NULL, step_source, step_number,
        stage, requests, tokens, start_ns, end_ns
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
unmarked AS (
    SELECT
        trace_id, device, pass_id, series, direction, pass_source, stage, requests, tokens,
        start_ns, end_ns, complete,
        direction = 'forward' AND lag(direction) OVER in_time <> 'forward'
        AND start_ns >= max(end_ns) OVER (
            PARTITION BY trace_id, device ORDER BY start_ns, end_ns, pass_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS begins, row_number() OVER in_time AS place
    FROM passes
    ANTI JOIN marks USING (trace_id)
    ANTI JOIN main_runs USING (trace_id)
    WINDOW in_time AS (PARTITION BY trace_id, device ORDER BY start_ns, end_ns, pass_id)
),
unmarked_steps AS (
    -- Each pass is a step, in training together with its backward work and the optimizer after it;
    -- the passes of several models are steps of different programs.
    SELECT
        trace_id, device, requests, tokens, start_ns, end_ns, complete AS is_whole,
        if(
            min(series) OVER on_device = max(series) OVER on_device,
            stage, concat_ws(' ', series, stage)
        ) AS stage
    FROM unmarked
    ANTI JOIN _trained_passes USING (trace_id, device, pass_id)
    WHERE direction IS NULL
    WINDOW on_device AS (PARTITION BY trace_id, device)
    UNION ALL
    SELECT
        p.trace_id, p.device, CAST(sum(u.requests) FILTER (u.direction = 'forward') AS BIGINT),
        CAST(sum(u.tokens) FILTER (u.direction = 'forward') AS BIGINT), min(p.start_ns),
        max(p.end_ns), bool_and(p.complete), NULL
    FROM _trained_passes AS p
    JOIN unmarked AS u
        ON u.trace_id = p.trace_id AND u.device = p.device AND u.pass_id = p.pass_id
    GROUP BY p.trace_id, p.device, p.step_ns
    UNION ALL
    -- In training whose directions the host shows, if it shows no optimizer, a step lasts from a
    -- forward pass to the next one that follows backward passes, once all of these have ended: if
    -- micro-batches overlap, none of them is an interval of its own.
    SELECT
        trace_id, device, CAST(sum(requests) FILTER (direction = 'forward') AS BIGINT),
        CAST(sum(tokens) FILTER (direction = 'forward') AS BIGINT), min(start_ns), max(end_ns),
        bool_and(complete), NULL
    FROM (
        SELECT
            trace_id, device, direction, requests, tokens, start_ns, end_ns, complete,
            count(CASE WHEN begins THEN 1 END) OVER (
                PARTITION BY trace_id, device ORDER BY place
            ) AS step
        FROM unmarked
        ANTI JOIN _trained_passes USING (trace_id, device, pass_id)
        WHERE direction IS NOT NULL AND pass_source IN ('module scopes', 'annotations')
    )
    GROUP BY trace_id, device, step
),
chosen AS (
    SELECT placed.*, work_source
    FROM placed
    JOIN evidence
        ON evidence.trace_id = placed.trace_id
        AND evidence.device = placed.device
        AND placed.marked_by = CASE
            WHEN work_source = 'step ids' THEN 'rows'
            WHEN work_source = 'device marks' THEN 'device'
            WHEN work_source IS NULL THEN placed.marked_by
            ELSE 'host'
        END
),
timed AS (
    -- By the host's time, marks of several processes that overlap and have one number are one step:
    -- whose operations are whose cannot be seen.
    SELECT
        *,
        start_ns >= max(end_ns) OVER (
            PARTITION BY trace_id, device, step_source, step_number, stage, requests, tokens
            ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS begins
    FROM chosen
    WHERE work_source = 'host time' AND step_number IS NOT NULL
),
spans AS (
    SELECT
        trace_id, device, step_source, work_source, step_number, stage, requests, tokens, pid, tid,
        start_ns, end_ns, marked_by = 'host' AS is_host, TRUE AS is_whole
    FROM chosen
    WHERE work_source IS DISTINCT FROM 'host time' OR step_number IS NULL
    UNION ALL
    SELECT
        trace_id, device, step_source, work_source, step_number, stage, requests, tokens, NULL,
        NULL, min(start_ns), max(end_ns), TRUE, TRUE
    FROM (
        SELECT
            *,
            count(CASE WHEN begins THEN 1 END) OVER (
                PARTITION BY trace_id, device, step_source, step_number, stage, requests, tokens
                ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
            ) AS place
        FROM timed
    )
    GROUP BY
        trace_id, device, step_source, work_source, step_number, stage, requests, tokens, place
    UNION ALL
    SELECT
        trace_id, device, 'program', 'device marks', NULL, NULL, NULL, NULL, NULL, NULL, start_ns,
        end_ns, FALSE, TRUE
    FROM main_runs
    ANTI JOIN marks USING (trace_id)
    UNION ALL
    SELECT
        trace_id, device, 'pass', 'device marks', NULL, stage, requests, tokens, NULL, NULL,
        start_ns, end_ns, FALSE, is_whole
    FROM unmarked_steps
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
