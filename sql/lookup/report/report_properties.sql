-- One row per dimension of a model that a model report prints.
--
-- property  VARCHAR  column of the relation architectures; the key
-- place     INTEGER  order
-- title     VARCHAR  what the report calls it
-- unit      VARCHAR  what it counts
CREATE TABLE report_properties (
    property VARCHAR PRIMARY KEY,
    place INTEGER NOT NULL,
    title VARCHAR NOT NULL,
    unit VARCHAR NOT NULL
);
