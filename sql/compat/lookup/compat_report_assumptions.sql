-- One row per assumption of the reference report's formulas, with the error that it causes.
--
-- assumption  VARCHAR  name; the key
-- place       INTEGER  order
-- what        VARCHAR  what is assumed
-- source      VARCHAR  its effect on the figures
CREATE TABLE compat_report_assumptions (
    assumption VARCHAR PRIMARY KEY,
    place INTEGER NOT NULL,
    what VARCHAR NOT NULL,
    source VARCHAR
);
