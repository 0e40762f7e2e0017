-- One row per model, and per scaling of it in a scenario: the widths that operator_rules
-- names. Scaling changes the hidden width and those of the MLP, or the rank of compressed keys and
-- values; heads and their widths stay.
--
-- key: variant
--
-- variant        UBIGINT  the model with its dimensions scaled
-- model          VARCHAR  model
-- top_k          BIGINT   experts per token
-- hidden_scale   DOUBLE   hidden width over the model's
-- kv_rank_scale  DOUBLE   width of compressed keys and values over the model's
-- attention      VARCHAR  gqa, mla, dsa or v4
-- num_experts    BIGINT   routed experts
-- num_kv_heads   BIGINT   key and value heads
-- sizes          MAP      each width by its name, elements
CREATE VIEW model_sizes AS
WITH listed AS (
    -- One list, not a row each, so the planner knows that these are few, however many scenarios
    -- there are.
    SELECT
        list(
            DISTINCT {
                'model': model, 'top_k': top_k, 'hidden_scale': hidden_scale,
                'kv_rank_scale': kv_rank_scale
            }
        ) AS variants
    FROM _scenario_rows
),
asked AS (
    SELECT
        variant.model, variant.top_k AS said_top_k, variant.hidden_scale, variant.kv_rank_scale
    FROM (SELECT unnest(variants) AS variant FROM listed)
    UNION
    SELECT model, NULL, 1.0, 1.0 FROM architectures
),
scaled AS (
    SELECT
        _variant(model, said_top_k, hidden_scale, kv_rank_scale) AS variant, model, hidden_scale,
        kv_rank_scale, attention, num_experts, num_kv_heads,
        num_heads AS heads, head_dim, rotary_dim, q_lora_rank AS q_lora,
        CASE WHEN said_top_k IS NULL THEN top_k ELSE least(said_top_k, num_experts) END AS top_k,
        CAST(round_even(hidden_size * hidden_scale, 0) AS BIGINT) AS hidden,
        CAST(round_even(kv_lora_rank * kv_rank_scale, 0) AS BIGINT) AS kv_lora,
        CAST(round_even(intermediate_size * hidden_scale, 0) AS BIGINT) AS ffn,
        CAST(round_even(moe_intermediate_size * hidden_scale, 0) AS BIGINT) AS expert_width,
        CAST(round_even(shared_intermediate_size * hidden_scale, 0) AS BIGINT) AS shared_width,
        CASE WHEN gated_mlp THEN 2 ELSE 1 END AS gate,
        CASE WHEN shared_gate THEN 1 ELSE 0 END AS shared_gate,
        CASE WHEN qk_norm THEN 1 ELSE 0 END AS qk_norm,
        CASE WHEN attention_gate THEN 1 ELSE 0 END AS attention_gate,
        CASE WHEN is_encoder THEN 1 ELSE 0 END AS encoder,
        qk_nope_head_dim AS nope_dim, qk_rope_head_dim AS rope_dim,
        coalesce(v_head_dim, head_dim) AS v_dim,
        coalesce(qk_nope_head_dim + qk_rope_head_dim, head_dim) AS qk_dim,
        o_lora_rank AS o_lora, o_groups, index_heads, index_head_dim AS index_dim, hc_mult AS hc,
        vocab_size AS vocab, tied_embeddings, has_head
    FROM asked
    JOIN architectures USING (model)
)
SELECT
    variant, model, top_k, hidden_scale, kv_rank_scale, attention, num_experts, num_kv_heads,
    map {
        'one': 1,
        'hidden': hidden,
        'hidden_2': 2 * hidden,
        'heads': heads,
        'heads_2': 2 * heads,
        'head_dim': head_dim,
        'half_head_dim': head_dim // 2,
        'q_width': heads * head_dim,
        'q_width_2': 2 * heads * head_dim,
        'kv_width': num_kv_heads * head_dim,
        'kv_pair_width': 2 * num_kv_heads * head_dim,
        'q_and_k_width': (heads + num_kv_heads) * head_dim,
        'qk_width': (heads + num_kv_heads) * head_dim,
        'qk_norm': qk_norm,
        'attention_gate': attention_gate,
        'encoder': encoder,
        'qk_dim': qk_dim,
        'v_dim': v_dim,
        'nope_dim': nope_dim,
        'qk_heads_width': heads * qk_dim,
        'qk_heads_width_2': 2 * heads * qk_dim,
        'v_heads_width': heads * v_dim,
        'q_lora': q_lora,
        'kv_lora': kv_lora,
        'latent_width': kv_lora + rope_dim,
        'half_latent_width': (kv_lora + rope_dim) // 2,
        'latent_heads_width': heads * (kv_lora + rope_dim),
        'lora_heads_width': heads * kv_lora,
        'kv_b_width': heads * (nope_dim + v_dim),
        'rope_width': (heads + 1) * rope_dim,
        -- Pairs of elements that are rotated, in all heads of queries and keys.
        'rope_pairs': (heads + CASE WHEN attention = 'gqa' THEN num_kv_heads ELSE 1 END)
        * rotary_dim // 2,
        'o_lora': o_lora,
        'o_groups': o_groups,
        'o_width': o_groups * o_lora,
        'o_group_width': heads * head_dim // o_groups,
        'compressor_2_width': 2 * head_dim,
        'compressor_4_width': 4 * head_dim,
        'index_heads': index_heads,
        'index_dim': index_dim,
        'index_dim_4': 4 * index_dim,
        'index_width': index_heads * index_dim,
        'index_hadamard': index_heads * index_dim * CAST(round(log2(index_dim)) AS BIGINT),
        'ffn': ffn,
        'ffn_up': gate * ffn,
        'experts': num_experts,
        'top_k': top_k,
        'expert_width': expert_width,
        'expert_up': gate * expert_width,
        'shared_width': shared_width,
        'shared_up': gate * shared_width,
        'shared_gate': shared_gate,
        'hc': hc,
        'hc_hidden': hc * hidden,
        'hc_hidden_and_hidden': (hc + 1) * hidden,
        'hc_mix': (2 + hc) * hc,
        'hc_expansion': (hc + hc * hc) * hidden,
        'vocab': vocab,
        'head': CASE WHEN has_head THEN 1 ELSE 0 END,
        'untied_vocab': CASE WHEN tied_embeddings AND has_head THEN 0 ELSE vocab END,
        -- An RMS norm: 4 FLOP for each element and a root.
        'norm_hidden': 4 * hidden + 1,
        'add_norm_hidden': 5 * hidden + 1,
        'norm_q_lora': 4 * q_lora + 1,
        'norm_kv_lora': 4 * kv_lora + 1,
        'norm_head_dim': 4 * head_dim + 1,
        'norm_q': heads * (4 * head_dim + 1),
        'norm_qk': (heads + num_kv_heads) * (4 * head_dim + 1)
    } AS sizes
FROM scaled;
