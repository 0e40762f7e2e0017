-- One row per sentence of a model report, as in its Markdown: empty until one is written.
--
-- rule  VARCHAR  rule of report_rules
-- text  VARCHAR  the sentence; facts of report_facts in braces
CREATE TABLE _report_sentences (
    rule VARCHAR PRIMARY KEY,
    text VARCHAR NOT NULL
);
