-- One row per program and class of its counted steps: all typical, or some light and some heavy.
--
-- key: trace_id, program?, step_class
--
-- trace_id             VARCHAR  trace
-- rank                 INTEGER  rank in the job, NULL if unknown
-- program              VARCHAR  what the steps ran, see steps
-- step_class           VARCHAR  typical, light or heavy
-- steps                BIGINT   steps of the class
-- steps_pct            DOUBLE   share of the program's steps that count
-- mean_us              DOUBLE   mean duration, µs
-- median_us            DOUBLE   median, µs
-- p90_us               DOUBLE   90th percentile, interpolated, µs
-- min_us               DOUBLE   shortest, µs
-- max_us               DOUBLE   longest, µs
-- representative_step  BIGINT   number of the step nearest to the median, else its step_id
-- representative_us    DOUBLE   duration of that step, µs
-- period               BIGINT   every n-th step is heavy; NULL if they are not periodic
CREATE VIEW step_classes AS
SELECT
    s.trace_id, any_value(rank) AS rank, s.program, s.step_class, count(*) AS steps,
    100.0 * count(*) / sum(count(*)) OVER (PARTITION BY s.trace_id, s.program) AS steps_pct,
    avg(marker_us) AS mean_us, median(marker_us) AS median_us,
    quantile_cont(marker_us, 0.9) AS p90_us, min(marker_us) AS min_us, max(marker_us) AS max_us,
    any_value(representative_step) AS representative_step,
    any_value(representative_us) AS representative_us, any_value(period) AS period
FROM _classed_steps AS s
JOIN traces USING (trace_id)
JOIN _class_steps AS c
    ON c.trace_id = s.trace_id AND c.step_class = s.step_class
    AND c.program IS NOT DISTINCT FROM s.program
GROUP BY s.trace_id, s.program, s.step_class;
