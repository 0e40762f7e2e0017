-- One row per model known: of the table models, or by a config.json, which goes first; with what it
-- leaves unsaid filled in.
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
-- expert_groups             BIGINT     groups that the experts are cut into; NULL: none
-- top_groups                BIGINT     of these, groups that a token's experts are in at most
-- moe_intermediate_size     BIGINT     width of an expert
-- num_shared_experts        BIGINT     experts that every token visits
-- shared_intermediate_size  BIGINT     their width together
-- shared_gate               BOOLEAN    their result is gated by a product with the token
-- first_dense_layers        BIGINT     leading layers without experts
-- moe_layer_step            BIGINT     after them every so manyth layer has experts
-- moe_layer_offset          BIGINT     the first of those
-- dense_layers              BIGINT[]   further layers without experts
-- index_heads               BIGINT     heads of the indexer of a sparse attention
-- index_head_dim            BIGINT     width of such a head
-- index_top_k               BIGINT     keys that it selects
-- sliding_window            BIGINT     keys that a windowed layer sees
-- full_every                BIGINT     every so manyth layer sees all keys; NULL: none does
-- layer_types               VARCHAR[]  sliding_attention or full_attention, layer by layer
-- compress_ratios           BIGINT[]   tokens per compressed key, one per layer; 0: window only
-- hash_layers               BIGINT     leading layers that choose experts by the token's id
-- hc_mult                   BIGINT     residual streams of hyper-connections
-- mtp_layers                BIGINT     layers of multi-token prediction
-- vocab_size                BIGINT     tokens of the vocabulary
-- tied_embeddings           BOOLEAN    the head is the embedding
-- qk_norm                   BOOLEAN    queries and keys are normalised
-- qkv_bias                  BOOLEAN    the attention's projections have biases
-- max_positions             BIGINT     longest context, tokens
-- weight_dtype              VARCHAR    type of the linear layers' weights as published
-- expert_dtype              VARCHAR    type of the routed experts' weights
-- weight_scale_bytes        DOUBLE     scales to a weight of expert_dtype, else weight_dtype, bytes
-- name                      VARCHAR    the publisher's name
-- aliases                   VARCHAR    other names, by spaces
-- published_active_b        DOUBLE     parameters active per token as published, billions
-- published_total_b         DOUBLE     all parameters as published, billions
-- source                    VARCHAR    where the dimensions are from
-- source_revision           VARCHAR    which version of it
-- surplus_ratios            BIGINT     entries of compress_ratios beyond the layers
-- surplus_fits              BOOLEAN    they can belong to multi-token prediction
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
            -- The head_dim that a latent attention publishes is a part of its heads.
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
            coalesce(weight_dtype, 'bf16') AS weight_dtype
        ),
        len(compress_ratios) - num_layers AS surplus_ratios
    FROM known
)
SELECT
    * REPLACE (
        -- What follows the layers belongs to multi-token prediction.
        CASE
            WHEN len(compress_ratios) > 0 THEN compress_ratios[1:num_layers]
        END AS compress_ratios,
        coalesce(
            shared_intermediate_size, num_shared_experts * moe_intermediate_size, 0
        ) AS shared_intermediate_size,
        coalesce(moe_layer_offset, first_dense_layers) AS moe_layer_offset,
        coalesce(rotary_dim, qk_rope_head_dim, head_dim) AS rotary_dim
    ),
    surplus_ratios = mtp_layers
    OR coalesce(list_max(compress_ratios[num_layers + 1:]), 0) = 0 AS surplus_fits
FROM completed;
