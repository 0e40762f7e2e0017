-- One row per counted step, with its class: steps of a program are one class, typical, unless they
-- fall into two that are clearly apart, light and heavy.
--
-- The logarithms of the durations are split in two so that the sum of squares within the parts is
-- minimal. In one dimension the parts of the best split are contiguous, so it is found exactly:
-- sorted, each cut is tried with running sums. The split holds if there are at least six steps, the
-- longest takes at least 1.25 times the shortest, both parts have at least two steps and a tenth of
-- all, and the median of the heavy ones is at least 1.5 times that of the light ones.
--
-- stored: per trace
--
-- trace_id    VARCHAR  trace
-- program     VARCHAR  what it ran
-- step_id     BIGINT   step
-- number      BIGINT   its number, else step_id
-- marker_us   DOUBLE   its duration, µs
-- step_class  VARCHAR  typical, light or heavy
CREATE VIEW _classed_steps AS
WITH steady AS (
    SELECT
        trace_id, program, step_id, coalesce(step_number, step_id) AS number,
        marker_ns / 1000.0 AS marker_us, ln(marker_ns) AS size
    FROM _timed_steps
    -- A step without work has no time.
    WHERE NOT is_warm_up AND NOT is_partial AND marker_ns > 0
),
sorted AS (
    -- Relative to their mean, the sums of squares lose no digits.
    SELECT
        trace_id, program, step_id, number, marker_us, size,
        size - avg(size) OVER of_program AS offset_size,
        row_number() OVER by_size AS place,
        count(*) OVER of_program AS steps,
        max(marker_us) OVER of_program / min(marker_us) OVER of_program AS spread
    FROM steady
    WINDOW
        of_program AS (PARTITION BY trace_id, program),
        by_size AS (PARTITION BY trace_id, program ORDER BY size, step_id)
),
cuts AS (
    SELECT
        trace_id, program, place, steps,
        sum(offset_size) OVER upwards AS low_sum,
        lead(size) OVER upwards > size AS is_cut
    FROM sorted
    WHERE steps >= 6 AND spread >= 1.25
    WINDOW upwards AS (
        PARTITION BY trace_id, program ORDER BY place ROWS UNBOUNDED PRECEDING
    )
),
best AS (
    -- The sums of both parts are opposite; the maximum between them is the minimum within them.
    SELECT
        trace_id, program,
        arg_max(place, (low_sum * low_sum * (1.0 / place + 1.0 / (steps - place)), -place))
            AS light_steps
    FROM cuts
    WHERE is_cut
    GROUP BY trace_id, program
),
parts AS (
    SELECT
        sorted.trace_id, sorted.program,
        least(any_value(light_steps), count(*) - any_value(light_steps)) AS fewest,
        count(*) AS steps,
        median(marker_us) FILTER (place > light_steps)
            / median(marker_us) FILTER (place <= light_steps) AS apart
    FROM sorted
    JOIN best
        ON best.trace_id = sorted.trace_id AND best.program IS NOT DISTINCT FROM sorted.program
    GROUP BY sorted.trace_id, sorted.program
),
splits AS (
    SELECT best.trace_id, best.program, light_steps
    FROM best
    JOIN parts
        ON parts.trace_id = best.trace_id AND parts.program IS NOT DISTINCT FROM best.program
    WHERE fewest >= 2 AND 10 * fewest >= steps AND apart >= 1.5
)
SELECT
    sorted.trace_id, sorted.program, step_id, number, marker_us,
    CASE
        WHEN light_steps IS NULL THEN 'typical'
        WHEN place <= light_steps THEN 'light'
        ELSE 'heavy'
    END AS step_class
FROM sorted
LEFT JOIN splits
    ON splits.trace_id = sorted.trace_id AND splits.program IS NOT DISTINCT FROM sorted.program;
