-- One row per model and decoder layer: what kind of layer it is.
--
-- stored: in memory
--
-- key: model, layer_id
--
-- model           VARCHAR  short name of the model
-- layer_id        BIGINT   layer, from 0
-- layer_kind      VARCHAR  both kinds below, joined: layers of one kind cost the same
-- attention_kind  VARCHAR  gqa, window, mla, dsa, v4_window, v4_top (compressed, with an indexer)
--                          or v4_dense (compressed, without)
-- mlp_kind        VARCHAR  dense or moe
-- compress_ratio  BIGINT   tokens per compressed key; 0: none
-- sliding_window  BIGINT   keys that the layer sees; NULL: all
CREATE VIEW model_layers AS
WITH layers AS (
    SELECT
        model, attention, unnest(range(num_layers)) AS layer_id, num_experts, first_dense_layers,
        moe_layer_step, moe_layer_offset, dense_layers, sliding_window, full_every, layer_types,
        compress_ratios
    FROM architectures
    WHERE fault IS NULL
),
given AS (
    SELECT
        model, layer_id, attention,
        coalesce(compress_ratios[layer_id + 1], 0) AS compress_ratio,
        CASE
            WHEN attention = 'v4' THEN sliding_window
            WHEN layer_types[layer_id + 1] IS NOT NULL
                THEN CASE WHEN layer_types[layer_id + 1] = 'sliding_attention' THEN sliding_window
                END
            WHEN (layer_id + 1) % full_every = 0 THEN NULL
            ELSE sliding_window
        END AS sliding_window,
        config_mlp_kind(
            layer_id, num_experts, first_dense_layers, moe_layer_step, moe_layer_offset,
            dense_layers
        ) AS mlp_kind
    FROM layers
),
named AS (
    SELECT
        model, layer_id, compress_ratio, sliding_window, mlp_kind,
        CASE
            -- Lightly compressed keys are many: an indexer selects among them.
            WHEN attention = 'v4' AND compress_ratio = 4 THEN 'v4_top'
            WHEN attention = 'v4' AND compress_ratio > 0 THEN 'v4_dense'
            WHEN attention = 'v4' THEN 'v4_window'
            WHEN attention = 'gqa' AND sliding_window IS NOT NULL THEN 'window'
            ELSE attention
        END AS attention_kind
    FROM given
)
SELECT
    model, layer_id, attention_kind || '+' || mlp_kind AS layer_kind, attention_kind, mlp_kind,
    compress_ratio, sliding_window
FROM named;
