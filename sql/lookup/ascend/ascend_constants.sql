-- One row per constant that the relations about Ascend devices use.
--
-- constant  VARCHAR  its name; the key
-- value     DOUBLE   its value
-- unit      VARCHAR  what it counts
-- comment   VARCHAR  what it is for, and where it is from
CREATE TABLE ascend_constants (
    constant VARCHAR PRIMARY KEY,
    value DOUBLE NOT NULL,
    unit VARCHAR,
    comment VARCHAR
);
