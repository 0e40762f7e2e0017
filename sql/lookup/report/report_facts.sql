-- One row per number or word that the conclusions of a model report rest on. Empty as shipped: the
-- report that is being written fills it.
--
-- fact   VARCHAR  name, as texts and conditions have it; the key
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE TABLE report_facts (
    fact VARCHAR PRIMARY KEY,
    value DOUBLE,
    words VARCHAR,
    unit VARCHAR
);
