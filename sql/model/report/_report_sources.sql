-- One row per chip of a model report: its data sheet, and where its figures are from.
--
-- hardware       VARCHAR  chip
-- chip_name      VARCHAR  its name in words
-- hbm_gb         DOUBLE   memory, GB
-- hbm_gbps       DOUBLE   bandwidth of the memory, GB/s
-- link_gbps      DOUBLE   links, one direction, GB/s
-- domain_size    BIGINT   chips on the links
-- scaleout_gbps  DOUBLE   bandwidth beyond the links, GB/s
-- trusted        BOOLEAN  whether the figures are from the vendor's data sheet
-- source         VARCHAR  where the figures are from
-- chip_place     INTEGER  place of the chip in the report
CREATE VIEW _report_sources AS
SELECT
    hardware, h.name AS chip_name, h.hbm_gb, h.hbm_gbps, h.link_gbps, t.domain_size,
    t.scaleout_gbps, h.trusted, concat_ws('; beyond the links: ', h.source, t.source) AS source,
    list_position(w.chips, hardware) AS chip_place
FROM hardware AS h
JOIN _report_workload AS w ON list_contains(w.chips, hardware)
LEFT JOIN topologies AS t USING (hardware);
