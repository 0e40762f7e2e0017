-- One row per rule of a model report by the formulas of the reference report.
--
-- instead of: compat.report_formulas
--
-- formulas       VARCHAR  set of formulas: physical
-- place          INTEGER  order; with the formulas the key
-- module         VARCHAR  kind of module
-- phases         VARCHAR  phases that it applies to
-- shape          VARCHAR  shapes of its input and output
-- formula_flop   VARCHAR  FLOP
-- formula_bytes  VARCHAR  bytes in memory
-- note           VARCHAR  remark
CREATE VIEW _compat_shown_formulas AS
SELECT
    'compat' AS formulas, place, module, phases, shape, formula_flop, formula_bytes, note
FROM compat_report_formulas;
