-- One row per model_type of config.json files whose modules have more parameters than those of the
-- Llama family: 1 if they have them, else 0 or NULL.
--
-- model_type         VARCHAR  the key
-- learned_positions  BIGINT   positions have an embedding of their own
-- norm_bias          BIGINT   norms of the layers have a bias: they are LayerNorms
-- output_bias        BIGINT   the attention's output projection has a bias
-- mlp_bias           BIGINT   the products of a dense MLP have biases
-- expert_bias        BIGINT   the router and the experts have biases
-- comment            VARCHAR  where it is from
CREATE TABLE model_type_traits (
    model_type VARCHAR PRIMARY KEY,
    learned_positions BIGINT,
    norm_bias BIGINT,
    output_bias BIGINT,
    mlp_bias BIGINT,
    expert_bias BIGINT,
    comment VARCHAR
);
