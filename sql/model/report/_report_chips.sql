-- One row per chip of a model report and type that some products compute in: its peak and its
-- memory.
--
-- hardware     VARCHAR  chip
-- chip_name    VARCHAR  its name in words
-- dtype        VARCHAR  type
-- peak_tflops  DOUBLE   dense peak, TFLOP/s
-- hbm_gbps     DOUBLE   bandwidth of the memory, GB/s
-- knee         DOUBLE   FLOP per byte at which compute takes as long as memory
-- hbm_gb       DOUBLE   memory, GB
-- link_gbps    DOUBLE   links, one direction, GB/s
-- chip_place   INTEGER  place of the chip in the report
CREATE VIEW _report_chips AS
SELECT
    hardware, h.name AS chip_name, p.dtype, p.peak_tflops, h.hbm_gbps,
    1e3 * p.peak_tflops / h.hbm_gbps AS knee, h.hbm_gb, h.link_gbps,
    list_position(w.chips, hardware) AS chip_place
FROM hardware AS h
JOIN hardware_peaks AS p USING (hardware)
JOIN _report_workload AS w ON list_contains(w.chips, hardware)
WHERE p.dtype IN (SELECT dtype FROM _report_types);
