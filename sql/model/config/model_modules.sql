-- One row per model: the sizes of its modules, by the names that module_shapes uses.
CREATE VIEW _parameter_sizes AS
WITH counted AS (
    SELECT
        model, count(*) AS layers,
        count(*) FILTER (mlp_kind = 'dense') AS plain_layers,
        count(*) FILTER (mlp_kind = 'moe') AS moe_layers,
        count(*) FILTER (compress_ratio = 4) AS layers_of_ratio_4,
        count(*) FILTER (compress_ratio > 0 AND compress_ratio <> 4) AS layers_of_other_ratios
    FROM model_layers
    GROUP BY model
),
kinds AS (
    SELECT
        a.*, c.* EXCLUDE (model), t.* EXCLUDE (model_type, comment),
        CASE WHEN attention = 'gqa' THEN head_dim END AS plain_head,
        CASE WHEN attention IN ('mla', 'dsa') THEN qk_nope_head_dim + qk_rope_head_dim
        END AS latent_head,
        CASE WHEN attention = 'v4' THEN head_dim END AS shared_head,
        CASE WHEN shared_intermediate_size > 0 THEN greatest(num_shared_experts, 1)
        END AS shared_count
    FROM architectures AS a
    JOIN counted AS c USING (model)
    LEFT JOIN model_type_traits AS t USING (model_type)
)
SELECT
    model, attention, tied_embeddings, top_k,
    map {
        'one': 1,
        'hidden': hidden_size,
        'vocab': vocab_size,
        'head': CASE WHEN has_head THEN vocab_size END,
        'learned_positions': learned_positions * max_positions,
        'norm_bias': norm_bias,
        'qkv_bias': CAST(qkv_bias AS BIGINT),
        'output_bias': output_bias,
        'mlp_bias': mlp_bias,
        'expert_bias': expert_bias,
        'layers': layers,
        'dense_layers': plain_layers,
        'moe_layers': moe_layers,
        'layers_of_ratio_4': layers_of_ratio_4,
        'layers_of_other_ratios': layers_of_other_ratios,
        'heads': num_heads,
        -- Queries computed directly from the hidden state.
        'query': num_heads
            * coalesce(plain_head, CASE WHEN q_lora_rank IS NULL THEN latent_head END),
        'query_gate': CASE WHEN attention_gate THEN num_heads * plain_head END,
        'keys': num_kv_heads * plain_head,
        'head_norm': CASE WHEN qk_norm THEN plain_head END,
        'query_rank': CASE WHEN plain_head IS NULL THEN q_lora_rank END,
        'query_up': CASE
            WHEN q_lora_rank IS NOT NULL THEN num_heads * coalesce(latent_head, shared_head)
        END,
        'latent_head': latent_head,
        'latent_value': CASE WHEN latent_head IS NOT NULL THEN v_head_dim END,
        'latent_rank': kv_lora_rank,
        'latent': kv_lora_rank + qk_rope_head_dim,
        'latent_up': num_heads * (qk_nope_head_dim + v_head_dim),
        'shared_head': shared_head,
        'overlapped_compressor': 2 * 2 * shared_head,
        'plain_compressor': 2 * shared_head,
        'index_heads': index_heads,
        'index_query': index_heads * index_head_dim,
        'index_key': CASE WHEN attention = 'dsa' THEN index_head_dim END,
        'index_compressor': CASE WHEN attention = 'v4' THEN 2 * 2 * index_head_dim END,
        'index_layers': CASE attention WHEN 'dsa' THEN layers WHEN 'v4' THEN layers_of_ratio_4 END,
        'attended': num_heads
            * coalesce(plain_head, CASE WHEN latent_head IS NOT NULL THEN v_head_dim END),
        'attended_shared': num_heads * shared_head,
        'output_rank': o_lora_rank,
        'output_groups': o_groups * o_lora_rank,
        'streams': hc_mult * hidden_size,
        'stream_count': hc_mult,
        'stream_mixes': (2 + hc_mult) * hc_mult,
        'stream_sites': CASE WHEN hc_mult > 0 THEN 2 * layers END,
        'dense_width': intermediate_size,
        'gated_width': CASE WHEN gated_mlp THEN intermediate_size END,
        'experts': num_experts,
        'expert_width': moe_intermediate_size,
        'routed_experts': moe_layers * num_experts,
        'shared_each': num_shared_experts,
        'shared_width': shared_intermediate_size // shared_count,
        'shared_experts': moe_layers * shared_count,
        'gated_shared_layers': CASE WHEN shared_gate THEN moe_layers END
    } AS sizes
FROM kinds;

-- One row per model and kind of module: its weights.
--
-- key: model, module
--
-- model                VARCHAR  model
-- attention            VARCHAR  gqa, mla, dsa or v4
-- top_k                BIGINT   experts per token
-- sizes                MAP      sizes of the model by name
-- module               VARCHAR  path, an asterisk for the number of a layer or an expert
-- part                 VARCHAR  what it belongs to, as in module_shapes
-- kind                 VARCHAR  linear, embedding or norm
-- category             VARCHAR  what reports count it under
-- inputs               BIGINT   size of its input; 1 for a norm
-- outputs              BIGINT   size of its output
-- instances            BIGINT   modules of the kind
-- holders              BIGINT   those with weights of their own
-- instance_parameters  BIGINT   parameters of one of them
CREATE VIEW model_modules AS
WITH modules AS (
    SELECT
        model, attention, tied_embeddings, top_k, sizes, module, part, kind, category,
        CASE WHEN s.inputs IS NULL THEN 1 ELSE sizes[s.inputs] END AS inputs,
        sizes[s.outputs] AS outputs, sizes[s.instances] AS instances,
        coalesce(sizes[s.bias], 0) AS biases
    FROM _parameter_sizes
    CROSS JOIN module_shapes AS s
)
SELECT
    model, attention, top_k, sizes, module, part, kind, category, inputs, outputs, instances,
    CASE WHEN part = 'head' AND tied_embeddings THEN 0 ELSE instances END AS holders,
    outputs * (inputs + biases) AS instance_parameters
FROM modules
WHERE inputs > 0 AND outputs > 0 AND instances > 0;
