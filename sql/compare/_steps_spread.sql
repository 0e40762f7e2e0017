-- How far values over the steps of a trace vary by chance: the spread, the distance from the median
-- down to the lower end of its interval, and that up to the upper end; NULL below three steps.
--
-- The spread is three times the median absolute deviation, which one slow step does not change. But
-- a mean changes with that step, and the deviation of a few steps is sometimes nearly 0: for means,
-- and for fewer than eight steps, it is Student's interval if that is larger, for two sets of that
-- many steps and the eight measures of a step together (student_quantiles). The interval of the
-- median, at 95 %, is from the step of rank n/2 - 0.98 * sqrt(n) to that of the same rank from the
-- other end; its distances are 0 for means and for fewer than eight steps.
--
-- us       values of the steps in ascending order, NULLs last
-- steps    number of values that are not NULL
-- is_mean  the value is a mean, not a median or another quantile
CREATE MACRO _steps_spread(us, steps, is_mean) AS CASE
    WHEN steps >= 3 THEN [
        greatest(
            3 * list_aggregate(us, 'mad'),
            CASE
                WHEN is_mean OR steps < 8
                    THEN list_aggregate(us, 'stddev_samp') * sqrt(2.0 / steps) * (
                        SELECT list(quantile ORDER BY freedom)
                        FROM student_quantiles
                        WHERE terms = 8 AND freedom <= 30
                    )[least(2 * steps - 2, 30)]
            END
        ),
        CASE
            WHEN is_mean OR steps < 8 THEN 0
            ELSE
                list_aggregate(us, 'median')
                - us[ceil(steps / 2 - 0.98 * sqrt(steps))::BIGINT]
        END,
        CASE
            WHEN is_mean OR steps < 8 THEN 0
            ELSE
                us[steps + 1 - ceil(steps / 2 - 0.98 * sqrt(steps))::BIGINT]
                - list_aggregate(us, 'median')
        END
    ]
END;
