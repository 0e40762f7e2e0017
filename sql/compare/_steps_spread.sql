-- How far two values of the same work, each over some steps, may differ by chance; NULL below three
-- steps.
--
-- Three times the median absolute deviation, which one slow step does not change. But a mean
-- changes with that step, and the deviation of a few steps is sometimes nearly 0: for means, and
-- for fewer than eight steps, it is Student's interval if that is larger, for two sets of that many
-- steps and the eight measures of a step together (student_quantiles). Where short and long steps
-- alternate, the deviation is that of one kind, and the median is of the kind that has one step
-- more: for medians of eight steps or more it is the median's interval at 95 % if that is larger,
-- from the step of rank n/2 - 0.98 * sqrt(n) to that of the same rank from the other end.
--
-- us       values of the steps, NULLs last
-- steps    number of values that are not NULL
-- is_mean  the value is a mean, not a median or another quantile
CREATE MACRO _steps_spread(us, steps, is_mean) AS CASE
    WHEN steps >= 3 THEN greatest(
        3 * list_aggregate(us, 'mad'),
        CASE
            WHEN is_mean OR steps < 8
                THEN list_aggregate(us, 'stddev_samp') * sqrt(2.0 / steps) * (
                    SELECT list(quantile ORDER BY freedom)
                    FROM student_quantiles
                    WHERE terms = 8 AND freedom <= 30
                )[least(2 * steps - 2, 30)]
            ELSE
                us[steps + 1 - ceil(steps / 2 - 0.98 * sqrt(steps))::BIGINT]
                - us[ceil(steps / 2 - 0.98 * sqrt(steps))::BIGINT]
        END
    )
END;
