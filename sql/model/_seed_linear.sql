-- Work and bytes of a linear layer or embedding, all its instances, given the scenario's row of
-- _seed_inputs with the module's of _seed_entries.
--
-- The report's faults are kept: an embedding is read whole, and has FLOP; the head takes all tokens
-- of a prompt; experts of a model taken module by module are all on every chip, whatever EP is.
CREATE MACRO _seed_linear(i) AS {
    m_eff: CASE WHEN i.is_routed THEN greatest(round_even(i.active_rows, 0), 1) ELSE i.tokens END,
    tensor_share: CASE WHEN i.module_kind = 'embedding' THEN i.embedding_tensor_share
        ELSE i.linear_tensor_share END,
    flop: i.flop_factor * i.instances * CASE
        WHEN i.module_kind = 'embedding' THEN i.tokens * i.scaled_outputs
        ELSE 2 * i.tokens * i.scaled_inputs * i.scaled_outputs * i.visited
    END,
    weight_bytes: i.byte_factor * i.instances * i.parameters * i.weight_bytes
        * CASE WHEN i.is_routed THEN i.touched ELSE 1 END
        * CASE
            WHEN i.module_kind = 'embedding' AND NOT i.by_family THEN i.hidden_scale
            ELSE (i.scaled_inputs * i.scaled_outputs) / (i.inputs * i.outputs)
        END
        / CASE WHEN i.in_experts THEN i.moe_residency ELSE i.dense_residency END,
    activation_bytes: i.byte_factor * i.instances * i.tokens * i.visited * i.activation_factor
        * i.activation_bytes
        * CASE WHEN i.module_kind = 'embedding' THEN i.scaled_outputs
            ELSE i.scaled_inputs + i.scaled_outputs END,
    kv_bytes: 0.0,
    temporary_bytes: 0.0,
    net_bytes: 0.0
};
