-- One row per reason why a share of a peak or of a bound may exceed 100 %.
--
-- cause       VARCHAR  reason; the key
-- applies_to  VARCHAR  where it is possible: always; any: where FLOP exceed their bound, and by
--                      where these come from: shape, annotation, template; attention; memory:
--                      where bytes exceed theirs; overlap: where bounds of several kernels are
--                      added up; attainable: where the bound was measured; counter: where a
--                      profiler counted the share
-- comment     VARCHAR  why
CREATE TABLE over_100_causes (
    cause VARCHAR PRIMARY KEY,
    applies_to VARCHAR NOT NULL,
    comment VARCHAR
);
