-- One row per measure by which the reference's profile summary gates a change, with its verdict.
-- Provided for comparison with trace_changes, which is the relation to use.
--
-- `FROM compat_assessment(before, after, mode, warm-up)` with the ids of two traces. The trace
-- as a whole fails when a row fails, warns when one warns, and else passes.
--
-- metric     VARCHAR  step_median, step_p90, communication_share or stall_share
-- before     DOUBLE   of the first trace: µs, or a share of the mode's total
-- after      DOUBLE   of the second trace
-- change     DOUBLE   for steps in percent, NULL if the first is not above 0; for shares after
--                     minus before
-- threshold  DOUBLE   the change above which the verdict is not pass
-- verdict    VARCHAR  pass, warn (shares) or fail (steps)
CREATE MACRO compat_assessment(of_before, of_after, of_mode, of_warm_up) AS TABLE
WITH steps AS (
    SELECT b.median_us, b.p90_us, a.median_us AS after_median_us, a.p90_us AS after_p90_us
    FROM compat_step_stats(of_before, of_warm_up) AS b
    CROSS JOIN compat_step_stats(of_after, of_warm_up) AS a
    WHERE b.scope = 'steady' AND a.scope = 'steady'
),
shares AS (
    SELECT
        category, sum(share) FILTER (trace_id = of_before) AS before,
        sum(share) FILTER (trace_id = of_after) AS after
    FROM compat_time_breakdown
    WHERE
        trace_id IN (of_before, of_after) AND mode = of_mode
        AND category IN ('communication', 'stall')
    GROUP BY category
),
metrics AS (
    SELECT
        'step_median' AS metric, median_us AS before, after_median_us AS after,
        CASE WHEN median_us > 0 THEN 100 * (after_median_us - median_us) / median_us END AS change,
        5.0 AS threshold, 'fail' AS beyond
    FROM steps
    UNION ALL
    SELECT
        'step_p90', p90_us, after_p90_us,
        CASE WHEN p90_us > 0 THEN 100 * (after_p90_us - p90_us) / p90_us END, 10.0, 'fail'
    FROM steps
    UNION ALL
    SELECT category || '_share', before, after, after - before, 0.05, 'warn'
    FROM shares
)
SELECT
    metric, before, after, change, CAST(threshold AS DOUBLE) AS threshold,
    CASE WHEN change > threshold THEN beyond ELSE 'pass' END AS verdict
FROM metrics;
