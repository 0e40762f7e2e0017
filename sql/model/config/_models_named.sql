-- One row per model that a text names: the model with this key, else the one known by this word.
-- `_models_named(text)`
-- model  VARCHAR  model
CREATE MACRO _models_named(given) AS TABLE
WITH found AS (
    SELECT 1 AS place, model FROM architectures WHERE model = given
    UNION ALL
    SELECT 2, model FROM model_words WHERE word = folded_name(given)
)
SELECT model FROM found WHERE place = (SELECT min(place) FROM found);
