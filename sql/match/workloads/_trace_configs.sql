-- One row per known config.json: stored with a trace, or in the table model_configs.
--
-- Two of one name may differ, as two sizes of a model do, and a trace's may differ from the one
-- published under its name. So that no trace affects another, the model of a trace's config has
-- part of the content's digest in its name; one from the table model_configs keeps its name.
--
-- instead of: of_passes._known_configs
--
-- model     VARCHAR  name that no other config has
-- given_name VARCHAR  name as given
-- config    VARCHAR  the config.json, as text
-- of_trace  BOOLEAN  only traces have it
CREATE VIEW _trace_configs AS
WITH given AS (
    SELECT model, config, TRUE AS is_row FROM model_configs
    UNION ALL
    SELECT model, config, FALSE FROM traces WHERE config IS NOT NULL AND model IS NOT NULL
)
SELECT
    CASE
        WHEN bool_or(g.is_row) THEN g.model
        ELSE concat(g.model, '-', left(sha256(g.config), 6))
    END AS model,
    g.model AS given_name, g.config, NOT bool_or(g.is_row) AS of_trace
FROM given AS g
WHERE json_valid(g.config)
GROUP BY g.model, g.config;
