-- One row per accelerator of the reference report, with its figures: a single peak, and the link's
-- bandwidth in both directions together. The table hardware has the ones to trust.
--
-- hardware     VARCHAR  chip of the table hardware; the key
-- peak_tflops  DOUBLE   dense FP8 peak, TFLOP/s; used for every element type
-- hbm_gbps     DOUBLE   memory bandwidth, GB/s
-- net_gbps     DOUBLE   bandwidth between chips, GB/s, whatever their number
-- hbm_gb       DOUBLE   memory; the reference multiplies by 1024³
-- source       VARCHAR  where the figures are from
CREATE TABLE compat_report_chips (
    hardware VARCHAR PRIMARY KEY,
    peak_tflops DOUBLE NOT NULL,
    hbm_gbps DOUBLE NOT NULL,
    net_gbps DOUBLE NOT NULL,
    hbm_gb DOUBLE NOT NULL,
    source VARCHAR
);
