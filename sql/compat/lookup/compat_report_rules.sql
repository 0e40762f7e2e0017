-- One row per sentence that a model report has only with the formulas of the reference report.
--
-- rule      VARCHAR  name, as in report_rules; the key
-- place     VARCHAR  part of the report that it appears in
-- slot      VARCHAR  of the rules of a slot that hold, the first by priority appears
-- priority  INTEGER  order in the slot
-- gain      VARCHAR  fact with the expected gain, %
-- text      VARCHAR  the sentence; facts of report_facts in braces
-- comment   VARCHAR  why the rule is as it is
CREATE TABLE compat_report_rules (
    rule VARCHAR PRIMARY KEY,
    place VARCHAR NOT NULL,
    slot VARCHAR,
    priority INTEGER NOT NULL,
    gain VARCHAR,
    text VARCHAR NOT NULL,
    comment VARCHAR
);
