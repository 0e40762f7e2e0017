-- One row per condition of a rule of report_rules. A rule holds when all of its conditions do; one
-- on a fact that the report does not have does not.
--
-- rule     VARCHAR  rule; with the fact the key
-- fact     VARCHAR  fact of report_facts
-- above    DOUBLE   its value is above this; NULL: no matter
-- at_most  DOUBLE   and at most this; NULL: no matter
-- words    VARCHAR  its words are these, or among these with a bar between; NULL: no matter
CREATE TABLE report_conditions (
    rule VARCHAR,
    fact VARCHAR,
    above DOUBLE,
    at_most DOUBLE,
    words VARCHAR,
    PRIMARY KEY (rule, fact)
);
