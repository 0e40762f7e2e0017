-- One row per side of a comparison and trace of it, as given: rows of the lake's own file
-- lookup/given_sides.csv and rows inserted on the open connection count alike. If there are none,
-- traces with a baseline are compared with it.
--
-- side   VARCHAR  name of the side
-- trace  VARCHAR  trace, its name or id
-- place  BIGINT   order of the sides, 0 for the baseline
CREATE TABLE given_sides (
    side VARCHAR NOT NULL,
    trace VARCHAR NOT NULL,
    place BIGINT NOT NULL DEFAULT 1,
    PRIMARY KEY (side, trace)
);
