-- One row per model of this name for which traces have a config.json: by its key, else by the name
-- given.
-- `_trace_models_named(text)`
-- model    VARCHAR  model
-- by_name  BOOLEAN  it is one of those given this name, not the one of this key
CREATE MACRO _trace_models_named(given) AS TABLE
WITH found AS (
    SELECT model, FALSE AS by_name FROM _trace_configs WHERE model = given
    UNION ALL
    SELECT model, TRUE FROM _trace_configs WHERE folded_name(given_name) = folded_name(given)
)
SELECT model, by_name FROM found WHERE by_name = (SELECT bool_and(by_name) FROM found);
