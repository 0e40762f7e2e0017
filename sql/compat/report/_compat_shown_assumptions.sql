-- One row per assumption of a model report by the formulas of the reference report.
--
-- instead of: compat.report_assumptions
--
-- assumption  VARCHAR  name; with the formulas the key
-- formulas    VARCHAR  set of formulas that it is of, or both: of any
-- place       INTEGER  order
-- what        VARCHAR  what is assumed
-- source      VARCHAR  where it is from, or what it does to the figures
CREATE VIEW _compat_shown_assumptions AS
SELECT assumption, 'compat' AS formulas, place, what, source
FROM compat_report_assumptions
UNION ALL
SELECT assumption, formulas, place, what, source
FROM report_assumptions
WHERE formulas = 'both';
