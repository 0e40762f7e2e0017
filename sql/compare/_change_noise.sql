-- The change from one value to another that chance can explain; NULL if either spread is.
--
-- It is the larger spread, but for medians of eight or more steps at most 1.5 times the distances
-- together by which the intervals of both medians reach towards each other: many steps, each slower
-- than all of the other trace, are no chance, however far they are apart. Or if larger, it is twice
-- the smaller of the distances. Where short and long steps alternate, the deviation is that of one
-- kind, and the median is of the kind that has one step more: both intervals reach to the other
-- kind. If all steps get slower, that of the slower trace does not.
--
-- Of pairs simulated without a change, up to 1 in 100 differ by more if steps are independent and
-- of one kind; up to 6 if each correlates with the next by 0.5, or has one of two kinds.
--
-- change  second value minus the first
-- before  _steps_spread of the first
-- after   and of the second
CREATE MACRO _change_noise(change, before, after) AS CASE
    WHEN before[2] + after[2] IS NOT NULL THEN greatest(
        least(
            greatest(before[1], after[1]),
            1.5 * if(change < 0, before[2] + after[3], before[3] + after[2])
        ),
        2 * if(change < 0, least(before[2], after[3]), least(before[3], after[2]))
    )
    WHEN before[1] + after[1] IS NOT NULL THEN greatest(before[1], after[1])
END;
