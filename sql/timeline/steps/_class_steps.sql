-- One row per program and class of steps: the step that represents it, and how often it recurs.
-- trace_id             VARCHAR  trace
-- program              VARCHAR  what it ran
-- step_class           VARCHAR  typical, light or heavy
-- median_us            DOUBLE   median duration, µs
-- representative_id    BIGINT   step_id of the step nearest to the median, the first on a tie
-- representative_step  BIGINT   number of that step, else its step_id
-- representative_us    DOUBLE   its duration, µs
-- period               BIGINT   of a heavy class, the distance that most neighbours' numbers have
CREATE VIEW _class_steps AS
WITH medians AS (
    SELECT trace_id, program, step_class, median(marker_us) AS median_us
    FROM _classed_steps
    GROUP BY trace_id, program, step_class
),
representatives AS (
    SELECT
        medians.trace_id, medians.program, medians.step_class, any_value(median_us) AS median_us,
        arg_min(
            {'step_id': step_id, 'number': number, 'marker_us': marker_us},
            (round(abs(marker_us - median_us), 6), number, step_id)
        ) AS representative
    FROM medians
    JOIN _classed_steps AS steps
        ON steps.trace_id = medians.trace_id AND steps.step_class = medians.step_class
        AND steps.program IS NOT DISTINCT FROM medians.program
    GROUP BY medians.trace_id, medians.program, medians.step_class
),
distances AS (
    SELECT
        trace_id, program, step_class,
        number - lag(number) OVER (
            PARTITION BY trace_id, program, step_class ORDER BY number
        ) AS distance,
        count(*) OVER (PARTITION BY trace_id, program, step_class) AS members
    FROM _classed_steps
    WHERE step_class = 'heavy'
),
distance_counts AS (
    SELECT
        trace_id, program, step_class, distance, any_value(members) AS members,
        count(*) AS times
    FROM distances
    WHERE distance > 1 AND members >= 3
    GROUP BY trace_id, program, step_class, distance
),
periods AS (
    SELECT trace_id, program, step_class, arg_max(distance, (times, -distance)) AS period
    FROM distance_counts
    GROUP BY trace_id, program, step_class
    HAVING max(times) >= 2 AND 2 * max(times) >= any_value(members)
)
SELECT
    r.trace_id, r.program, r.step_class, median_us, representative.step_id AS representative_id,
    representative.number AS representative_step, representative.marker_us AS representative_us,
    period
FROM representatives AS r
LEFT JOIN periods
    ON periods.trace_id = r.trace_id AND periods.step_class = r.step_class
    AND periods.program IS NOT DISTINCT FROM r.program;
