-- Work and bytes of router, routed and shared experts of all layers, taken as a family, given the
-- scenario's row of _seed_inputs.
--
-- The report's fault is kept: one efficiency for all of them, by the mean of their rows.
CREATE MACRO _seed_experts(i) AS {
    m_eff: greatest(
        round_even(
            (
                6 * i.tokens * i.hidden * i.expert_width * i.top_k * i.active_rows
                + 6 * i.tokens * i.hidden * i.expert_width * i.shared_experts * i.tokens
            ) / (6 * i.tokens * i.hidden * i.expert_width * (i.top_k + i.shared_experts)),
            0
        ),
        1
    ),
    tensor_share: i.linear_tensor_share,
    flop: i.flop_factor * i.moe_layers * (
        2 * i.tokens * i.hidden * i.experts
        + 6 * i.tokens * i.hidden * i.expert_width * (i.top_k + i.shared_experts)
    ),
    weight_bytes: i.byte_factor * i.moe_layers * i.weight_bytes / i.moe_residency * (
        i.hidden * i.experts
        + (i.local_experts * i.touched + i.shared_experts) * 3 * i.hidden * i.expert_width
    ),
    activation_bytes: i.byte_factor * i.moe_layers * i.tokens * i.activation_factor
        * i.activation_bytes * (
            i.hidden + i.experts
            + (i.top_k + i.shared_experts) * 3 * (i.hidden + i.expert_width)
        ),
    kv_bytes: 0.0,
    temporary_bytes: 0.0,
    net_bytes: 0.0
};
