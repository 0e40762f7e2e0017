-- One row per constant in the formulas of the reference report, besides those of chips and
-- execution profiles.
--
-- constant  VARCHAR  its name; the key
-- value     DOUBLE   its value
-- unit      VARCHAR  what it counts
-- comment   VARCHAR  what it is for
CREATE TABLE compat_report_constants (
    constant VARCHAR PRIMARY KEY,
    value DOUBLE NOT NULL,
    unit VARCHAR,
    comment VARCHAR
);
