-- One row per model as lists and reports show it: its dimensions, its active parameters and the
-- kinds of its layers.
-- model                     VARCHAR    short name; the key
-- name                      VARCHAR    the publisher's name
-- aliases                   VARCHAR    other names, by spaces
-- model_type                VARCHAR    model_type of its config.json, or of the language part
-- attention                 VARCHAR    gqa, mla, dsa or v4
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
-- moe_layer_offset          BIGINT     the layer that those are counted from
-- dense_layers              BIGINT[]   further layers without experts
-- index_heads               BIGINT     heads of the indexer of a sparse attention
-- index_head_dim            BIGINT     width of such a head
-- index_top_k               BIGINT     keys that it selects
-- sliding_window            BIGINT     keys that a windowed layer sees, of an encoder on both sides
-- full_every                BIGINT     every n-th layer sees all keys; NULL: none does
-- layer_types               VARCHAR[]  sliding_attention, or what sees all keys, layer by layer
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
-- has_head                  BOOLEAN    a product with the vocabulary ends it: it predicts tokens;
--                                      encoders and rerankers have none, by the config's
--                                      architectures
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
-- published_active_b        DOUBLE     parameters active per token as published, billions
-- published_total_b         DOUBLE     all parameters as published, billions
-- source                    VARCHAR    where the dimensions are from
-- source_revision           VARCHAR    which version of it
-- fault                     VARCHAR    why the dimensions cannot be right; NULL if they can
-- remark                    VARCHAR    what was repaired
-- active                    BIGINT     parameters of all products of one token, including the
--                                      output head: half of their FLOP, without those of query-key
--                                      pairs
-- active_embedded           BIGINT     active plus the embedding table, if that is not the head
-- difference_pct            DOUBLE     difference of the nearer of the two from the published
--                                      figure, %
-- agrees                    BOOLEAN    within 5 %; NULL: no published figure
-- layer_kinds               MAP        layers by kind
CREATE VIEW _model_pages AS
WITH kinds AS (
    SELECT
        model,
        map(list(layer_kind ORDER BY layer_kind), list(layers ORDER BY layer_kind)) AS layer_kinds
    FROM _layer_counts
    GROUP BY model
)
SELECT a.*, p.* EXCLUDE (model, published_active_b), k.layer_kinds
FROM architectures AS a
LEFT JOIN active_parameters AS p ON p.model = a.model
LEFT JOIN kinds AS k ON k.model = a.model;
