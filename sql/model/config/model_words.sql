-- One row per word that names a model of the tables models and model_configs, normalised by
-- folded_name: its key, its name, and its aliases.
--
-- key: model, word
--
-- model  VARCHAR  model, as architectures calls it
-- word   VARCHAR  the word, folded
CREATE VIEW model_words AS
WITH spelled AS (
    SELECT
        model,
        unnest(list_concat([model, name], string_split(coalesce(aliases, ''), ' '))) AS word
    FROM architectures
    SEMI JOIN (
        SELECT model FROM models
        UNION ALL
        SELECT model FROM _known_configs WHERE NOT of_trace
    ) AS given ON given.model = architectures.model
)
SELECT DISTINCT model, folded_name(word) AS word
FROM spelled
WHERE word <> '';
