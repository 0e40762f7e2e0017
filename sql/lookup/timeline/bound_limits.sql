-- One row per limit from which a pass counts as bound by a resource.
--
-- bound_limit  VARCHAR  name of the limit; the key
-- value        DOUBLE   the limit
-- unit         VARCHAR  percent
-- meaning      VARCHAR  what it is for
CREATE TABLE bound_limits (
    bound_limit VARCHAR PRIMARY KEY,
    value DOUBLE NOT NULL,
    unit VARCHAR NOT NULL,
    meaning VARCHAR NOT NULL
);
