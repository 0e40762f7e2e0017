-- How far two values of the same work, each over `steps` steps, may differ by chance; NULL below
-- three.
--
-- Three times the median absolute deviation, which one slow step does not change. But a mean
-- changes with that step, and the deviation of a few steps is sometimes nearly 0: for means, and
-- for fewer than eight steps, it is Student's interval if that is larger, for two sets of that many
-- steps and the eight measures of a step together (student_quantiles).
--
-- steps      number of steps
-- mad        median absolute deviation
-- deviation  standard deviation (of a sample)
-- is_mean    the value is a mean, not a median or another quantile
CREATE MACRO _steps_spread(steps, mad, deviation, is_mean) AS CASE
    WHEN steps >= 3 THEN greatest(
        3 * mad,
        CASE
            WHEN is_mean OR steps < 8 THEN deviation * sqrt(2.0 / steps) * (
                SELECT list(quantile ORDER BY freedom)
                FROM student_quantiles
                WHERE terms = 8 AND freedom <= 30
            )[least(2 * steps - 2, 30)]
        END
    )
END;
