-- One row per term or symbol of a model report by the formulas of the reference report.
--
-- instead of: compat.report_terms
--
-- term        VARCHAR  term; with the kind the key
-- kind        VARCHAR  term, symbol or byte_part
-- place       INTEGER  order among those of its kind
-- definition  VARCHAR  what it is
-- unit        VARCHAR  unit
-- used_in     VARCHAR  sections that use it; NULL for symbols
CREATE VIEW _compat_shown_terms AS
SELECT
    term, kind, place, coalesce(c.definition, t.definition) AS definition, unit, used_in
FROM report_terms AS t
LEFT JOIN compat_report_terms AS c USING (kind, term);
