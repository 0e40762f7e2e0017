-- The verdict on a value that exceeds its threshold by an amount, of which noise says nothing.
--
-- excess  DOUBLE  how far it is beyond the threshold, NULL if one of both is unknown
-- noise   DOUBLE  how far says nothing, NULL if that is unknown
CREATE MACRO _budget_verdict(excess, noise) AS CASE
    WHEN excess + noise IS NULL OR isnan(excess + noise) THEN 'cannot judge'
    WHEN excess <= 0 THEN 'pass'
    WHEN excess <= noise THEN 'cannot judge'
    ELSE 'fail'
END;
