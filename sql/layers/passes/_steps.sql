-- One row per step annotation: a stretch of time, on the host or on a device, that is one step of
-- an engine, one of its draft model or one of the profiler's schedule. Of nested annotations of one
-- source only the outermost is a step, so the latest step to have begun is the one that is running.
--
-- stored: per trace
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device, NULL if the annotation is the host's
-- start_ns  BIGINT   start
-- end_ns    BIGINT   end
-- name      VARCHAR  its name
-- stage     VARCHAR  prefill, decode or mixed, NULL if the name has none
CREATE VIEW _steps AS
WITH annotations AS (
    SELECT trace_id, name, start_ns, end_ns, device FROM user_annotations
),
names AS (
    SELECT
        a.name,
        arg_min({'step_source': r.step_source, 'stage': r.stage}, r.priority) AS rule
    FROM (
        SELECT name, unnest(_matching_step_rules(name)) AS priority
        FROM (SELECT DISTINCT name FROM annotations)
    ) AS a
    JOIN step_rules AS r ON r.priority = a.priority AND r.step_source <> 'train step'
    GROUP BY a.name
),
reaching AS (
    SELECT
        trace_id, device, start_ns, end_ns, name, rule.stage AS stage,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, rule.step_source
            ORDER BY start_ns, end_ns DESC, name
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM annotations
    JOIN names USING (name)
)
SELECT trace_id, device, start_ns, end_ns, name, stage
FROM reaching
WHERE coalesce(end_ns > reached_ns, TRUE);
