-- One row per trace, pass and type of layer by a config: how many layers of the pass are of it.
-- trace_id    VARCHAR  trace
-- pass_id     BIGINT   pass
-- layer_type  VARCHAR  type by the model's config
-- layers      BIGINT   layers of the type, on the device that has most
CREATE VIEW _type_counts AS
WITH counts AS (
    SELECT
        trace_id, device, pass_id, layer_type, CAST(sum(layers) AS BIGINT) AS layers
    FROM layer_types
    WHERE layer_type IS NOT NULL
    GROUP BY trace_id, device, pass_id, layer_type
)
SELECT trace_id, pass_id, layer_type, max(layers) AS layers
FROM counts
GROUP BY trace_id, pass_id, layer_type;
