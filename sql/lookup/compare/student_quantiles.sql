-- One row per number of degrees of freedom and of terms that are judged together: how many standard
-- errors a difference must have before it is no noise.
--
-- Quantiles of Student's distribution at 1 - 0.025 / terms: over all the terms, at most 5 of 100
-- comparisons of what did not change find any change (Bonferroni).
--
-- freedom   INTEGER  degrees of freedom; between two rows the lower counts
-- terms     INTEGER  terms; between two rows the higher counts
-- quantile  DOUBLE   standard errors
CREATE TABLE student_quantiles (
    freedom INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    quantile DOUBLE NOT NULL,
    PRIMARY KEY (freedom, terms)
);
