-- One row per interval that the trace itself marks as a step, by each evidence for it.
--
-- Of nested annotations of one source on a process or a device, only the outermost is a step. What
-- an engine does for the drafts of speculative decoding is no step, nor is a step annotation inside
-- of it: the draft model runs in modes of the target model and has their names. A device repeats an
-- annotation on each of its streams: that is one mark, from the first start to the last end. A
-- table of kernels names the step of each row: such a step lasts from its first kernel to its last.
-- trace_id     VARCHAR  trace
-- marked_by    VARCHAR  host, device or rows (of a table)
-- device       INTEGER  device of the mark, NULL for the host's
-- pid          VARCHAR  process of the mark, NULL for a device's
-- tid          VARCHAR  thread of the mark, NULL for a device's
-- step_source  VARCHAR  from step_sources
-- step_number  BIGINT   number of the step, NULL if its name has none
-- stage        VARCHAR  prefill, decode or mixed, NULL if its name shows none
-- requests     BIGINT   requests by its name, NULL if it has none
-- tokens       BIGINT   tokens by its name, NULL if it has none
-- start_ns     BIGINT   start of the mark, ns
-- end_ns       BIGINT   end of the mark, ns
CREATE VIEW _marked_steps AS
WITH line_marks AS (
    -- The number alone or, on GPUs, behind the name of the annotation: train 10.
    SELECT
        events.trace_id, lines.device,
        TRY_CAST(split_part(name, ' ', -1) AS BIGINT) AS step_number, start_ns, end_ns
    FROM events
    JOIN lines USING (trace_id, pid, tid)
    WHERE lane = 'device' AND role = 'step' AND dur_ns > 0
),
annotations AS (
    SELECT trace_id, 'host' AS marked_by, NULL AS device, pid, tid, name, start_ns, end_ns
    FROM events
    WHERE
        lane IN ('host', 'device') AND dur_ns > 0
        -- If annotations are written as operators (Ascend, PyTorch 1.8), names show steps.
        AND (
            category = 'user_annotation'
            OR (category IN ('cpu_op', 'operator') AND starts_with(name, 'ProfilerStep#'))
        )
    UNION ALL
    SELECT trace_id, 'device', device, NULL, NULL, name, min(start_ns), max(end_ns)
    FROM (
        SELECT
            trace_id, coalesce(processes.merged_device, events.device, processes.device) AS device,
            name, external_id, if(external_id IS NULL, event_id, NULL) AS own_id, start_ns, end_ns
        FROM events
        LEFT JOIN device_processes AS processes USING (trace_id, pid)
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
    FROM (
        SELECT name, unnest(_matching_step_rules(name)) AS priority
        FROM (SELECT DISTINCT name FROM annotations)
    ) AS a
    JOIN step_rules AS r ON r.priority = a.priority
    GROUP BY a.name
),
names AS (
    -- Drafts take part in the nesting of an engine's steps.
    SELECT
        name, replace(rule.step_source, 'draft step', 'engine step') AS step_source,
        rule.step_source = 'draft step' AS is_draft, rule.stage AS stage,
        sum_of_matches(name, rule.requests_pattern) AS requests,
        sum_of_matches(name, rule.tokens_pattern) AS tokens,
        CASE
            WHEN rule.step_source <> 'engine step'
                THEN TRY_CAST(nullif(regexp_extract(name, '(\d+)', 1), '') AS BIGINT)
        END AS step_number
    FROM ruled
    UNION ALL
    SELECT DISTINCT name, 'engine step', TRUE, NULL, NULL, NULL, NULL
    FROM annotations
    WHERE _names_drafts(name)
),
host_lines AS (
    SELECT trace_id, pid, tid
    FROM lines
    WHERE role = 'host'
),
numbered AS (
    -- JAX: annotations of the host with a step number, whatever their names.
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
        CAST(NULL AS BIGINT) AS tokens, start_ns, end_ns, FALSE AS is_draft
    FROM line_marks
    UNION ALL
    SELECT
        trace_id, 'rows', device, NULL, NULL, 'profiler step', step_number, NULL, NULL, NULL,
        start_ns, end_ns, FALSE
    FROM table_marks
    UNION ALL
    SELECT
        trace_id, marked_by, device, pid, tid, step_source, step_number, stage, requests,
        tokens, start_ns, end_ns, is_draft
    FROM annotations
    JOIN names USING (name)
    UNION ALL
    SELECT
        trace_id, 'host', NULL, pid, tid, 'train step', step_number, NULL, NULL, NULL, start_ns,
        end_ns, FALSE
    FROM numbered
    SEMI JOIN step_names USING (trace_id, name)
    WHERE step_number IS NOT NULL
    UNION ALL
    SELECT
        trace_id, 'host', NULL, pid, tid, 'optimizer step', NULL, NULL, NULL, NULL, start_ns,
        end_ns, FALSE
    FROM _optimizer_marks
),
reaching AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY trace_id, step_source, marked_by, device, pid
            ORDER BY start_ns, end_ns DESC, is_draft DESC, stage, step_number
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM found
)
SELECT
    trace_id, marked_by, device, pid, tid, step_source, step_number, stage, requests, tokens,
    start_ns, end_ns
FROM reaching
WHERE
    NOT is_draft
    AND (
        step_source = 'step line' OR marked_by = 'rows' OR coalesce(end_ns > reached_ns, TRUE)
    );
