-- One row per class of steady steps as the reference's profile summary finds them, over all
-- programs at once.
-- Provided for comparison with step_classes, which is the relation to use.
--
-- `FROM compat_step_classes(trace_id, warm-up)`. The logarithms of the durations are split by
-- repeated means: two centres, initially the smallest and the largest, move to the mean of the
-- values nearest to them, at most 40 times.
--
-- trace_id             VARCHAR  trace
-- step_class           VARCHAR  typical, light or heavy
-- steps                BIGINT   steps of the class
-- fraction             DOUBLE   part of the steady steps
-- mean_us              DOUBLE   mean duration, µs
-- median_us            DOUBLE   median, µs
-- p90_us               DOUBLE   90th percentile, interpolated, µs
-- min_us               DOUBLE   shortest, µs
-- max_us               DOUBLE   longest, µs
-- representative_step  BIGINT   number of the step nearest to the median, the lowest on a tie
-- period               BIGINT   of heavy steps, the most frequent distance between numbers
CREATE MACRO compat_step_classes(of_trace, of_warm_up) AS TABLE
WITH RECURSIVE steady AS (
    SELECT step_number, dur_us, ln(dur_us) AS size
    FROM compat_steps(of_trace, of_warm_up)
    WHERE is_steady AND dur_us > 0
),
rounds(turn, low, high, light_steps) AS (
    SELECT 0, min(size), max(size), CAST(-1 AS BIGINT)
    FROM steady
    HAVING count(*) >= 6 AND max(dur_us) / min(dur_us) >= 1.25
    UNION ALL
    SELECT
        turn + 1,
        (SELECT avg(size) FROM steady WHERE size - low <= high - size),
        (SELECT avg(size) FROM steady WHERE size - low > high - size),
        (SELECT count(*) FROM steady WHERE size - low <= high - size)
    FROM rounds
    WHERE
        turn < 40
        AND light_steps <> (SELECT count(*) FROM steady WHERE size - low <= high - size)
),
placed AS (
    SELECT
        step_number, dur_us, row_number() OVER (ORDER BY size, step_number) AS place,
        count(*) OVER () AS steps,
        (SELECT arg_max(light_steps, turn) FROM rounds WHERE turn > 0) AS light_steps
    FROM steady
),
apart AS (
    SELECT
        coalesce(
            any_value(light_steps) >= 2 AND any_value(steps - light_steps) >= 2
            AND 10 * least(any_value(light_steps), any_value(steps - light_steps)) >= count(*)
            AND median(dur_us) FILTER (place > light_steps)
                >= 1.5 * median(dur_us) FILTER (place <= light_steps),
            FALSE
        ) AS splits
    FROM placed
),
classed AS (
    SELECT
        step_number, dur_us,
        CASE
            WHEN NOT splits THEN 'typical'
            WHEN place <= light_steps THEN 'light'
            ELSE 'heavy'
        END AS step_class
    FROM placed
    CROSS JOIN apart
),
medians AS (
    SELECT step_class, median(dur_us) AS median_us
    FROM classed
    GROUP BY step_class
),
distances AS (
    SELECT
        step_number - lag(step_number) OVER (ORDER BY step_number) AS distance,
        count(*) OVER () AS members
    FROM classed
    WHERE step_class = 'heavy'
),
distance_counts AS (
    SELECT distance, count(*) AS times
    FROM distances
    WHERE distance > 1 AND members >= 3
    GROUP BY distance
)
SELECT
    of_trace AS trace_id, classed.step_class, count(*) AS steps,
    count(*) / CAST(sum(count(*)) OVER () AS DOUBLE) AS fraction, avg(dur_us) AS mean_us,
    any_value(median_us) AS median_us, quantile_cont(dur_us, 0.9) AS p90_us,
    min(dur_us) AS min_us, max(dur_us) AS max_us,
    arg_min(step_number, (round(abs(dur_us - median_us), 6), step_number)) AS representative_step,
    CASE classed.step_class
        WHEN 'heavy'
            THEN (
                SELECT arg_max(distance, (times, -distance))
                FROM distance_counts
                HAVING max(times) >= 2
            )
    END AS period
FROM classed
JOIN medians ON medians.step_class = classed.step_class
GROUP BY classed.step_class;
