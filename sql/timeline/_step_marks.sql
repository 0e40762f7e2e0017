-- One row per stretch of time that a trace itself calls a step, by the evidence that counts for
-- the trace: its step line, else the annotations of the source that marks the most steps.
--
-- Of annotations of one source on a process, or on a device, that lie in each other only the
-- outermost is a step. A device repeats an annotation on each of its streams: that is one mark,
-- from the first start to the last end. A table of kernels names the step of each row: there a step
-- lasts from its first kernel to its last.
--
-- trace_id     VARCHAR  trace
-- marked_by    VARCHAR  host, device, or rows: each device operation names its step
-- device       INTEGER  device, NULL where the host is marked
-- pid          VARCHAR  process of a mark of the host
-- tid          VARCHAR  its thread
-- step_source  VARCHAR  from step_sources
-- step_number  BIGINT   number of the step, NULL where the trace gives none
-- stage        VARCHAR  prefill, decode or mixed, NULL where not told
-- requests     BIGINT   requests in the step by the annotation's name, NULL where it does not say
-- tokens       BIGINT   tokens that the step computes by the same name, NULL likewise
-- start_ns     BIGINT   start, ns
-- end_ns       BIGINT   end, ns
CREATE VIEW _step_marks AS
WITH line_marks AS (
    SELECT
        events.trace_id, lines.device, TRY_CAST(name AS BIGINT) AS step_number, start_ns, end_ns
    FROM events
    JOIN lines USING (trace_id, pid, tid)
    WHERE lane = 'device' AND role = 'step' AND dur_ns > 0
),
annotations AS (
    SELECT trace_id, 'host' AS marked_by, NULL AS device, pid, tid, name, start_ns, end_ns
    FROM events
    WHERE lane IN ('host', 'device') AND category = 'user_annotation' AND dur_ns > 0
    UNION ALL
    SELECT trace_id, 'device', device, NULL, NULL, name, min(start_ns), max(end_ns)
    FROM (
        SELECT
            trace_id, coalesce(device, TRY_CAST(pid AS INTEGER)) AS device, name, external_id,
            if(external_id IS NULL, event_id, NULL) AS own_id, start_ns, end_ns
        FROM events
        WHERE
            lane IN ('host', 'device') AND category = 'gpu_user_annotation' AND dur_ns > 0
    )
    GROUP BY trace_id, device, name, external_id, own_id
),
ruled AS (
    SELECT
        a.name,
        arg_min(
            {
                'step_source': r.step_source, 'stage': r.stage,
                'requests_pattern': r.requests_pattern, 'tokens_pattern': r.tokens_pattern
            },
            r.priority
        ) AS rule
    FROM (SELECT DISTINCT name FROM annotations) AS a
    JOIN step_rules AS r ON regexp_matches(a.name, r.pattern)
    GROUP BY a.name
),
names AS (
    SELECT
        name, rule.step_source AS step_source, rule.stage AS stage,
        _sum_of_matches(name, rule.requests_pattern) AS requests,
        _sum_of_matches(name, rule.tokens_pattern) AS tokens,
        CASE
            WHEN rule.step_source <> 'engine step'
                THEN TRY_CAST(nullif(regexp_extract(name, '(\d+)', 1), '') AS BIGINT)
        END AS step_number
    FROM ruled
),
host_lines AS (
    SELECT trace_id, pid, tid
    FROM lines
    WHERE role = 'host'
),
numbered AS (
    -- JAX: annotations of the host with a step number, whatever they are called.
    SELECT
        trace_id, pid, tid, name, start_ns, end_ns,
        TRY_CAST(coalesce(args ->> '$.step_num', args ->> '$.group_id') AS BIGINT) AS step_number
    FROM events
    SEMI JOIN host_lines USING (trace_id, pid, tid)
    WHERE
        lane = 'host' AND dur_ns > 0
        AND (contains(args, '"step_num"') OR contains(args, '"group_id"'))
),
numbered_names AS (
    SELECT
        trace_id, name, count(DISTINCT step_number) AS steps, sum(end_ns - start_ns) AS total_ns
    FROM numbered
    WHERE step_number IS NOT NULL
    GROUP BY trace_id, name
),
step_names AS (
    SELECT trace_id, arg_max(name, (steps, total_ns, name)) AS name
    FROM numbered_names
    GROUP BY trace_id
),
table_marks AS (
    SELECT
        trace_id, device, step_id AS step_number, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM ascend_kernels
    WHERE step_id IS NOT NULL AND counted
    GROUP BY trace_id, device, step_id
),
found AS (
    SELECT
        trace_id, 'device' AS marked_by, device, CAST(NULL AS VARCHAR) AS pid,
        CAST(NULL AS VARCHAR) AS tid, 'step line' AS step_source, step_number,
        CAST(NULL AS VARCHAR) AS stage, CAST(NULL AS BIGINT) AS requests,
        CAST(NULL AS BIGINT) AS tokens, start_ns, end_ns
    FROM line_marks
    UNION ALL
    SELECT
        trace_id, 'rows', device, NULL, NULL, 'profiler step', step_number, NULL, NULL, NULL,
        start_ns, end_ns
    FROM table_marks
    UNION ALL
    SELECT
        trace_id, marked_by, device, pid, tid, step_source, step_number, stage, requests,
        tokens, start_ns, end_ns
    FROM annotations
    JOIN names USING (name)
    UNION ALL
    SELECT
        trace_id, 'host', NULL, pid, tid, 'train step', step_number, NULL, NULL, NULL, start_ns,
        end_ns
    FROM numbered
    SEMI JOIN step_names USING (trace_id, name)
    WHERE step_number IS NOT NULL
),
reaching AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY trace_id, step_source, marked_by, device, pid
            ORDER BY start_ns, end_ns DESC, stage, step_number
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM found
),
outermost AS (
    SELECT * EXCLUDE (reached_ns)
    FROM reaching
    WHERE
        step_source = 'step line' OR marked_by = 'rows'
        OR coalesce(end_ns > reached_ns, TRUE)
),
counts AS (
    -- A device repeats the marks of the host.
    SELECT trace_id, step_source, max(marks) AS marks
    FROM (
        SELECT trace_id, step_source, device, count(*) AS marks
        FROM outermost
        GROUP BY trace_id, step_source, device
    )
    GROUP BY trace_id, step_source
),
chosen AS (
    SELECT
        trace_id,
        arg_min(step_source, (step_source <> 'step line', -marks, priority)) AS step_source
    FROM counts
    JOIN step_sources USING (step_source)
    GROUP BY trace_id
)
SELECT
    trace_id, marked_by, device, pid, tid, step_source, step_number, stage, requests, tokens,
    start_ns, end_ns
FROM outermost
SEMI JOIN chosen USING (trace_id, step_source);
