-- One row per measure of the work in a step that must be the same for two traces to be gated: by
-- how much it may differ.
--
-- measure        VARCHAR  measure, as in work_changes; the key
-- tolerance_pct  DOUBLE   largest difference of equal work, % of the larger
-- comment        VARCHAR  why
CREATE TABLE work_tolerances (
    measure VARCHAR PRIMARY KEY,
    tolerance_pct DOUBLE NOT NULL,
    comment VARCHAR
);
