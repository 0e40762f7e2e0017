-- One row per selection of steps, all or steady, with their statistics as in the reference's
-- profile summary. Provided for comparison with step_summary, which is the relation to use.
--
-- `FROM compat_step_stats(trace_id, warm-up)`
--
-- trace_id   VARCHAR  trace
-- scope      VARCHAR  all or steady
-- steps      BIGINT   steps
-- mean_us    DOUBLE   mean duration, µs; this and the next ones are NULL without a step
-- median_us  DOUBLE   median, µs
-- p90_us     DOUBLE   90th percentile, interpolated, µs
-- min_us     DOUBLE   shortest, µs
-- max_us     DOUBLE   longest, µs
CREATE MACRO compat_step_stats(of_trace, of_warm_up) AS TABLE
WITH scoped AS (
    SELECT scope, dur_us, step_number IS NOT NULL AND (scope = 'all' OR is_steady) AS counts
    FROM (VALUES ('all'), ('steady')) AS scopes(scope)
    LEFT JOIN compat_steps(of_trace, of_warm_up) ON TRUE
)
SELECT
    of_trace AS trace_id, scope, count(*) FILTER (counts) AS steps,
    avg(dur_us) FILTER (counts) AS mean_us, median(dur_us) FILTER (counts) AS median_us,
    quantile_cont(dur_us, 0.9) FILTER (counts) AS p90_us,
    min(dur_us) FILTER (counts) AS min_us, max(dur_us) FILTER (counts) AS max_us
FROM scoped
GROUP BY scope;
