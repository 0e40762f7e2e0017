-- One row per config.json that is known without a trace: of the table model_configs, or given to
-- the connection. In schema of_passes those of traces are in its place: _trace_configs has the same
-- columns.
--
-- model     VARCHAR  name, of this content alone
-- given_name VARCHAR  name that it was given
-- config    VARCHAR  the config.json, as text
-- of_trace  BOOLEAN  a trace has it, and no row of model_configs
CREATE VIEW _known_configs AS
SELECT model, model AS given_name, config, FALSE AS of_trace
FROM model_configs
WHERE json_valid(config)
UNION ALL
SELECT model, model, config, TRUE
FROM given_configs
ANTI JOIN model_configs USING (model)
WHERE json_valid(config);
