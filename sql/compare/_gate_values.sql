-- One row per trace and measure that gates a change.
--
-- stored: per trace
--
-- trace_id  VARCHAR   trace
-- metric    VARCHAR   step_median, step_p90, compute_median and period_median, µs;
--                     communication_share (exposed) and idle_share (waiting included) of all
--                     devices' time, %. A trace without steady steps counts as one step, its window
-- value     DOUBLE    value, NULL without a step that has work
-- spread    DOUBLE[]  how far it varies by chance, in the same unit, from the steady steps
--                     (_steps_spread); NULL below three steps
CREATE VIEW _gate_values AS
WITH by_step AS (
    SELECT
        trace_id, step_id, max(dur_us) AS dur_us,
        -- Steps by marks of the device are contiguous: their time includes what is between.
        CASE
            WHEN any_value(bases.work_source) NOT IN ('device marks', 'host time')
                THEN avg(compute_us)
        END AS compute_us,
        CASE
            WHEN any_value(bases.work_source) NOT IN ('device marks', 'host time')
                AND any_value(bases.step_source) <> 'engine step' THEN avg(period_us)
        END AS period_us,
        100 * sum(communication_us) / sum(dur_us) AS communication_share,
        100 * sum(idle_us + wait_us) / sum(dur_us) AS idle_share
    FROM step_states
    JOIN comparison_bases AS bases USING (trace_id)
    WHERE
        is_steady AND device >= 0 AND dur_us > 0
        AND bases.program IS NOT DISTINCT FROM step_states.program
    GROUP BY trace_id, step_id
),
wholes AS (
    SELECT
        trace_id, 0, max(window_us), avg(compute_us), NULL,
        100 * sum(exposed_communication_us) / sum(window_us),
        100 * sum(idle_us) / sum(window_us)
    FROM time_breakdown
    JOIN comparison_bases USING (trace_id)
    WHERE steps = 0
    GROUP BY trace_id
),
measured AS (
    SELECT trace_id, dur_us, compute_us, period_us, communication_share, idle_share FROM by_step
    UNION ALL
    SELECT * EXCLUDE (step_id) FROM wholes AS whole (
        trace_id, step_id, dur_us, compute_us, period_us, communication_share, idle_share
    )
)
SELECT
    trace_id, metric, if(statistic = 'median', median(value), avg(value)) AS value,
    _steps_spread(value, statistic) AS spread
FROM comparison_bases
LEFT JOIN measured USING (trace_id)
CROSS JOIN LATERAL (
    VALUES
        ('step_median', 'median', dur_us), ('compute_median', 'median', compute_us),
        ('period_median', 'median', period_us), ('idle_share', 'mean', idle_share),
        ('communication_share', 'mean', communication_share)
) AS parts (metric, statistic, value)
GROUP BY trace_id, metric, statistic
UNION ALL
-- A tail is itself a spread.
SELECT
    trace_id, 'step_p90', quantile_cont(dur_us, 0.9),
    CASE WHEN count(dur_us) >= 3 THEN [3 * mad(dur_us), NULL, NULL] END
FROM comparison_bases
LEFT JOIN measured USING (trace_id)
GROUP BY trace_id;
