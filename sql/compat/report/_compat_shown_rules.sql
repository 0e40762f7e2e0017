-- One row per sentence of a model report by the formulas of the reference report.
--
-- instead of: compat.report_rules
--
-- rule      VARCHAR  name; the key
-- place     VARCHAR  part of the report that it appears in
-- slot      VARCHAR  of the rules of a slot that hold, the first by priority appears; NULL: all
--                    appear
-- priority  INTEGER  order in the slot, and of the sentences without a gain
-- gain      VARCHAR  fact with the expected gain, %; NULL: unknown
-- text      VARCHAR  the sentence; facts of report_facts in braces
-- comment   VARCHAR  why the rule is as it is
CREATE VIEW _compat_shown_rules AS
SELECT rule, place, slot, priority, gain, text, comment
FROM report_rules
UNION ALL
SELECT rule, place, slot, priority, gain, text, comment
FROM compat_report_rules;
