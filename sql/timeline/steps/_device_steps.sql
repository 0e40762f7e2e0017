-- One row per step and device, with what the device did in it: see _step_spans for where steps
-- come from and _step_work for what belongs to them.
--
-- The time of a step is the device's: from the start of its first operation to the end of its last
-- if launches, program runs or step ids give its work; else the mark itself, if the device is
-- marked or the work of the host's mark is unknown. A step without work has no time.
--
-- stored: per trace
--
-- trace_id       VARCHAR  trace
-- device         INTEGER  device, -1 for the host in a trace without device operations
-- step_id        BIGINT   step, from 0 in the order of the marks
-- step_source    VARCHAR  from step_sources
-- work_source    VARCHAR  launches, program runs, step ids, device marks or host time; NULL in a
--                         trace without device operations
-- step_number    BIGINT   number of the step, NULL if the trace gives none
-- nth            BIGINT   place among the steps of that number on the device, or without one, from
--                         0
-- program        VARCHAR  longest program that ran in it, else the stage of an engine's step
-- execution_id   BIGINT   run of that program
-- requests       BIGINT   requests in the step, NULL if unknown
-- tokens         BIGINT   tokens that it computes, NULL if unknown
-- mark_ns        BIGINT   start of its mark, ns: the order of steps
-- host_start_ns  BIGINT   start of the host's mark, NULL if the host is not marked, ns
-- host_end_ns    BIGINT   end of that mark, ns
-- start_ns       BIGINT   start of its time, ns
-- end_ns         BIGINT   end of its time, ns
-- ops            BIGINT   device operations in it
-- first_ns       BIGINT   start of the first of them, ns
-- last_ns        BIGINT   end of the last of them, ns
-- lead_ns        BIGINT   start of the first of them on the stream that computes most, else of the
--                         first, ns
-- is_whole       BOOLEAN  FALSE for a pass that lacks layers
CREATE VIEW _device_steps AS
WITH streams AS (
    -- The smallest integer cannot be negated.
    SELECT trace_id, device, arg_max(stream, (sum_ns, -1 - stream)) AS stream
    FROM (
        SELECT trace_id, device, stream, sum(dur_ns) AS sum_ns
        FROM kernels
        WHERE kind = 'compute'
        GROUP BY trace_id, device, stream
    )
    GROUP BY trace_id, device
),
totals AS (
    SELECT
        work.trace_id, work.device, step_id, count(*) AS ops, min(start_ns) AS first_ns,
        max(end_ns) AS last_ns,
        min(start_ns) FILTER (work.stream IS NOT DISTINCT FROM streams.stream) AS lead_ns
    FROM _step_work AS work
    LEFT JOIN streams ON streams.trace_id = work.trace_id AND streams.device = work.device
    GROUP BY work.trace_id, work.device, step_id
)
SELECT
    spans.trace_id, spans.device, spans.step_id, spans.step_source, work_source, step_number, nth,
    coalesce(runs.program, stage) AS program, runs.execution_id, requests, tokens,
    spans.start_ns AS mark_ns,
    CASE WHEN is_host THEN spans.start_ns END AS host_start_ns,
    CASE WHEN is_host THEN spans.end_ns END AS host_end_ns,
    CASE
        WHEN work_source IN ('launches', 'program runs', 'step ids') THEN first_ns
        ELSE spans.start_ns
    END AS start_ns,
    CASE
        WHEN work_source IN ('launches', 'program runs', 'step ids') THEN last_ns
        ELSE spans.end_ns
    END AS end_ns,
    coalesce(ops, 0) AS ops, first_ns, last_ns, coalesce(lead_ns, first_ns) AS lead_ns, is_whole
FROM _step_spans AS spans
LEFT JOIN _step_runs AS runs
    ON runs.trace_id = spans.trace_id AND runs.device = spans.device
    AND runs.step_id = spans.step_id
LEFT JOIN totals
    ON totals.trace_id = spans.trace_id AND totals.device = spans.device
    AND totals.step_id = spans.step_id;
