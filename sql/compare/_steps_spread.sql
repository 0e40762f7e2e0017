-- How far two values of the same work may lie apart by chance, each over so many steps; NULL below
-- three.
--
-- Three times the median absolute deviation, which one slow step does not move. But a mean moves
-- with that step, and the deviation of a few steps is nearly 0 one time in many: of means, and of
-- fewer than eight steps, it is Student's interval where that is larger, for two sets of that many
-- steps and the eight measures of a step together (student_quantiles).
--
-- steps      how many
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
