-- One row per sentence of a model report, with the condition under which it appears.
--
-- rule      VARCHAR  name; the key
-- place     VARCHAR  part of the report that it appears in
-- slot      VARCHAR  of the rules of a slot that hold, the first by priority appears; NULL: all
--                    appear
-- priority  INTEGER  order in the slot, and of the sentences without a gain
-- gain      VARCHAR  fact with the expected gain, %; NULL: unknown
-- text      VARCHAR  the sentence, facts of report_facts in braces; NULL: the text of that name in
--                    the report's own Markdown
-- comment   VARCHAR  why the rule is as it is
CREATE TABLE report_rules (
    rule VARCHAR PRIMARY KEY,
    place VARCHAR NOT NULL,
    slot VARCHAR,
    priority INTEGER NOT NULL,
    gain VARCHAR,
    text VARCHAR,
    comment VARCHAR
);
