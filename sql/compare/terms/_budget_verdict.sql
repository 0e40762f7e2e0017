-- The verdict on a value by how far it exceeds its threshold; within the noise there is none.
--
-- excess  DOUBLE  how far it is beyond the threshold, NULL if either is unknown
-- noise   DOUBLE  largest excess that proves nothing, NULL if unknown
CREATE MACRO _budget_verdict(excess, noise) AS CASE
    WHEN excess + noise IS NULL OR isnan(excess + noise) THEN 'cannot judge'
    WHEN excess <= 0 THEN 'pass'
    WHEN excess <= noise THEN 'cannot judge'
    ELSE 'fail'
END;
