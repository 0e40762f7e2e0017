-- One row per limit that a calibration must meet for its fraction to be meaningful.
--
-- calibration_limit  VARCHAR  name of the limit; the key
-- value              DOUBLE   the limit
-- unit               VARCHAR  µs, kernels or percent
-- meaning            VARCHAR  what it is for
CREATE TABLE calibration_limits (
    calibration_limit VARCHAR PRIMARY KEY,
    value DOUBLE NOT NULL,
    unit VARCHAR NOT NULL,
    meaning VARCHAR NOT NULL
);
