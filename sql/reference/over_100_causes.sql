-- One row per reason why a kernel may seem to do more than its chip can.
--
-- cause       VARCHAR  reason; the key
-- applies_to  VARCHAR  any; by where the FLOP come from: shape, annotation, template; attention; or
--                      memory: the bytes are above 100 %
-- comment     VARCHAR  why
CREATE TABLE over_100_causes (
    cause VARCHAR PRIMARY KEY,
    applies_to VARCHAR NOT NULL,
    comment VARCHAR
);
