-- One row per model known by its config.json and property that the file gives: under the first of
-- its names that is present; a text_config, of the language part, takes precedence over the rest.
--
-- model  VARCHAR  name
-- field  VARCHAR  property, as in config_names
-- name   VARCHAR  the file's name for it
-- value  JSON     the file's value
CREATE VIEW _config_fields AS
WITH found AS (
    SELECT model, field, config_entry(CAST(config AS JSON), names) AS entry
    FROM _known_configs
    CROSS JOIN config_properties
)
SELECT model, field, entry.name, entry.value
FROM found
WHERE entry IS NOT NULL;
