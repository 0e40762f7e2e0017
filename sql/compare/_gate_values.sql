-- One row per trace and measure that gates a change.
--
-- Materialised per trace.
--
-- trace_id  VARCHAR  trace
-- metric    VARCHAR  step_median and step_p90, µs; communication_share (exposed) and idle_share
--                    (waiting included) of all devices' time, %. Of a trace without steady steps
--                    its window is the one step
-- value     DOUBLE   value
-- spread    DOUBLE   three times the median absolute deviation of the steady steps, in the same
--                    unit; NULL below three steps
CREATE VIEW _gate_values AS
WITH by_step AS (
    SELECT
        trace_id, step_id, max(dur_us) AS dur_us,
        100 * sum(communication_us) / sum(dur_us) AS communication_share,
        100 * sum(idle_us + wait_us) / sum(dur_us) AS idle_share
    FROM step_states
    JOIN comparison_bases AS bases USING (trace_id)
    WHERE
        is_steady AND device IS NOT NULL AND dur_us > 0
        AND bases.program IS NOT DISTINCT FROM step_states.program
    GROUP BY trace_id, step_id
),
wholes AS (
    SELECT
        trace_id, 0, max(window_us),
        100 * sum(exposed_communication_us) / sum(window_us),
        100 * sum(idle_us) / sum(window_us)
    FROM time_breakdown
    ANTI JOIN by_step USING (trace_id)
    GROUP BY trace_id
),
measured AS (
    SELECT trace_id, dur_us, communication_share, idle_share FROM by_step
    UNION ALL
    SELECT * EXCLUDE (step_id) FROM wholes AS whole (
        trace_id, step_id, dur_us, communication_share, idle_share
    )
),
summed AS (
    SELECT
        trace_id, count(*) >= 3 AS has_spread, median(dur_us) AS median_us,
        quantile_cont(dur_us, 0.9) AS p90_us, 3 * mad(dur_us) AS spread_us,
        avg(communication_share) AS communication_share,
        3 * mad(communication_share) AS communication_spread, avg(idle_share) AS idle_share,
        3 * mad(idle_share) AS idle_spread
    FROM measured
    GROUP BY trace_id
)
SELECT trace_id, metric, value, CASE WHEN has_spread THEN spread END AS spread
FROM summed
CROSS JOIN LATERAL (
    VALUES
        ('step_median', median_us, spread_us), ('step_p90', p90_us, spread_us),
        ('communication_share', communication_share, communication_spread),
        ('idle_share', idle_share, idle_spread)
) AS parts (metric, value, spread);
