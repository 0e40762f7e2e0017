-- One row per condition of a rule of report_rules. A rule holds if all of its conditions hold; a
-- condition on a fact missing from the report does not hold.
--
-- rule     VARCHAR  rule; with the fact the key
-- fact     VARCHAR  fact of report_facts
-- above    DOUBLE   its value is above this; NULL: not checked
-- at_most  DOUBLE   and at most this; NULL: not checked
-- words    VARCHAR  its words are these, or one of these, separated by bars; NULL: not checked
CREATE TABLE report_conditions (
    rule VARCHAR,
    fact VARCHAR,
    above DOUBLE,
    at_most DOUBLE,
    words VARCHAR,
    PRIMARY KEY (rule, fact)
);
