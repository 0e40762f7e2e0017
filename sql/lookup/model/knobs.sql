-- One row per setting of a scenario that a study may vary: what tables and charts call it.
--
-- knob   VARCHAR  its name in the relation sensitivity; the key
-- title  VARCHAR  display name
-- unit   VARCHAR  what it counts
CREATE TABLE knobs (
    knob VARCHAR PRIMARY KEY,
    title VARCHAR NOT NULL,
    unit VARCHAR
);
