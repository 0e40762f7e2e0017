-- One row per step and device in which a compiled program ran: the runs that the host enqueued in
-- it, if the host is marked and the trace shows that, else those whose middle is in it.
--
-- trace_id      VARCHAR  trace
-- device        INTEGER  device
-- step_id       BIGINT   step
-- program       VARCHAR  program of the longest run
-- execution_id  BIGINT   that run
-- start_ns      BIGINT   start of the first run, ns
-- end_ns        BIGINT   end of the last, ns
CREATE VIEW _step_runs AS
WITH sources AS (
    SELECT DISTINCT trace_id, device, work_source FROM _step_spans
),
runs AS (
    SELECT
        programs.trace_id, programs.device, program, execution_id, start_ns, end_ns,
        CASE
            WHEN work_source = 'program runs' THEN enqueue_start_ns
            ELSE start_ns + (end_ns - start_ns) // 2
        END AS at_ns
    FROM programs
    JOIN sources
        ON sources.trace_id = programs.trace_id AND sources.device = programs.device
    -- Launches take precedence over the times of runs.
    WHERE work_source <> 'launches'
)
SELECT
    runs.trace_id, runs.device, spans.step_id,
    arg_max(program, (runs.end_ns - runs.start_ns, -runs.start_ns)) AS program,
    -- In a struct, since arg_max skips a value that is NULL.
    arg_max({'id': execution_id}, (runs.end_ns - runs.start_ns, -runs.start_ns))['id']
        AS execution_id,
    min(runs.start_ns) AS start_ns, max(runs.end_ns) AS end_ns
FROM runs
ASOF JOIN _step_spans AS spans
    ON spans.trace_id = runs.trace_id AND spans.device = runs.device
    AND spans.start_ns <= runs.at_ns
WHERE runs.at_ns < spans.end_ns
GROUP BY runs.trace_id, runs.device, spans.step_id;
