-- One row per phase and category of work at the anchor of a model report, both profiles side by
-- side.
--
-- phase                 VARCHAR  training, prefill or decode
-- category              VARCHAR  category of work
-- phase_place           INTEGER  place of the phase
-- base_intensity        DOUBLE   intensity by the base profile
-- main_intensity        DOUBLE   intensity by the main profile
-- intensity_change_pct  DOUBLE   change of the intensity, %
-- base_bytes            DOUBLE   bytes in memory and sent, base profile
-- main_bytes            DOUBLE   bytes in memory and sent, main profile
CREATE VIEW _report_category_sides AS
SELECT
    phase, category, any_value(phase_place) AS phase_place,
    max(intensity) FILTER (is_base) AS base_intensity,
    max(intensity) FILTER (is_main) AS main_intensity,
    100 * (main_intensity / nullif(base_intensity, 0) - 1) AS intensity_change_pct,
    max(hbm_bytes + net_bytes) FILTER (is_base) AS base_bytes,
    max(hbm_bytes + net_bytes) FILTER (is_main) AS main_bytes
FROM _report_categories
GROUP BY phase, category;
