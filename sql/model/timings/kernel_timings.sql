-- One row per kernel of a layer whose times are given.
--
-- request      VARCHAR  key of timing_metadata
-- position     BIGINT   order in which they were given, from 0
-- category     VARCHAR  kernel category; NULL if not given
-- name         VARCHAR  name of the kernel
-- short_name   VARCHAR  display name; NULL if not given
-- half         VARCHAR  part of the layer, such as attn or ffn
-- dur_us       DOUBLE   duration, µs
-- input_dims   VARCHAR  shapes of the launching operation's inputs, as a JSON list
-- output_dims  VARCHAR  shapes of its outputs
-- input_types  VARCHAR  types of their elements
CREATE TABLE kernel_timings (
    request VARCHAR,
    position BIGINT,
    category VARCHAR,
    name VARCHAR,
    short_name VARCHAR,
    half VARCHAR,
    dur_us DOUBLE NOT NULL CHECK (dur_us >= 0 AND isfinite(dur_us)),
    input_dims VARCHAR,
    output_dims VARCHAR,
    input_types VARCHAR,
    PRIMARY KEY (request, position)
);
