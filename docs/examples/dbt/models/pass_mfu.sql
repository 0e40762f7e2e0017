-- Kernels whose FLOP are unknown count as none: a lower bound.
SELECT
    pass.pass_key,
    pass.trace_key,
    pass.stage,
    sum(kernel.flop) AS flop,
    sum(kernel.flop) / (pass.span_us * 1e-6 * any_value(hardware.peak_bf16_tflops) * 1e12) AS mfu
FROM {{ source('star', 'fact_pass') }} AS pass
JOIN {{ source('star', 'dim_hardware') }} AS hardware USING (hardware_key)
JOIN {{ source('star', 'fact_kernel') }} AS kernel
    ON kernel.trace_key = pass.trace_key AND kernel.device = pass.device AND kernel.pass_id = pass.pass_id
WHERE pass.complete AND hardware.peak_bf16_tflops IS NOT NULL
GROUP BY pass.pass_key, pass.trace_key, pass.stage, pass.span_us
