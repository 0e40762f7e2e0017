-- One row per condition of a sentence of a model report by the formulas of the reference report.
--
-- instead of: compat.report_conditions
--
-- rule     VARCHAR  rule; with the fact the key
-- fact     VARCHAR  fact of report_facts
-- above    DOUBLE   its value is above this; NULL: not checked
-- at_most  DOUBLE   and at most this; NULL: not checked
-- words    VARCHAR  its words are these, or one of these, separated by bars; NULL: not checked
CREATE VIEW _compat_shown_conditions AS
SELECT rule, fact, above, at_most, words
FROM report_conditions
UNION ALL
SELECT rule, fact, above, at_most, words
FROM compat_report_conditions;
