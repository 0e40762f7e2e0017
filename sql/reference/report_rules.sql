-- One row per sentence that a model report says when the numbers call for it.
--
-- rule      VARCHAR  name; the key
-- place     VARCHAR  part of the report that says it
-- slot      VARCHAR  of the rules of a slot that hold, the first by priority is said; NULL: each is
-- priority  INTEGER  order in the slot, and of what is said where no gain gives one
-- gain      VARCHAR  fact with the gain that it promises, in %; NULL: none can be told
-- text      VARCHAR  the sentence; facts of report_facts in braces
-- comment   VARCHAR  why the rule is as it is
CREATE TABLE report_rules (
    rule VARCHAR PRIMARY KEY,
    place VARCHAR NOT NULL,
    slot VARCHAR,
    priority INTEGER NOT NULL,
    gain VARCHAR,
    text VARCHAR NOT NULL,
    comment VARCHAR
);
