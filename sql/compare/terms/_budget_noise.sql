-- The noise of a budget's row that gives none and is about a comparison: 0, or unknown if a run of
-- the comparison lacks ranks, or of any if the item does not show which comparison it is.
--
-- of  VARCHAR  item of the row, which shows the comparison if it is the side or begins with it
CREATE MACRO _budget_noise(of) AS CASE
    WHEN (
        SELECT count(*)
        FROM _missing_ranks
        WHERE
            of = side OR starts_with(of, side || ' ')
            OR NOT coalesce((
                SELECT bool_or(of = pairs.side OR starts_with(of, pairs.side || ' '))
                FROM _comparison_pairs AS pairs
            ), FALSE)
    ) = 0 THEN 0
END;
