-- One row per model known by its config.json, with the columns of the table models as its config
-- gives them. Defaults are those of the architectures themselves.
CREATE VIEW _config_models AS
WITH given AS (
    SELECT model, map(list(field), list(value)) AS fields
    FROM _config_fields
    GROUP BY model
),
typed AS (
    SELECT
        model, unnest(config_layers(fields, use_sliding_window)),
        TRY_CAST(fields['hidden_size'] AS BIGINT) AS hidden_size,
        TRY_CAST(fields['num_heads'] AS BIGINT) AS num_heads,
        TRY_CAST(fields['num_kv_heads'] AS BIGINT) AS num_kv_heads,
        TRY_CAST(fields['query_groups'] AS BIGINT) AS query_groups,
        TRY_CAST(fields['multi_query'] AS BOOLEAN) AS multi_query,
        TRY_CAST(fields['group_query'] AS BOOLEAN) AS group_query,
        TRY_CAST(fields['new_decoder'] AS BOOLEAN) AS new_decoder,
        TRY_CAST(fields['head_dim'] AS BIGINT) AS head_dim,
        TRY_CAST(fields['rotary_dim'] AS BIGINT) AS rotary_dim,
        TRY_CAST(fields['rotary_part'] AS DOUBLE) AS rotary_part,
        TRY_CAST(fields['qk_nope_head_dim'] AS BIGINT) AS qk_nope_head_dim,
        TRY_CAST(fields['qk_rope_head_dim'] AS BIGINT) AS qk_rope_head_dim,
        TRY_CAST(fields['v_head_dim'] AS BIGINT) AS v_head_dim,
        TRY_CAST(fields['q_lora_rank'] AS BIGINT) AS q_lora_rank,
        TRY_CAST(fields['kv_lora_rank'] AS BIGINT) AS kv_lora_rank,
        TRY_CAST(fields['o_lora_rank'] AS BIGINT) AS o_lora_rank,
        TRY_CAST(fields['o_groups'] AS BIGINT) AS o_groups,
        TRY_CAST(fields['intermediate_size'] AS BIGINT) AS intermediate_size,
        TRY_CAST(fields['gated_mlp'] AS BOOLEAN) AS gated_mlp,
        TRY_CAST(fields['top_k'] AS BIGINT) AS top_k,
        TRY_CAST(fields['expert_groups'] AS BIGINT) AS expert_groups,
        TRY_CAST(fields['top_groups'] AS BIGINT) AS top_groups,
        TRY_CAST(fields['moe_intermediate_size'] AS BIGINT) AS moe_intermediate_size,
        TRY_CAST(fields['num_shared_experts'] AS BIGINT) AS num_shared_experts,
        TRY_CAST(fields['shared_intermediate_size'] AS BIGINT) AS shared_intermediate_size,
        TRY_CAST(fields['mlp_beside_experts'] AS BOOLEAN) AS mlp_beside_experts,
        TRY_CAST(fields['index_heads'] AS BIGINT) AS index_heads,
        TRY_CAST(fields['index_head_dim'] AS BIGINT) AS index_head_dim,
        TRY_CAST(fields['index_top_k'] AS BIGINT) AS index_top_k,
        TRY_CAST(fields['decoder'] AS BOOLEAN) AS is_decoder,
        TRY_CAST(fields['hc_mult'] AS BIGINT) AS hc_mult,
        TRY_CAST(fields['vocab_size'] AS BIGINT) AS vocab_size,
        TRY_CAST(fields['tied_embeddings'] AS BOOLEAN) AS tied_embeddings,
        TRY_CAST(fields['qk_norm'] AS BOOLEAN) AS qk_norm,
        TRY_CAST(fields['qkv_bias'] AS BOOLEAN) AS qkv_bias,
        TRY_CAST(fields['attention_gate'] AS BOOLEAN) AS attention_gate,
        TRY_CAST(fields['max_positions'] AS BIGINT) AS max_positions,
        fields['architectures'] ->> 0 AS architecture,
        lower(fields['dtype'] ->> '$') AS dtype,
        lower(fields['expert_dtype'] ->> '$') AS expert_dtype,
        -- Weights that share a scale.
        coalesce(
            nullif(
                list_product(
                    TRY_CAST(fields['quantization'] -> 'weight_block_size' AS BIGINT[])
                ), 0
            ),
            greatest(
                TRY_CAST(
                    coalesce(
                        fields['quantization'] ->> 'group_size',
                        fields['quantization'] ->> '$.config_groups.group_0.weights.group_size'
                    ) AS BIGINT
                ), 0
            )
        ) AS block_weights
    FROM given
    LEFT JOIN model_types AS defaults ON defaults.model_type = config_model_type(fields)
)
SELECT
    t.model, t.model_type, num_layers, hidden_size, num_heads,
    CASE
        -- Falcon: num_kv_heads is present, but counts only in a new decoder.
        WHEN coalesce(t.multi_query, types.multi_query) AND new_decoder IS NOT TRUE THEN 1
        -- ChatGLM: groups of queries are present, but count only if they are enabled.
        WHEN group_query THEN coalesce(query_groups, num_kv_heads, 1)
        ELSE num_kv_heads
    END AS num_kv_heads,
    head_dim,
    coalesce(
        rotary_dim,
        CAST(rotary_part * coalesce(head_dim, hidden_size // nullif(num_heads, 0)) AS BIGINT)
    ) AS rotary_dim,
    qk_nope_head_dim, qk_rope_head_dim, v_head_dim, q_lora_rank, kv_lora_rank, o_lora_rank,
    o_groups,
    -- A plain MLP of unknown width has four times the hidden width, as in GPT-2.
    coalesce(
        CASE
            WHEN types.gate_in_intermediate_size THEN intermediate_size // 2 ELSE intermediate_size
        END,
        CASE WHEN coalesce(t.gated_mlp, types.gated_mlp) IS FALSE THEN 4 * hidden_size END
    ) AS intermediate_size,
    coalesce(t.gated_mlp, types.gated_mlp) AS gated_mlp,
    num_experts, top_k, expert_groups, top_groups,
    coalesce(
        moe_intermediate_size, CASE WHEN types.moe_in_intermediate_size THEN intermediate_size END
    ) AS moe_intermediate_size,
    num_shared_experts,
    -- Grok-2: every token also visits an MLP of the dense width.
    CASE WHEN mlp_beside_experts THEN intermediate_size ELSE shared_intermediate_size END
        AS shared_intermediate_size,
    t.shared_intermediate_size > 0 AND t.model_type = 'qwen2_moe' AS shared_gate,
    first_dense_layers, moe_layer_step, moe_layer_list, moe_layer_offset, dense_layers,
    index_heads, index_head_dim, index_top_k, sliding_window,
    coalesce(t.full_every, types.full_every) AS full_every,
    layer_types, compress_ratios, hash_layers, hc_mult, mtp_layers, vocab_size,
    coalesce(t.tied_embeddings, types.tied_embeddings) AS tied_embeddings,
    coalesce(t.qk_norm, types.qk_norm) AS qk_norm,
    coalesce(t.qkv_bias, types.qkv_bias) AS qkv_bias,
    coalesce(t.attention_gate, types.attention_gate) AS attention_gate,
    types.is_encoder AND is_decoder IS NOT TRUE AS is_encoder,
    -- Encoders have a head if they predict masked tokens, decoders unless they classify.
    CASE
        WHEN types.is_encoder AND is_decoder IS NOT TRUE
            THEN coalesce(
                regexp_matches(architecture, 'For(MaskedLM|CausalLM)|LMHead|[Bb]ertForPreTraining'),
                FALSE
            )
        ELSE NOT regexp_matches(
            architecture, '(Classification|Reward|RewardModel|QuestionAnswering|MultipleChoice)$'
        )
    END AS has_head,
    max_positions,
    coalesce(q.weight_dtype, plain.dtype) AS weight_dtype,
    coalesce(experts.dtype, q.expert_dtype) AS expert_dtype,
    coalesce(plain.dtype, 'bf16') AS unquantized_dtype,
    way.gemm_dtype, way.kv_cache_dtype,
    CASE
        WHEN experts.dtype IS NULL
            THEN q.scale_bytes / coalesce(nullif(block_weights, 0), q.scale_weights)
        ELSE blocks.scale_bytes / blocks.scale_weights
    END AS weight_scale_bytes,
    CASE
        WHEN experts.dtype IS NOT NULL
            THEN q.scale_bytes / coalesce(nullif(block_weights, 0), q.scale_weights)
    END AS linear_scale_bytes
FROM typed AS t
LEFT JOIN model_types AS types ON types.model_type = t.model_type
LEFT JOIN _config_quantizations AS way ON way.model = t.model
LEFT JOIN quantizations AS q ON q.method = way.quantized
LEFT JOIN _dtype_words AS plain ON plain.word = t.dtype
-- DeepSeek-V4: beside linear layers in FP8, experts may have a narrower type, in MX blocks. Copies
-- of it that are quantised in another way keep the entry.
LEFT JOIN _dtype_words AS experts
    ON experts.word = t.expert_dtype AND way.quantized = 'fp8' AND experts.dtype <> q.weight_dtype
LEFT JOIN quantizations AS blocks ON blocks.method = 'mx' || experts.dtype;

-- One row per known model: from a config.json, which takes precedence, or from the table models;
-- values that it does not give are filled in.
--
-- model                     VARCHAR    short name; the key
-- model_type                VARCHAR    model_type of its config.json, or of the language part
-- num_layers                BIGINT     decoder layers, without those of multi-token prediction
-- hidden_size               BIGINT     width of the residual stream
-- num_heads                 BIGINT     query heads
-- num_kv_heads              BIGINT     key and value heads
-- head_dim                  BIGINT     width of a head; not of a latent attention
-- rotary_dim                BIGINT     rotated part of a head
-- qk_nope_head_dim          BIGINT     part of a latent attention's head that is not rotated
-- qk_rope_head_dim          BIGINT     part of it that is
-- v_head_dim                BIGINT     width of its values
-- q_lora_rank               BIGINT     width of the compressed query; NULL: not compressed
-- kv_lora_rank              BIGINT     width of the compressed keys and values
-- o_lora_rank               BIGINT     width of a group of the compressed output
-- o_groups                  BIGINT     groups of the output projection
-- intermediate_size         BIGINT     width of the MLP of dense layers
-- gated_mlp                 BOOLEAN    the MLP has a gate
-- num_experts               BIGINT     routed experts; 0 for a dense model
-- top_k                     BIGINT     experts per token
-- expert_groups             BIGINT     groups that the experts are divided into; NULL: none
-- top_groups                BIGINT     maximum number of these groups that a token's experts are in
-- moe_intermediate_size     BIGINT     width of an expert
-- num_shared_experts        BIGINT     experts that every token visits
-- shared_intermediate_size  BIGINT     their width together
-- shared_gate               BOOLEAN    their result is gated by a product with the token
-- first_dense_layers        BIGINT     leading layers without experts
-- moe_layer_step            BIGINT     after them every n-th layer has experts
-- moe_layer_list            BIGINT[]   layer by layer, 0: without experts; NULL: no such list
-- moe_layer_offset          BIGINT     the layer that those are counted from
-- dense_layers              BIGINT[]   further layers without experts
-- index_heads               BIGINT     heads of the indexer of a sparse attention
-- index_head_dim            BIGINT     width of such a head
-- index_top_k               BIGINT     keys that it selects
-- sliding_window            BIGINT     keys that a windowed layer sees, of an encoder on both sides
-- full_every                BIGINT     every n-th layer sees all keys; NULL: none does
-- layer_types               VARCHAR[]  sliding_attention or full_attention, layer by layer
-- compress_ratios           BIGINT[]   tokens per compressed key, one per layer; 0: window only
-- hash_layers               BIGINT     leading layers that choose experts by the token's id
-- hc_mult                   BIGINT     residual streams of hyper-connections
-- mtp_layers                BIGINT     layers of multi-token prediction
-- vocab_size                BIGINT     tokens of the vocabulary
-- tied_embeddings           BOOLEAN    the head is the embedding
-- qk_norm                   BOOLEAN    queries and keys are normalised
-- qkv_bias                  BOOLEAN    the attention's projections have biases
-- attention_gate            BOOLEAN    its result is gated by a product with the token
-- is_encoder                BOOLEAN    tokens see those after them too
-- has_head                  BOOLEAN    a product with the vocabulary ends it: it predicts tokens
-- max_positions             BIGINT     longest context, tokens
-- weight_dtype              VARCHAR    type of the linear layers' weights as published
-- expert_dtype              VARCHAR    type of the routed experts' weights
-- unquantized_dtype         VARCHAR    type of those weights of both kinds that are not quantised
-- gemm_dtype                VARCHAR    type of products if activations are quantised too; NULL: by
--                                      weights and activations
-- kv_cache_dtype            VARCHAR    type of the KV cache; NULL: that of activations
-- weight_scale_bytes        DOUBLE     scales per weight of expert_dtype, else of weight_dtype,
--                                      bytes
-- linear_scale_bytes        DOUBLE     scales per weight of weight_dtype, where expert_dtype is
--                                      another type, bytes; NULL: none
-- name                      VARCHAR    the publisher's name
-- aliases                   VARCHAR    other names, by spaces
-- published_active_b        DOUBLE     parameters active per token as published, billions
-- published_total_b         DOUBLE     all parameters as published, billions
-- source                    VARCHAR    where the dimensions are from
-- source_revision           VARCHAR    which version of it
-- surplus_ratios            BIGINT     entries of compress_ratios beyond the layers
-- ratios_fit                BOOLEAN    compress_ratios has an entry for each layer
CREATE VIEW _known_models AS
WITH configured AS (
    SELECT c.*, m.name, m.aliases, m.published_active_b, m.published_total_b
    FROM _config_models AS c
    LEFT JOIN models AS m ON m.model = c.model
),
known AS (
    SELECT *, 'config.json' AS source, CAST(NULL AS VARCHAR) AS source_revision FROM configured
    UNION ALL BY NAME
    SELECT * FROM models ANTI JOIN configured ON configured.model = models.model
),
completed AS (
    SELECT
        * REPLACE (
            coalesce(name, model) AS name,
            coalesce(num_kv_heads, num_heads) AS num_kv_heads,
            -- The head_dim that is published for a latent attention is only a part of its heads.
            CASE
                WHEN kv_lora_rank > 0 THEN NULL
                ELSE coalesce(head_dim, hidden_size // nullif(num_heads, 0))
            END AS head_dim,
            coalesce(gated_mlp, TRUE) AS gated_mlp,
            coalesce(num_experts, 0) AS num_experts,
            coalesce(num_shared_experts, 0) AS num_shared_experts,
            coalesce(shared_gate, FALSE) AS shared_gate,
            coalesce(first_dense_layers, 0) AS first_dense_layers,
            greatest(coalesce(moe_layer_step, 1), 1) AS moe_layer_step,
            coalesce(dense_layers, []) AS dense_layers,
            coalesce(hash_layers, 0) AS hash_layers,
            coalesce(mtp_layers, 0) AS mtp_layers,
            coalesce(tied_embeddings, FALSE) AS tied_embeddings,
            coalesce(qk_norm, FALSE) AS qk_norm,
            coalesce(qkv_bias, FALSE) AS qkv_bias,
            coalesce(attention_gate, FALSE) AS attention_gate,
            coalesce(is_encoder, FALSE) AS is_encoder,
            coalesce(has_head, TRUE) AS has_head,
            coalesce(weight_dtype, 'bf16') AS weight_dtype
        ),
        len(compress_ratios) - num_layers AS surplus_ratios,
        config_ratios_fit(compress_ratios, num_layers, mtp_layers) AS ratios_fit
    FROM known
)
SELECT
    * REPLACE (
        -- Entries after the layers belong to multi-token prediction.
        CASE
            WHEN len(compress_ratios) > 0 THEN compress_ratios[1:num_layers]
        END AS compress_ratios,
        coalesce(
            shared_intermediate_size, num_shared_experts * moe_intermediate_size, 0
        ) AS shared_intermediate_size,
        coalesce(moe_layer_offset, first_dense_layers) AS moe_layer_offset,
        coalesce(rotary_dim, qk_rope_head_dim, head_dim) AS rotary_dim
    )
FROM completed;
