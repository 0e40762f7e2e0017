-- One row per model known by its config.json and property that the file gives: under the first of
-- its names that is there. A nested text_config counts for the language part.
--
-- model  VARCHAR  name
-- field  VARCHAR  property, as in config_names
-- name   VARCHAR  the file's name for it
-- value  JSON     the file's value
CREATE VIEW _config_fields AS
WITH language AS (
    SELECT
        model,
        json_merge_patch(
            coalesce(CAST(config AS JSON) -> 'text_config', CAST('{}' AS JSON)), config
        ) AS config
    FROM _known_configs
),
found AS (
    SELECT model, field, priority, name, json_extract(config, '$."' || name || '"') AS value
    FROM language
    CROSS JOIN config_names
)
SELECT
    model, field, arg_min(name, priority) AS name,
    CAST(arg_min(value, priority) AS JSON) AS value
FROM found
WHERE value IS NOT NULL AND json_type(value) <> 'NULL'
GROUP BY model, field;
