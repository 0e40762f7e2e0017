-- One row per config.json that is known: told on this connection, or kept with a trace.
--
-- Contents that differ under one name, as two sizes of a model do, are two models. The one told
-- here has the name; others of it have a part of their digest besides, as has a trace's of a name
-- in the table models.
--
-- model   VARCHAR  name, of this content alone
-- said    VARCHAR  name that it was given
-- config  VARCHAR  the config.json, as text
CREATE VIEW _known_configs AS
WITH said AS (
    SELECT model, config, TRUE AS is_told FROM model_configs
    UNION ALL
    SELECT model, config, FALSE FROM traces WHERE config IS NOT NULL AND model IS NOT NULL
),
contents AS (
    SELECT model, config, bool_or(is_told) AS is_told
    FROM said
    WHERE json_valid(config)
    GROUP BY model, config
)
SELECT
    CASE
        WHEN c.is_told THEN c.model
        WHEN count(*) OVER (PARTITION BY c.model) = 1 AND m.model IS NULL THEN c.model
        ELSE concat(c.model, '-', left(sha256(c.config), 6))
    END AS model,
    c.model AS said, c.config
FROM contents AS c
LEFT JOIN models AS m ON m.model = c.model;
