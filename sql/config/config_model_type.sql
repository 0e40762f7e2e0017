-- The model_type of a config.json, or of its language part, from a map of its properties.
CREATE MACRO config_model_type(fields) AS
coalesce(fields['language'] ->> 'model_type', fields['model_type'] ->> '$');
