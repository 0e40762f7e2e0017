-- One row per condition of a rule of compat_report_rules.
--
-- rule     VARCHAR  rule; with the fact the key
-- fact     VARCHAR  fact of report_facts
-- above    DOUBLE   its value is above this; NULL: not checked
-- at_most  DOUBLE   and at most this; NULL: not checked
-- words    VARCHAR  its words are these; NULL: not checked
CREATE TABLE compat_report_conditions (
    rule VARCHAR,
    fact VARCHAR,
    above DOUBLE,
    at_most DOUBLE,
    words VARCHAR,
    PRIMARY KEY (rule, fact)
);
