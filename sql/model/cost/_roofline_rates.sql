-- Rates from the work and times of rows of phase_roofline and module_roofline: FLOP/byte, share of
-- the peak, TFLOP/s, tokens/s, and the resource that takes longest, on a tie the first of compute,
-- memory and network. NULL if the divisor is 0 or unknown.
CREATE MACRO _roofline_rates(t) AS {
    'time_ms': _least_ms(t),
    'hbm_bytes': t.weight_bytes + t.activation_bytes + t.kv_bytes + t.temporary_bytes,
    'intensity_weights': t.flop / nullif(t.weight_bytes, 0),
    'intensity': t.flop
    / nullif(t.weight_bytes + t.activation_bytes + t.kv_bytes + t.temporary_bytes, 0),
    'intensity_total': t.flop / nullif(
        t.weight_bytes + t.activation_bytes + t.kv_bytes + t.temporary_bytes + t.net_bytes, 0
    ),
    'mfu': t.peak_ms / nullif(_least_ms(t), 0),
    'effective_tflops': t.flop / nullif(t.compute_ms, 0) / 1e9,
    'tflops': t.flop / nullif(_least_ms(t), 0) / 1e9,
    'tokens_per_s': 1e3 * t.tokens / nullif(_least_ms(t), 0),
    'bound': CASE
        WHEN _least_ms(t) IS NULL THEN NULL
        WHEN t.compute_ms >= t.hbm_ms AND t.compute_ms >= t.net_ms THEN 'compute'
        WHEN t.hbm_ms >= t.net_ms THEN 'memory'
        ELSE 'network'
    END
};
