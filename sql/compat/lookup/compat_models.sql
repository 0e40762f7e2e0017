-- One row per model of the reference's compute simulator, with the dimensions it assumes. They are
-- wrong: no row agrees with the published config.json. Kept so that its figures can be reproduced
-- and compared with those of the table models, which is the one to use.
--
-- A dimension left out is NULL; _compat_model_dims fills in the simulator's default.
--
-- model                      VARCHAR    its name there; the key
-- display_name               VARCHAR    display name
-- source                     VARCHAR    repository that it names as the source of the dimensions
-- aliases                    VARCHAR[]  names that it accepts for the model, in lower case
-- num_layers                 BIGINT     decoder layers
-- hidden_size                BIGINT     width of the residual stream
-- num_heads                  BIGINT     query heads
-- num_kv_heads               BIGINT     key and value heads
-- head_dim                   BIGINT     width of a head
-- intermediate_size          BIGINT     inner width of a dense MLP
-- vocab_size                 BIGINT     tokens of the vocabulary
-- attention                  VARCHAR    gqa, gqa_qk_norm, mla, dsa or csa_hca
-- moe                        BOOLEAN    its layers route tokens to experts
-- num_experts                BIGINT     routed experts
-- top_k                      BIGINT     experts per token
-- num_shared_experts         BIGINT     shared experts; the simulator only checks for any
-- shared_intermediate_size   BIGINT     inner width of all shared experts together
-- routed_intermediate_size   BIGINT     inner width of a routed expert
-- moe_intermediate_size      BIGINT     the same by another name, never read
-- first_dense_layers         BIGINT     leading layers without experts, never read
-- mla_kv_compress_ratio      DOUBLE     never read
-- mla_compress_dim           BIGINT     width of the compressed keys and values
-- csa_compress_ratios        DOUBLE[]   never read
-- hca_compress_ratios        DOUBLE[]   never read
-- mhc                        BOOLEAN    it has hyper connections
-- mhc_bottleneck_dim         BIGINT     width of a matrix that hyper connections do not have
-- qk_norm                    BOOLEAN    never read
-- q_lora_rank                BIGINT     width between the two query projections
-- o_lora_rank                BIGINT     width between the two output projections
-- o_groups                   BIGINT     groups of the first output projection
-- num_hash_layers            BIGINT     never read
-- num_nextn_predict_layers   BIGINT     layers for more tokens; further compress_ratios
-- index_heads                BIGINT     heads of the indexer
-- index_head_dim             BIGINT     width of one
-- index_top_k                BIGINT     never read
-- qk_rope_head_dim           BIGINT     part of a head that is rotated
-- sliding_window             BIGINT     keys of the window; shows in a shape only
-- compress_ratios            BIGINT[]   keys merged into one, per layer
CREATE TABLE compat_models (
    model VARCHAR PRIMARY KEY,
    display_name VARCHAR,
    source VARCHAR,
    aliases VARCHAR[],
    num_layers BIGINT NOT NULL,
    hidden_size BIGINT NOT NULL,
    num_heads BIGINT NOT NULL,
    num_kv_heads BIGINT,
    head_dim BIGINT,
    intermediate_size BIGINT,
    vocab_size BIGINT NOT NULL,
    attention VARCHAR,
    moe BOOLEAN,
    num_experts BIGINT,
    top_k BIGINT,
    num_shared_experts BIGINT,
    shared_intermediate_size BIGINT,
    routed_intermediate_size BIGINT,
    moe_intermediate_size BIGINT,
    first_dense_layers BIGINT,
    mla_kv_compress_ratio DOUBLE,
    mla_compress_dim BIGINT,
    csa_compress_ratios DOUBLE[],
    hca_compress_ratios DOUBLE[],
    mhc BOOLEAN,
    mhc_bottleneck_dim BIGINT,
    qk_norm BOOLEAN,
    q_lora_rank BIGINT,
    o_lora_rank BIGINT,
    o_groups BIGINT,
    num_hash_layers BIGINT,
    num_nextn_predict_layers BIGINT,
    index_heads BIGINT,
    index_head_dim BIGINT,
    index_top_k BIGINT,
    qk_rope_head_dim BIGINT,
    sliding_window BIGINT,
    compress_ratios BIGINT[]
);
