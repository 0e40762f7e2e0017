-- Student's interval for the difference of two means, each over as many steps as given, with the
-- eight measures of a step together (student_quantiles).
--
-- us     values of the steps
-- steps  their number
CREATE MACRO _student_interval(us, steps) AS
    list_aggregate(us, 'stddev_samp') * sqrt(2.0 / steps) * (
        SELECT list(quantile ORDER BY freedom)
        FROM student_quantiles
        WHERE terms = 8 AND freedom <= 30
    )[least(2 * steps - 2, 30)];

-- The same as _steps_spread, of a list of values in ascending order, NULLs last, and the number of
-- those that are not NULL.
CREATE MACRO _list_spread(us, steps, statistic) AS CASE
    WHEN steps >= 3 THEN [
        CASE
            WHEN statistic = 'mean' AND steps >= 8 THEN greatest(
                _student_interval(us, steps),
                least(3 * list_aggregate(us, 'mad'), 1.5 * _student_interval(us, steps))
            )
            WHEN steps >= 8 THEN 3 * list_aggregate(us, 'mad')
            ELSE greatest(3 * list_aggregate(us, 'mad'), _student_interval(us, steps))
        END,
        CASE
            WHEN statistic = 'median' AND steps >= 8
                THEN list_aggregate(us, 'median')
                    - us[ceil(steps / 2 - 0.98 * sqrt(steps))::BIGINT]
        END,
        CASE
            WHEN statistic = 'median' AND steps >= 8
                THEN us[steps + 1 - ceil(steps / 2 - 0.98 * sqrt(steps))::BIGINT]
                    - list_aggregate(us, 'median')
        END
    ]
END;

-- How far values over the steps of a trace vary by chance: the spread, the distance from the median
-- down to the lower end of its interval, and that up to the upper end; NULL below three steps.
--
-- The spread is three times the median absolute deviation of single steps, which one slow step does
-- not change. It allows for what neighbouring steps have in common. But a mean changes with a slow
-- step, and the deviation of a few steps is sometimes nearly 0: for means, and for fewer than eight
-- steps, it is Student's interval if that is larger. And many steps show a small change: from eight
-- steps on, the spread of a mean is at most 1.5 times Student's interval, which is how much wider
-- that is if steps correlate with the next by 0.4. For medians, see _change_noise.
--
-- The interval of the median, at 95 %, is from the step of rank n/2 - 0.98 * sqrt(n) to that of the
-- same rank from the other end; its distances are NULL for means and quantiles, and for fewer than
-- eight steps.
--
-- us         values of the steps
-- statistic  what is made of them: mean, median or quantile (another one)
CREATE MACRO _steps_spread(us, statistic) AS
    _list_spread(list(us ORDER BY us), count(us), statistic);
