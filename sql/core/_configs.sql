-- One row per trace with a model's config.json: what the config says that every subject needs.
--
-- Multimodal models keep these fields one level down, under text_config.
--
-- trace_id    VARCHAR  trace
-- num_layers  INTEGER  num_hidden_layers
-- profile     VARCHAR  profile of lowest priority whose config field is there and neither empty nor
--                      zero, or whose
--                      model types name the config's
CREATE VIEW _configs AS
WITH configs AS (
    SELECT trace_id, config, json_extract(config, '$.text_config') AS text_config
    FROM _said
    WHERE json_valid(config)
),
called_for AS (
    SELECT
        trace_id,
        profile,
        priority,
        coalesce(
            json_extract(config, '$.' || config_field),
            json_extract(text_config, '$.' || config_field)
        ) AS field,
        coalesce(config ->> '$.model_type', text_config ->> '$.model_type') AS model_type,
        model_types
    FROM configs CROSS JOIN profiles
),
chosen AS (
    SELECT trace_id, arg_min(profile, priority) AS profile
    FROM called_for
    WHERE
        (field IS NOT NULL AND CAST(field AS VARCHAR) NOT IN ('null', '0', '[]', 'false', '""'))
        OR list_contains(string_split(model_types, ','), model_type)
    GROUP BY trace_id
)
SELECT
    trace_id,
    TRY_CAST(
        coalesce(config ->> '$.num_hidden_layers', text_config ->> '$.num_hidden_layers') AS INTEGER
    ) AS num_layers,
    chosen.profile
FROM configs
LEFT JOIN chosen USING (trace_id);
