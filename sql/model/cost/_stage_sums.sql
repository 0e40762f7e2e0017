-- Cost of the layers of one pipeline stage together, from rows of _operator_rows: sums, and times
-- in ms. If the peak of a type is unknown, the time of the matrix units is NULL; if the bandwidth
-- of the memory or the links is, that of the memory or the network; and so is every time that
-- includes it.
CREATE MACRO _stage_sums(o) AS {
    'tokens': any_value(o.tokens),
    'flop': sum(o.stage_layers * o.flop_rank),
    'tensor_flop': sum(o.stage_layers * o.tensor_flop),
    'realizable_flop': sum(o.stage_layers * o.realizable_flop),
    'weight_bytes': sum(o.stage_layers * o.weight_bytes),
    'activation_bytes': sum(o.stage_layers * o.activation_bytes),
    'kv_bytes': sum(o.stage_layers * o.kv_bytes),
    'temporary_bytes': sum(o.stage_layers * o.temporary_bytes),
    'net_bytes': sum(o.stage_layers * o.net_bytes),
    'compute_ms': CASE
        WHEN NOT bool_or(o.flop_rank > 0 AND o.peak_tflops IS NULL)
            THEN greatest(sum(o.stage_layers * o.flop_us), sum(o.stage_layers * o.vector_us)) / 1e3
    END,
    'peak_ms': sum(o.stage_layers * o.flop_rank / o.peak_tflops) / 1e9,
    'hbm_ms': sum(o.stage_layers * o.hbm_us) / 1e3,
    'net_ms': CASE
        WHEN NOT bool_or(o.net_bytes > 0 AND o.net_us IS NULL)
            THEN sum(o.stage_layers * o.net_us) / 1e3
    END,
    'serial_ms': CASE
        WHEN NOT bool_or(
            o.flop_rank > 0 AND o.peak_tflops IS NULL OR o.hbm_us IS NULL
            OR o.net_bytes > 0 AND o.net_us IS NULL
        )
            THEN sum(
                CASE WHEN o.hidden THEN 0 ELSE o.stage_layers END
                * greatest(o.flop_us, o.vector_us, o.hbm_us, o.net_us)
            ) / 1e3
    END
};
