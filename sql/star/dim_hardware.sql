-- One row per accelerator that a trace of the star ran on, and what it can do; row 0 stands for
-- hardware that is unknown. Peaks are dense, never with sparsity.
--
-- key: hardware_key
--
-- hardware_key      INTEGER  key, from 1 in the order of the names; 0 if unknown
-- hardware          VARCHAR  short name
-- vendor            VARCHAR  nvidia, amd, huawei or google; NULL if unknown
-- name              VARCHAR  the vendor's name
-- peak_bf16_tflops  DOUBLE   matrix peak in BF16, TFLOP/s
-- peak_fp16_tflops  DOUBLE   matrix peak in FP16, TFLOP/s
-- peak_fp8_tflops   DOUBLE   matrix peak in FP8, TFLOP/s
-- peak_fp4_tflops   DOUBLE   matrix peak in FP4, TFLOP/s
-- peak_fp32_tflops  DOUBLE   matrix peak in FP32, TFLOP/s
-- hbm_gbps          DOUBLE   memory bandwidth, GB/s
-- hbm_gb            DOUBLE   memory, GB
-- link_gbps         DOUBLE   scale-up link bandwidth per direction, GB/s
-- tdp_w             DOUBLE   board power, W
CREATE VIEW dim_hardware AS
WITH used AS (
    SELECT
        CAST(row_number() OVER (ORDER BY hardware) AS INTEGER) AS hardware_key, hardware
    FROM (SELECT DISTINCT hardware FROM traces WHERE hardware IS NOT NULL)
)
SELECT
    used.hardware_key, used.hardware, hardware.vendor, hardware.name, hardware.peak_bf16_tflops,
    hardware.peak_fp16_tflops, hardware.peak_fp8_tflops, hardware.peak_fp4_tflops,
    hardware.peak_fp32_tflops, hardware.hbm_gbps, hardware.hbm_gb, hardware.link_gbps,
    hardware.tdp_w
FROM used
LEFT JOIN hardware USING (hardware)
UNION ALL
SELECT 0, '(unknown)', NULL, '(unknown)', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL;
