-- One row per trace: the model it is set to, and whether that is known by its dimensions.
--
-- trace_id  VARCHAR  trace
-- model     VARCHAR  model as set; NULL if not set
-- known     VARCHAR  model by its dimensions; NULL if unknown
-- fault     VARCHAR  what is wrong with its dimensions
CREATE VIEW _model_states AS
SELECT t.trace_id, t.model, m.model AS known, a.fault
FROM traces AS t
LEFT JOIN _trace_models AS m USING (trace_id)
LEFT JOIN _trace_configs AS c ON c.given_name = t.model AND c.config = t.config
LEFT JOIN of_passes.architectures AS a ON a.model = coalesce(c.model, t.model);
