-- The change from one value to another that chance can explain; NULL if either spread is.
--
-- It is the larger spread, or if larger, twice the smaller one of two distances: those by which the
-- intervals of both medians reach towards the other median. Where short and long steps alternate,
-- the deviation is that of one kind, and the median is of the kind that has one step more: both
-- intervals reach to the other kind. If all steps get slower, that of the slower trace does not.
--
-- change  second value minus the first
-- before  _steps_spread of the first
-- after   and of the second
CREATE MACRO _change_noise(change, before, after) AS CASE
    WHEN before[1] + after[1] IS NOT NULL THEN greatest(
        before[1], after[1],
        2 * CASE
            WHEN change < 0 THEN least(before[2], after[3])
            ELSE least(before[3], after[2])
        END
    )
END;
