-- One row per number of degrees of freedom and of terms that are judged together: how many standard
-- errors a difference must exceed to be more than noise.
--
-- Quantiles of Student's distribution at 1 - 0.025 / terms: over all the terms, at most 5 of 100
-- comparisons without a change find one (Bonferroni).
--
-- freedom   INTEGER  degrees of freedom; between two rows the lower applies
-- terms     INTEGER  terms; between two rows the higher applies
-- quantile  DOUBLE   standard errors
CREATE TABLE student_quantiles (
    freedom INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    quantile DOUBLE NOT NULL,
    PRIMARY KEY (freedom, terms)
);
