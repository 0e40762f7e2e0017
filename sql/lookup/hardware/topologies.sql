-- One row per accelerator: how a usual installation connects many of them. A chip without a row is
-- assumed to reach every other one over its own links.
--
-- hardware         VARCHAR  chip of the table hardware; the key
-- domain_size      BIGINT   chips that its links reach
-- is_mesh          BOOLEAN  each link goes to one other chip; NULL: a switch connects them
-- scaleout_gbps    DOUBLE   bandwidth of a chip beyond them, per direction, GB/s: of the network,
--                           or of PCIe where a bridge connects two cards
-- link_latency_us  DOUBLE   time of a hop over the links, µs; from NCCL's tuning table for NVLink
--                           and its low-latency protocol, for all vendors
-- latency_us       DOUBLE   time of a hop beyond them, µs; from the same table, for trees over the
--                           network, or over PCIe
-- source           VARCHAR  where the figures are from
CREATE TABLE topologies (
    hardware VARCHAR PRIMARY KEY,
    domain_size BIGINT,
    is_mesh BOOLEAN,
    scaleout_gbps DOUBLE,
    link_latency_us DOUBLE,
    latency_us DOUBLE,
    source VARCHAR
);
