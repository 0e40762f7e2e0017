-- One row per assumption of a model report by the formulas of the reference report.
--
-- instead of: compat.report_assumptions
--
-- assumption  VARCHAR  name; with the formulas the key
-- formulas    VARCHAR  set of formulas that it belongs to; both: any set
-- place       INTEGER  order
-- what        VARCHAR  what is assumed
-- source      VARCHAR  its source, or its effect on the figures
CREATE VIEW _compat_shown_assumptions AS
SELECT assumption, 'compat' AS formulas, place, what, source
FROM compat_report_assumptions
UNION ALL
SELECT assumption, formulas, place, what, source
FROM report_assumptions
WHERE formulas = 'both';
