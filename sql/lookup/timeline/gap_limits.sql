-- One row per limit that defines a gap between device operations.
--
-- gap_limit  VARCHAR  name of the limit; the key
-- value      BIGINT   the limit
-- unit       VARCHAR  ns or operations
-- meaning    VARCHAR  what it is for
CREATE TABLE gap_limits (
    gap_limit VARCHAR PRIMARY KEY,
    value BIGINT NOT NULL,
    unit VARCHAR NOT NULL,
    meaning VARCHAR NOT NULL
);
