-- One row per config.json known without a trace: from the table model_configs, or given to the
-- connection. In schema of_passes, _trace_configs takes its place: it has those of traces, with the
-- same columns.
--
-- model     VARCHAR  name, unique to this content
-- given_name VARCHAR  name that it was given
-- config    VARCHAR  the config.json, as text
-- of_trace  BOOLEAN  a trace has it, and not a row of model_configs
CREATE VIEW _known_configs AS
SELECT model, model AS given_name, config, FALSE AS of_trace
FROM model_configs
WHERE json_valid(config)
UNION ALL
SELECT model, model, config, TRUE
FROM given_configs
ANTI JOIN model_configs USING (model)
WHERE json_valid(config);
