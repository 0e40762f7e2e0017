-- One row per finding: the value from which it is made, and what to do about it.
--
-- priority        INTEGER  order in a report, lowest first
-- finding         VARCHAR  name of the finding; the key
-- title           VARCHAR  what was found, in a few words
-- threshold       DOUBLE   lowest value at which the finding is made
-- high_threshold  DOUBLE   lowest value at which it is of high severity
-- unit            VARCHAR  unit of the values: percent, us, or ratio
-- basis           VARCHAR  what the value is a share or measure of
-- suggestions     VARCHAR  what to try, separated by bars
-- wait_suggestion  INTEGER  place among them, from 1, of the one that goes first if a single call
--                           has most of the exposed communication; NULL if the order is fixed
CREATE TABLE finding_rules (
    priority INTEGER NOT NULL,
    finding VARCHAR PRIMARY KEY,
    title VARCHAR NOT NULL,
    threshold DOUBLE,
    high_threshold DOUBLE,
    unit VARCHAR,
    basis VARCHAR,
    suggestions VARCHAR NOT NULL,
    wait_suggestion INTEGER
);
