-- One row per trace, program and selection of its steps: all of them, or the steady ones, which are
-- neither warm-up nor partial.
--
-- stored: per trace
--
-- key: trace_id, program?, scope
--
-- trace_id      VARCHAR   trace
-- rank          INTEGER   rank in the job, NULL if unknown
-- step_source   VARCHAR   source of the steps, see the table step_sources
-- work_source   VARCHAR   source of their work, see steps
-- program       VARCHAR   what the steps ran, see steps
-- is_main       BOOLEAN   no other program of the trace takes more time in its steps
-- scope         VARCHAR   all or steady
-- steps         BIGINT    steps
-- without_work  BIGINT    of these, steps to which no device operation belongs
-- mean_us       DOUBLE    mean duration on the device, or on the host in a trace without device
--                         operations: marker_us of step_times, µs; this and the next ones are NULL
--                         if no step has one
-- median_us     DOUBLE    median, µs
-- p90_us        DOUBLE    90th percentile, interpolated, µs
-- min_us        DOUBLE    shortest, µs
-- max_us        DOUBLE    longest, µs
-- jitter        DOUBLE    p90 over median
-- outliers      BIGINT[]  numbers of the steps over 1.5 times the steady median, else their step_id
-- busy_us       DOUBLE    mean union of their operations on a device, µs
-- host_us       DOUBLE    mean duration on the host, NULL if it is not marked, µs
-- requests      DOUBLE    mean number of requests, NULL if unknown
-- tokens        DOUBLE    mean number of tokens, NULL if unknown
CREATE VIEW step_summary AS
WITH times AS MATERIALIZED (
    SELECT
        trace_id, rank, step_source, work_source, program, step_id, step_number, is_outlier,
        is_warm_up, is_partial, marker_us, ops, busy_us, host_us, requests, tokens
    FROM step_times
),
scoped AS (
    SELECT
        trace_id, rank, step_source, work_source, program, scope, step_id, step_number,
        is_outlier, marker_us, ops, busy_us, host_us, requests, tokens,
        scope = 'all' OR NOT (is_warm_up OR is_partial) AS counts
    FROM times
    CROSS JOIN (VALUES ('all'), ('steady')) AS scopes(scope)
),
totals AS (
    SELECT trace_id, program, sum(marker_us) AS total_us
    FROM times
    GROUP BY trace_id, program
),
mains AS (
    SELECT
        trace_id, program,
        1 = row_number() OVER (
            PARTITION BY trace_id ORDER BY total_us DESC NULLS LAST, program
        ) AS is_main
    FROM totals
)
SELECT
    s.trace_id, any_value(rank) AS rank, any_value(step_source) AS step_source,
    any_value(work_source) AS work_source, s.program, any_value(is_main) AS is_main, scope,
    count(*) FILTER (counts) AS steps,
    count(*) FILTER (counts AND ops = 0) AS without_work,
    avg(marker_us) FILTER (counts) AS mean_us, median(marker_us) FILTER (counts) AS median_us,
    quantile_cont(marker_us, 0.9) FILTER (counts) AS p90_us,
    min(marker_us) FILTER (counts) AS min_us, max(marker_us) FILTER (counts) AS max_us,
    quantile_cont(marker_us, 0.9) FILTER (counts) / median(marker_us) FILTER (counts) AS jitter,
    coalesce(
        list(coalesce(step_number, step_id) ORDER BY step_id) FILTER (counts AND is_outlier), []
    ) AS outliers,
    avg(busy_us) FILTER (counts) AS busy_us, avg(host_us) FILTER (counts) AS host_us,
    avg(requests) FILTER (counts) AS requests, avg(tokens) FILTER (counts) AS tokens
FROM scoped AS s
JOIN mains ON mains.trace_id = s.trace_id AND mains.program IS NOT DISTINCT FROM s.program
GROUP BY s.trace_id, s.program, scope;
