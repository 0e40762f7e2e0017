-- One row per run of equal layers of a model report's model, in order.
--
-- layer_kind   VARCHAR  kind of layer
-- first_layer  BIGINT   its first layer
-- layers       BIGINT   layers
CREATE VIEW _report_layer_runs AS
WITH runs AS (
    SELECT
        layer_id, layer_kind,
        layer_id - row_number() OVER (PARTITION BY layer_kind ORDER BY layer_id) AS run
    FROM model_layers
    JOIN _report_workload USING (model)
)
SELECT layer_kind, min(layer_id) AS first_layer, count(*) AS layers
FROM runs
GROUP BY layer_kind, run;
