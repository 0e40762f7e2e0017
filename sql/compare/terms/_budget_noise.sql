-- The noise of a budget's row that gives none and is about a comparison: 0, or unknown if a run of
-- the comparison lacks ranks.
--
-- of  VARCHAR  item of the row: the side, or begins with it; empty for all comparisons
CREATE MACRO _budget_noise(of) AS CASE
    WHEN (
        SELECT count(*)
        FROM _missing_ranks
        WHERE of = '' OR of = side OR starts_with(of, side || ' ')
    ) = 0 THEN 0
END;
