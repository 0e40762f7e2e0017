-- One row per kernel category of a layer whose times are given.
--
-- request   VARCHAR  key of timing_metadata
-- position  BIGINT   order in which they were given, from 0
-- category  VARCHAR  kernel category
-- dur_us    DOUBLE   time of its kernels in one layer, µs
-- kernel_count BIGINT   number of these kernels; NULL if not given
CREATE TABLE category_timings (
    request VARCHAR,
    position BIGINT,
    category VARCHAR NOT NULL,
    dur_us DOUBLE NOT NULL CHECK (dur_us >= 0 AND isfinite(dur_us)),
    kernel_count BIGINT,
    PRIMARY KEY (request, position)
);
