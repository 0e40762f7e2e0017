-- One row per reason why a share of a peak or of a bound may exceed 100 %.
--
-- cause       VARCHAR  reason; the key
-- applies_to  VARCHAR  where it is possible: always; any: FLOP exceed their bound, and by their
--                      source: shape, annotation (also for bytes), template; memory: bytes exceed
--                      theirs; attention: its FLOP or bytes do; overlap: bounds of several kernels
--                      are added up; attainable: the bound was measured; counter: a profiler
--                      counted the share
-- comment     VARCHAR  why
CREATE TABLE over_100_causes (
    cause VARCHAR PRIMARY KEY,
    applies_to VARCHAR NOT NULL,
    comment VARCHAR
);
