-- One row per dimension of a model that a model report prints.
--
-- property  VARCHAR  column of the relation architectures; the key
-- place     INTEGER  order
-- title     VARCHAR  its heading in the report
-- unit      VARCHAR  its unit
CREATE TABLE report_properties (
    property VARCHAR PRIMARY KEY,
    place INTEGER NOT NULL,
    title VARCHAR NOT NULL,
    unit VARCHAR NOT NULL
);
