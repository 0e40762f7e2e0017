-- One row per kind of layer of a model report's model: how many, and which.
--
-- layer_kind   VARCHAR  kind of layer
-- layers       BIGINT   layers
-- first_layer  BIGINT   its first layer
-- layer_ids    VARCHAR  which, in words
CREATE VIEW _report_layer_kinds AS
SELECT
    layer_kind, count(*) AS layers, min(layer_id) AS first_layer,
    concat(
        min(layer_id),
        CASE
            WHEN count(*) = 1 THEN NULL
            WHEN max(layer_id) - min(layer_id) + 1 = count(*) THEN '-' || max(layer_id)
            ELSE ', …, ' || max(layer_id)
        END
    ) AS layer_ids
FROM model_layers
JOIN _report_workload USING (model)
GROUP BY layer_kind;
