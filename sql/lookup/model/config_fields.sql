-- One row per property of a model that a config.json may give: the values that are accepted. The
-- limits are far beyond every known model; values beyond them are mistakes.
--
-- The kind "no such layers" is for keys that mean layers without operators here, in a file without
-- a list of its layers: any value but false and the numbers within the limits does. The kind "no
-- such parts" is for those that mean parts of layers without operators here, whatever the list.
--
-- field  VARCHAR  property, as in config_names; the key
-- kind   VARCHAR  kind of its value
-- least  DOUBLE   the smallest number that it may be or contain; NULL: not a number
-- most   DOUBLE   the largest one
-- words  VARCHAR  words that it may be or contain, separated by spaces; NULL: any
CREATE TABLE config_fields (
    field VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,
    least DOUBLE,
    most DOUBLE,
    words VARCHAR
);
