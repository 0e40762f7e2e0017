-- One row per accelerator: how a usual installation joins many of them. A chip without a row is
-- taken to have every other one within its own links.
--
-- hardware       VARCHAR  chip of the table hardware; the key
-- domain_size    BIGINT   chips that its links reach
-- scaleout_gbps  DOUBLE   network bandwidth of a chip beyond them, per direction, GB/s
-- latency_us     DOUBLE   time of a hop, µs
-- source         VARCHAR  where the figures are from
CREATE TABLE topologies (
    hardware VARCHAR PRIMARY KEY,
    domain_size BIGINT,
    scaleout_gbps DOUBLE,
    latency_us DOUBLE,
    source VARCHAR
);
