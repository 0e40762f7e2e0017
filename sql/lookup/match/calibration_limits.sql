-- One row per limit that a calibration has to keep for its fraction to mean something.
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
