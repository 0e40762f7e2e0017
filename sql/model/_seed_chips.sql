-- One row per accelerator with the figures that the reference report's formulas take: its own where
-- it knows the chip, else those of the table hardware, in the report's manner: the FP8 peak, or
-- that of BF16 where there is none, and the link in both directions together.
--
-- hardware     VARCHAR  chip
-- peak_tflops  DOUBLE   matrix peak, TFLOP/s
-- hbm_gbps     DOUBLE   memory bandwidth, GB/s
-- net_gbps     DOUBLE   network bandwidth, GB/s
-- hbm_gb       DOUBLE   memory, GB
CREATE VIEW _seed_chips AS
SELECT
    hardware,
    coalesce(s.peak_tflops, peak_fp8_tflops, peak_bf16_tflops, peak_fp16_tflops) AS peak_tflops,
    coalesce(s.hbm_gbps, h.hbm_gbps) AS hbm_gbps,
    coalesce(s.net_gbps, 2 * h.link_gbps) AS net_gbps,
    coalesce(s.hbm_gb, h.hbm_gb) AS hbm_gb
FROM hardware AS h
FULL JOIN seed_chips AS s USING (hardware);
