-- One row per known model_type of config.json files, with the values of properties that such files
-- omit. A model of another type is assumed to omit none, with a remark.
--
-- model_type                VARCHAR  the key
-- gated_mlp                 BOOLEAN  the MLP has a gate; NULL: it has
-- qk_norm                   BOOLEAN  queries and keys are normalised; NULL: they are not
-- qkv_bias                  BOOLEAN  the attention's projections have biases; NULL: they do not
-- attention_gate            BOOLEAN  a product with the token gates its result; NULL: there is none
-- tied_embeddings           BOOLEAN  the head is the embedding; NULL: it is not
-- moe_in_intermediate_size  BOOLEAN  intermediate_size is that of an expert
-- gate_in_intermediate_size BOOLEAN  intermediate_size is twice the width: it counts the gate too
-- use_sliding_window        BOOLEAN  layers use a window that the file gives; NULL: they do
-- full_every                BIGINT   every n-th layer of a windowed model sees all keys
-- multi_query               BOOLEAN  all query heads share one key-value head; NULL: they do not
-- is_encoder                BOOLEAN  tokens see those after them too; NULL: they do not
-- other_layers              VARCHAR  kind of layers without operators here, unless a list of its
--                                    layers or a key of config_fields overrides it
-- comment                   VARCHAR  remark
CREATE TABLE model_types (
    model_type VARCHAR PRIMARY KEY,
    gated_mlp BOOLEAN,
    qk_norm BOOLEAN,
    qkv_bias BOOLEAN,
    attention_gate BOOLEAN,
    tied_embeddings BOOLEAN,
    moe_in_intermediate_size BOOLEAN,
    gate_in_intermediate_size BOOLEAN,
    use_sliding_window BOOLEAN,
    full_every BIGINT,
    multi_query BOOLEAN,
    is_encoder BOOLEAN,
    other_layers VARCHAR,
    comment VARCHAR
);
