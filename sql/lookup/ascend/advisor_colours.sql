-- One row per colour that the profiler's advisor gives a kernel of the vector cores by the speed at
-- which it moves its tensors.
--
-- priority     INTEGER  order: the first match applies; the key
-- colour       VARCHAR  red, yellow, green or white
-- from_gibps   DOUBLE   lowest speed, GiB/s
-- below_gibps  DOUBLE   upper bound of the speed, exclusive, GiB/s
-- longer_us    DOUBLE   the kernel must last longer than this, µs
-- comment      VARCHAR  meaning of the colour
CREATE TABLE advisor_colours (
    priority INTEGER PRIMARY KEY,
    colour VARCHAR NOT NULL,
    from_gibps DOUBLE,
    below_gibps DOUBLE,
    longer_us DOUBLE,
    comment VARCHAR
);
