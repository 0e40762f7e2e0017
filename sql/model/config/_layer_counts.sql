-- One row per model and kind of layer: how many layers are of that kind.
-- model       VARCHAR  model
-- layer_kind  VARCHAR  kind of layer
-- layers      BIGINT   layers of that kind
CREATE VIEW _layer_counts AS
SELECT model, layer_kind, count(*) AS layers
FROM model_layers
GROUP BY model, layer_kind;
