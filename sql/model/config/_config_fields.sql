-- One row per model known by its config.json and property that the file gives: under the first of
-- its names that is present; a text_config, of the language part, takes precedence over the rest.
--
-- model  VARCHAR  name
-- field  VARCHAR  property, as in config_names
-- name   VARCHAR  the file's name for it
-- value  JSON     the file's value
CREATE VIEW _config_fields AS
WITH levels AS (
    SELECT model, CAST(config AS JSON) -> 'text_config' AS config, 1 AS depth
    FROM _known_configs
    UNION ALL
    SELECT model, CAST(config AS JSON), 2
    FROM _known_configs
),
found AS (
    SELECT
        model, field, name, depth, priority,
        json_extract(config, '$."' || name || '"') AS value
    FROM levels
    CROSS JOIN config_names
)
SELECT
    model, field, arg_min(name, (depth, priority)) AS name,
    CAST(arg_min(value, (depth, priority)) AS JSON) AS value
FROM found
WHERE value IS NOT NULL AND json_type(value) <> 'NULL'
GROUP BY model, field;
