-- Work and bytes of the attention of all layers, given the scenario's row of _seed_inputs.
--
-- The report's faults are kept: all pairs are counted, none is hidden by a mask; an attention that
-- is not a latent one has queries, keys and a cache of the hidden width.
CREATE MACRO _seed_attention(i) AS {
    m_eff: i.tokens,
    tensor_share: i.attention_tensor_share,
    flop: i.flop_factor * i.layers * CASE
        WHEN i.latent_flop_per_pair IS NOT NULL
            THEN i.attention_scale
                * (i.latent_flop_per_token * i.tokens + i.latent_flop_per_pair * i.pairs)
        ELSE 8 * i.tokens * i.hidden * i.hidden + 4 * i.pairs * i.hidden + i.heads * i.pairs
    END,
    weight_bytes: i.byte_factor * i.layers * i.attention_parameters * i.weight_bytes
        * i.attention_scale / i.attention_residency,
    -- In, out, queries, keys and values; decode has keys and values once more.
    activation_bytes: i.byte_factor * i.layers * CASE WHEN i.is_decode THEN 7 ELSE 5 END
        * i.tokens * i.hidden * i.activation_factor * i.activation_bytes,
    kv_bytes: i.byte_factor * i.layers * i.kv_elements * i.kv_bytes
        * CASE WHEN i.is_decode THEN i.batch * i.kv_len + i.batch ELSE i.tokens END,
    temporary_bytes: i.byte_factor * i.layers * i.elementwise_factor * i.activation_bytes
        * CASE WHEN i.flash THEN i.tokens * i.heads ELSE 2 * i.heads * i.pairs END,
    net_bytes: 0.0
};
