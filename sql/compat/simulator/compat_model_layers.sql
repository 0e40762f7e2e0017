-- One row per layer of a model of the reference's simulator: its classification of the layer. A
-- model that the simulator rejects has none.
--
-- key: model, layer_id
--
-- model           VARCHAR  model, from compat_models
-- layer_id        BIGINT   layer, from 0
-- compress_ratio  BIGINT   keys merged into one, 0 where none is given
-- has_ratios      BOOLEAN  the model gives such ratios
-- layer_type      VARCHAR  its name for the ratio; NULL if the simulator has none
CREATE VIEW compat_model_layers AS
WITH numbered AS (
    SELECT
        model, layer_ratios, len(layer_ratios) > 0 AS has_ratios,
        unnest(generate_series(0, num_layers - 1)) AS layer_id
    FROM _compat_model_dims
    WHERE fault IS NULL
),
rated AS (
    SELECT model, layer_id, coalesce(layer_ratios[layer_id + 1], 0) AS compress_ratio, has_ratios
    FROM numbered
)
SELECT
    model, layer_id, compress_ratio, has_ratios,
    CASE compress_ratio
        WHEN 0 THEN 'FULL_ATTN'
        WHEN 4 THEN 'C4_LIGHT'
        WHEN 128 THEN 'C128_HEAVY'
    END AS layer_type
FROM rated;
