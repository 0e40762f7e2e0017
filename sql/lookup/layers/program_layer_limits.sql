-- One row per limit that decides when the stretches of a compiled program's run are layers.
--
-- program_limit  VARCHAR  name of the limit; the key
-- value          DOUBLE   the limit
-- meaning        VARCHAR  what it is for, and why that value
CREATE TABLE program_layer_limits (
    program_limit VARCHAR PRIMARY KEY,
    value DOUBLE NOT NULL,
    meaning VARCHAR NOT NULL
);
