-- One row per property of a model that a config.json may give: what its value must be to be read.
-- The limits are far beyond every model that is known; what exceeds them is a mistake.
--
-- Of the kind "no such layers" are the keys that mean layers without operators here, in a file
-- that has no list of its layers: every value but false and the numbers within the limits does.
--
-- field  VARCHAR  property, as in config_names; the key
-- kind   VARCHAR  what a value of it is
-- least  DOUBLE   the smallest number that it may be, or hold; NULL: it is no number
-- most   DOUBLE   the largest one
-- words  VARCHAR  words that it may be, or hold, by spaces; NULL: any
CREATE TABLE config_fields (
    field VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,
    least DOUBLE,
    most DOUBLE,
    words VARCHAR
);
