-- One row per model of the reference's simulator: its dimensions, with the simulator's defaults.
-- model             VARCHAR   model
-- num_layers        BIGINT    layers
-- hidden_size       BIGINT    width of the residual stream
-- vocab_size        BIGINT    tokens of the vocabulary
-- attention         VARCHAR   kind of attention
-- moe               BOOLEAN   with routed experts
-- q_lora_rank       BIGINT    0: one query projection
-- o_lora_rank       BIGINT    0: one output projection
-- index_heads       BIGINT    0: no indexer
-- sliding_window    BIGINT    keys of the window
-- symbols           MAP       dimensions by the names of compat_operator_rules
-- layer_ratios      BIGINT[]  compress ratio per layer; empty if none is given
-- fault             VARCHAR   why the simulator refuses the model; NULL if it does not
CREATE VIEW _compat_model_dims AS
WITH filled AS (
    SELECT
        model, num_layers, hidden_size, vocab_size, sliding_window, compress_ratios,
        num_heads, num_experts, top_k, num_nextn_predict_layers,
        coalesce(attention, 'gqa') AS attention,
        coalesce(moe, FALSE) AS moe,
        coalesce(num_kv_heads, num_heads) AS num_kv_heads,
        coalesce(head_dim, hidden_size // num_heads) AS head_dim,
        coalesce(intermediate_size, 4 * hidden_size) AS intermediate_size,
        coalesce(routed_intermediate_size, 0) AS routed_intermediate_size,
        coalesce(shared_intermediate_size, 0) AS shared_intermediate_size,
        coalesce(num_shared_experts, 0) AS num_shared_experts,
        coalesce(mla_compress_dim, 512) AS mla_compress_dim,
        coalesce(q_lora_rank, 0) AS q_lora_rank,
        coalesce(o_lora_rank, 0) AS o_lora_rank,
        coalesce(o_groups, 1) AS o_groups,
        coalesce(qk_rope_head_dim, 0) AS qk_rope_head_dim,
        coalesce(index_heads, 0) AS index_heads,
        coalesce(index_head_dim, 0) AS index_head_dim,
        coalesce(mhc, FALSE) AS mhc,
        coalesce(mhc_bottleneck_dim, hidden_size // 4) AS mhc_bottleneck_dim,
        len(coalesce(compress_ratios, [])) AS ratio_count
    FROM compat_models
)
SELECT
    model, num_layers, hidden_size, vocab_size, attention, moe, q_lora_rank, o_lora_rank,
    index_heads, coalesce(sliding_window, 128) AS sliding_window,
    MAP {
        'H': hidden_size, 'nh': num_heads, 'nkv': num_kv_heads, 'd': head_dim,
        'E': coalesce(num_experts, 0), 'k': coalesce(top_k, 0), 'F': intermediate_size,
        'Ir': routed_intermediate_size, 'Is': shared_intermediate_size, 'C': mla_compress_dim,
        'C/nh': mla_compress_dim // num_heads, 'qr': q_lora_rank, 'or': o_lora_rank,
        'g': o_groups, 'or/g': o_lora_rank // o_groups, 'rd': qk_rope_head_dim,
        'ih': index_heads, 'id': index_head_dim, 'hc': mhc_bottleneck_dim,
        'nkv*d': num_kv_heads * head_dim, 'nh*d': num_heads * head_dim, '2*H': 2 * hidden_size,
        '(nh+2*nkv)*d': (num_heads + 2 * num_kv_heads) * head_dim,
        'moe': CAST(moe AS BIGINT), 'dense': CAST(NOT moe AS BIGINT),
        'shared_experts': CAST(
            moe AND num_shared_experts > 0 AND shared_intermediate_size > 0 AS BIGINT
        ),
        'q_lora': CAST(q_lora_rank > 0 AS BIGINT), 'no_q_lora': CAST(q_lora_rank = 0 AS BIGINT),
        'o_lora': CAST(o_lora_rank > 0 AS BIGINT), 'no_o_lora': CAST(o_lora_rank = 0 AS BIGINT),
        'rope': CAST(qk_rope_head_dim > 0 AS BIGINT), 'mhc': CAST(mhc AS BIGINT)
    } AS symbols,
    coalesce(compress_ratios, [])[:num_layers] AS layer_ratios,
    CASE
        WHEN attention NOT IN ('gqa', 'gqa_qk_norm', 'mla', 'dsa', 'csa_hca')
            THEN format('unknown attention {}', attention)
        WHEN
            ratio_count > 0
            AND ratio_count <> num_layers
            AND ratio_count <> num_layers + coalesce(num_nextn_predict_layers, 0)
            THEN format('{} compress ratios for {} layers', ratio_count, num_layers)
    END AS fault
FROM filled;
