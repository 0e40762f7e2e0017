-- One row per pair of traces and reason why a gate cannot judge the change from one to the other.
-- All pairs of the lake's traces: filter by id.
--
-- before_id  VARCHAR  first trace
-- after_id   VARCHAR  second trace
-- reason     VARCHAR  nothing to measure, no work in a step, work outside steps, different work,
--                     another program, one step or two steps
-- side       VARCHAR  before, after or both
-- message    VARCHAR  what was found
CREATE VIEW _gate_doubts AS
WITH sides AS (
    SELECT
        traces.trace_id, trace, basis, steps, without_work, outside_steps_pct,
        between_steps_us
    FROM traces
    LEFT JOIN comparison_bases USING (trace_id)
),
alone AS (
    SELECT
        trace_id, 'nothing to measure' AS reason,
        trace || ' has no device operation that takes time' AS message
    FROM sides
    WHERE basis IS NULL
    UNION ALL
    SELECT
        trace_id, 'no work in a step',
        format(
            '{} of {} steady steps of {} have no device operation', without_work, steps, trace
        )
    FROM sides
    WHERE without_work > 0
    UNION ALL
    -- Where steps hold little of the work, they cannot show what became of the rest.
    SELECT
        trace_id, 'work outside steps',
        format(
            '{:.1f} % of the time of device operations of {} belongs to no step',
            outside_steps_pct, trace
        )
    FROM sides
    JOIN check_rules AS rules ON rules."check" = 'outside_steps'
    WHERE steps > without_work AND outside_steps_pct >= rules.threshold
    UNION ALL
    SELECT
        trace_id, if(steps - without_work = 2, 'two steps', 'one step'),
        CASE
            WHEN steps = 0
                THEN trace || ' has no steps, so that its whole is a single measurement'
            WHEN steps - without_work = 2 THEN trace || ' has two steady steps'
            ELSE trace || ' has one steady step'
        END || ': how much steps differ anyway is unknown'
    FROM sides
    -- Noise takes three steps, see _steps_spread.
    WHERE basis IS NOT NULL AND steps - without_work < 3 AND (steps = 0 OR steps > without_work)
),
worked AS (
    SELECT
        before_id, after_id,
        string_agg(
            format(
                '{}: {}, {}', measure, coalesce(before, 'nothing to measure'),
                coalesce(after, 'nothing to measure')
            ), '; ' ORDER BY measure
        ) AS message
    FROM _work_pairs
    WHERE verdict = 'different'
    GROUP BY before_id, after_id
),
-- Work that got slower between steps makes these no longer.
between_steps AS (
    SELECT
        before_id, after_id,
        format(
            'device operations between the steps take {:.1f} µs per step before, {:.1f} after,'
            || ' of a step that takes {:.1f}', before_us, after_us, step_us
        ) AS message
    FROM (
        SELECT
            b.trace_id AS before_id, a.trace_id AS after_id, b.between_steps_us AS before_us,
            a.between_steps_us AS after_us, measured.value AS step_us, threshold
        FROM sides AS b
        CROSS JOIN sides AS a
        JOIN _gate_values AS measured
            ON measured.trace_id = b.trace_id AND measured.metric = 'step_median'
        JOIN gate_rules USING (metric)
    )
    WHERE after_us - before_us > threshold * step_us / 100
)
SELECT b.trace_id AS before_id, a.trace_id AS after_id, reason, 'before' AS side, message
FROM alone AS b
CROSS JOIN traces AS a
UNION ALL
SELECT b.trace_id, a.trace_id, reason, 'after', message
FROM traces AS b
CROSS JOIN alone AS a
UNION ALL
SELECT before_id, after_id, 'different work', 'both', message
FROM worked
UNION ALL
SELECT before_id, after_id, 'work outside steps', 'both', message
FROM between_steps
UNION ALL
SELECT
    before_id, after_id, 'another program', 'both',
    format(
        '{} ({:.1f} % of the steps'' time before, {:.1f} % after) {}', program, before_pct,
        after_pct, doubt
    )
FROM _program_pairs
WHERE doubt IS NOT NULL AND greatest(before_pct, after_pct) >= 10;
