-- One row per model: the dimensions its publisher gives. Tables of a lake add models of their own;
-- a config.json is read by the table config_names instead.
--
-- model                     VARCHAR    short name; the key
-- name                      VARCHAR    the publisher's name
-- aliases                   VARCHAR    other names of models with these dimensions, separated by
--                                      spaces
-- model_type                VARCHAR    model_type of its config.json
-- num_layers                BIGINT     decoder layers, without those of multi-token prediction
-- hidden_size               BIGINT     width of the residual stream
-- num_heads                 BIGINT     query heads
-- num_kv_heads              BIGINT     key and value heads
-- head_dim                  BIGINT     width of a head; NULL: hidden_size over num_heads
-- rotary_dim                BIGINT     rotated part of a head
-- qk_nope_head_dim          BIGINT     part of a latent attention's head that is not rotated
-- qk_rope_head_dim          BIGINT     part of it that is
-- v_head_dim                BIGINT     width of its values
-- q_lora_rank               BIGINT     width of the compressed query; NULL: not compressed
-- kv_lora_rank              BIGINT     width of the compressed keys and values
-- o_lora_rank               BIGINT     width of a group of the compressed output
-- o_groups                  BIGINT     groups of the output projection
-- intermediate_size         BIGINT     width of the MLP of dense layers
-- gated_mlp                 BOOLEAN    the MLP has a gate; true when NULL
-- num_experts               BIGINT     routed experts; NULL or 0 for a dense model
-- top_k                     BIGINT     experts per token
-- expert_groups             BIGINT     groups that the experts are divided into; NULL: none
-- top_groups                BIGINT     maximum number of these groups that a token's experts are in
-- moe_intermediate_size     BIGINT     width of an expert
-- num_shared_experts        BIGINT     experts that every token visits
-- shared_intermediate_size  BIGINT     their width together; NULL: number x width of an expert
-- shared_gate               BOOLEAN    their result is gated by a product with the token
-- first_dense_layers        BIGINT     leading layers without experts
-- moe_layer_step            BIGINT     after them every n-th layer has experts; 1 when NULL
-- moe_layer_offset          BIGINT     those are counted from it; NULL: from the leading ones
-- dense_layers              BIGINT[]   further layers without experts
-- index_heads               BIGINT     heads of the indexer of a sparse attention
-- index_head_dim            BIGINT     width of such a head
-- index_top_k               BIGINT     keys that it selects
-- sliding_window            BIGINT     keys that a windowed layer sees
-- full_every                BIGINT     every n-th layer sees all keys; NULL: none does
-- layer_types               VARCHAR[]  sliding_attention or full_attention, layer by layer
-- compress_ratios           BIGINT[]   tokens per compressed key, layer by layer; 0: window only
-- hash_layers               BIGINT     leading layers that choose experts by the token's id
-- hc_mult                   BIGINT     residual streams of hyper-connections; NULL: none
-- mtp_layers                BIGINT     layers of multi-token prediction
-- vocab_size                BIGINT     tokens of the vocabulary
-- tied_embeddings           BOOLEAN    the head is the embedding
-- qk_norm                   BOOLEAN    queries and keys are normalised
-- qkv_bias                  BOOLEAN    the attention's projections have biases
-- max_positions             BIGINT     longest context, tokens
-- weight_dtype              VARCHAR    type of the linear layers' weights as published, see dtypes
-- expert_dtype              VARCHAR    type of the routed experts' weights; NULL: the same
-- weight_scale_bytes        DOUBLE     bytes of scales per weight of expert_dtype, else
--                                      weight_dtype
-- linear_scale_bytes        DOUBLE     bytes of scales per weight of weight_dtype, where
--                                      expert_dtype is another type; NULL: none
-- published_active_b        DOUBLE     parameters active per token as published, billions
-- published_total_b         DOUBLE     all parameters as published, billions
-- source                    VARCHAR    where the dimensions are from
-- source_revision           VARCHAR    which version of it
CREATE TABLE models (
    model VARCHAR PRIMARY KEY,
    name VARCHAR,
    aliases VARCHAR,
    model_type VARCHAR,
    num_layers BIGINT NOT NULL,
    hidden_size BIGINT NOT NULL,
    num_heads BIGINT NOT NULL,
    num_kv_heads BIGINT,
    head_dim BIGINT,
    rotary_dim BIGINT,
    qk_nope_head_dim BIGINT,
    qk_rope_head_dim BIGINT,
    v_head_dim BIGINT,
    q_lora_rank BIGINT,
    kv_lora_rank BIGINT,
    o_lora_rank BIGINT,
    o_groups BIGINT,
    intermediate_size BIGINT,
    gated_mlp BOOLEAN,
    num_experts BIGINT,
    top_k BIGINT,
    expert_groups BIGINT,
    top_groups BIGINT,
    moe_intermediate_size BIGINT,
    num_shared_experts BIGINT,
    shared_intermediate_size BIGINT,
    shared_gate BOOLEAN,
    first_dense_layers BIGINT,
    moe_layer_step BIGINT,
    moe_layer_offset BIGINT,
    dense_layers BIGINT[],
    index_heads BIGINT,
    index_head_dim BIGINT,
    index_top_k BIGINT,
    sliding_window BIGINT,
    full_every BIGINT,
    layer_types VARCHAR[],
    compress_ratios BIGINT[],
    hash_layers BIGINT,
    hc_mult BIGINT,
    mtp_layers BIGINT,
    vocab_size BIGINT NOT NULL,
    tied_embeddings BOOLEAN,
    qk_norm BOOLEAN,
    qkv_bias BOOLEAN,
    max_positions BIGINT,
    weight_dtype VARCHAR,
    expert_dtype VARCHAR,
    weight_scale_bytes DOUBLE,
    linear_scale_bytes DOUBLE,
    published_active_b DOUBLE,
    published_total_b DOUBLE,
    source VARCHAR,
    source_revision VARCHAR
);
