-- One row per scenario: its settings besides its work and its degrees of parallelism. Points of a
-- study are compared only if all of these are equal.
--
-- scenario  VARCHAR  scenario
-- settings  STRUCT   types of numbers, form of a latent attention, scales and the like, by column
--                    of the table scenarios
CREATE VIEW _scenario_settings AS
SELECT
    scenario,
    {
        'weight_dtype': weight_dtype,
        'activation_dtype': activation_dtype,
        'kv_dtype': kv_dtype,
        'gemm_dtype': gemm_dtype,
        'head_dtype': head_dtype,
        'mla_mode': mla_mode,
        'mtp_layers': mtp_layers,
        'top_k': top_k,
        'hidden_scale': hidden_scale,
        'kv_rank_scale': kv_rank_scale,
        'expert_imbalance': expert_imbalance,
        'zero_stage': zero_stage,
        'recompute': recompute
    } AS settings
FROM scenarios;
