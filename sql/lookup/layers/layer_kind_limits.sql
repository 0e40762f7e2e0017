-- One row per limit that decides when layers with the same kernels are two kinds by their times.
--
-- kind_limit  VARCHAR  name of the limit; the key
-- value       DOUBLE   the limit
-- meaning     VARCHAR  what it is for, and why that value
CREATE TABLE layer_kind_limits (
    kind_limit VARCHAR PRIMARY KEY,
    value DOUBLE NOT NULL,
    meaning VARCHAR NOT NULL
);
