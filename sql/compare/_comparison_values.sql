-- One row per trace and measure: its value for one device and one steady step, or for one device
-- and the whole trace if it has no steady step, and the spread of the steps. A step's time is that
-- of the device work launched from it; the time of the host is a measure of its own.
--
-- stored: per trace
--
-- trace_id  VARCHAR   trace
-- place     INTEGER   order of the measures
-- metric    VARCHAR   measure
-- unit      VARCHAR   its unit
-- value     DOUBLE    mean over devices and steady steps, or the statistic that the metric names
-- spread    DOUBLE[]  how far it varies by chance, from the steady steps (_steps_spread); NULL
--                     below three steps
CREATE VIEW _comparison_values AS
WITH by_step AS (
    -- A step lasts as long as on the slowest device; its parts are means over the devices. favg
    -- gives the same digits in any order of the rows.
    SELECT
        trace_id, step_id, max(dur_us) AS dur_us, favg(compute_us) AS compute_us,
        favg(communication_us) AS communication_us, favg(memory_us) AS memory_us,
        favg(wait_us) AS wait_us, favg(idle_us) AS idle_us, favg(busy_us) AS busy_us,
        favg(period_us) AS period_us, max(host_us) AS host_us
    FROM step_states
    JOIN comparison_bases AS bases USING (trace_id)
    WHERE is_steady AND bases.program IS NOT DISTINCT FROM step_states.program
    GROUP BY trace_id, step_id
),
measured AS (
    SELECT trace_id, place, metric, value
    FROM by_step
    CROSS JOIN LATERAL (
        VALUES
            (1, 'step', dur_us), (3, 'busy', busy_us), (4, 'compute', compute_us),
            (5, 'exposed communication', communication_us), (6, 'exposed memory', memory_us),
            (7, 'wait', wait_us), (8, 'idle', idle_us), (9, 'step to step', period_us),
            (10, 'step on the host', host_us)
    ) AS parts (place, metric, value)
    WHERE value IS NOT NULL
),
whole AS (
    SELECT trace_id, place, metric, favg(value) AS value
    FROM time_breakdown
    CROSS JOIN LATERAL (
        VALUES
            (1, 'window', window_us), (3, 'busy', busy_us), (4, 'compute', compute_us),
            (5, 'exposed communication', exposed_communication_us),
            (6, 'exposed memory', exposed_memory_us), (7, 'wait', wait_us),
            (8, 'idle', idle_us - wait_us)
    ) AS parts (place, metric, value)
    JOIN comparison_bases USING (trace_id)
    WHERE steps = 0
    GROUP BY trace_id, place, metric
)
SELECT
    trace_id, place, CASE metric WHEN 'step' THEN 'step, median' ELSE metric END AS metric,
    'us' AS unit, CASE metric WHEN 'step' THEN median(value) ELSE favg(value) END AS value,
    _steps_spread(value, if(metric = 'step', 'median', 'mean')) AS spread
FROM measured
GROUP BY trace_id, place, metric
UNION ALL
SELECT
    trace_id, 2, 'step, 90th percentile', 'us', quantile_cont(value, 0.9),
    _steps_spread(value, 'quantile')
FROM measured
WHERE metric = 'step'
GROUP BY trace_id
UNION ALL
SELECT trace_id, place, metric, 'us', value, NULL
FROM whole;
