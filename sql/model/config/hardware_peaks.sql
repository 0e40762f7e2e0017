-- One row per accelerator and type of elements that its matrix units multiply.
--
-- key: hardware, dtype
--
-- hardware      VARCHAR  chip of the table hardware
-- dtype         VARCHAR  type of elements
-- peak_tflops   DOUBLE   dense peak, TFLOP/s
CREATE VIEW hardware_peaks AS
SELECT hardware, unnested.dtype, unnested.peak_tflops
FROM (
    SELECT
        hardware,
        unnest([
            {'dtype': 'fp64', 'peak_tflops': peak_fp64_tflops},
            {'dtype': 'fp32', 'peak_tflops': peak_fp32_tflops},
            {'dtype': 'tf32', 'peak_tflops': peak_tf32_tflops},
            {'dtype': 'bf16', 'peak_tflops': peak_bf16_tflops},
            {'dtype': 'fp16', 'peak_tflops': peak_fp16_tflops},
            {'dtype': 'fp8', 'peak_tflops': peak_fp8_tflops},
            {'dtype': 'fp4', 'peak_tflops': peak_fp4_tflops},
            {'dtype': 'int8', 'peak_tflops': peak_int8_tops}
        ]) AS unnested
    FROM hardware
)
WHERE unnested.peak_tflops IS NOT NULL;
