-- One row per number or word that the conclusions of a model report rest on. Empty as shipped:
-- writing a report fills it.
--
-- fact   VARCHAR  name, as used in texts and conditions; the key
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE TABLE report_facts (
    fact VARCHAR PRIMARY KEY,
    value DOUBLE,
    words VARCHAR,
    unit VARCHAR
);
