-- Kind of the MLP of a layer, counted from 0: moe if it has experts, else dense. The properties are
-- those of config_layers; those not given are NULL.
CREATE MACRO config_mlp_kind(
    layer_id, num_experts, first_dense_layers, moe_layer_step, moe_layer_offset, dense_layers
) AS CASE
    WHEN coalesce(num_experts, 0) = 0 OR layer_id < coalesce(first_dense_layers, 0)
        OR list_contains(dense_layers, layer_id) THEN 'dense'
    WHEN (layer_id - coalesce(moe_layer_offset, first_dense_layers, 0))
        % greatest(coalesce(moe_layer_step, 1), 1) = 0 THEN 'moe'
    ELSE 'dense'
END;
