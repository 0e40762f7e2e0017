-- One row per check of a trace: what is worth a word, and the word.
--
-- check      VARCHAR  name of the check; the key
-- severity   VARCHAR  info, warning or error, where the value reaches the threshold
-- threshold  DOUBLE   the value from which on the check speaks
-- unit       VARCHAR  what the value counts, or percent
-- message    VARCHAR  what was found, what it means and what to do
CREATE TABLE check_rules (
    "check" VARCHAR PRIMARY KEY,
    severity VARCHAR NOT NULL,
    threshold DOUBLE NOT NULL,
    unit VARCHAR NOT NULL,
    message VARCHAR NOT NULL
);
