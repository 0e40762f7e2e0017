-- One row per check of a trace: its threshold, and the severity and message from that value.
--
-- check      VARCHAR  name of the check; the key
-- severity   VARCHAR  info, warning or error, where the value reaches the threshold
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- unit       VARCHAR  what the value counts, or percent
-- message    VARCHAR  what was found, what it means and what to do
CREATE TABLE check_rules (
    "check" VARCHAR PRIMARY KEY,
    severity VARCHAR NOT NULL,
    threshold DOUBLE NOT NULL,
    unit VARCHAR NOT NULL,
    message VARCHAR NOT NULL
);
