-- One row per model and kind of module that it has: its weights.
--
-- model                VARCHAR  model
-- attention            VARCHAR  gqa, mla, dsa or v4
-- top_k                BIGINT   experts per token
-- sizes                MAP      sizes of the model by name
-- module               VARCHAR  path, an asterisk for the number of a layer or an expert
-- part                 VARCHAR  what it belongs to, as in module_shapes
-- kind                 VARCHAR  linear, embedding or norm
-- category             VARCHAR  what the reference report counts it under
-- inputs               BIGINT   size of what goes in; 1 for a norm
-- outputs              BIGINT   size of what comes out
-- instances            BIGINT   modules of the kind
-- holders              BIGINT   those of them with weights of their own
-- instance_parameters  BIGINT   parameters of one of them
CREATE VIEW _model_modules AS
WITH modules AS (
    SELECT
        model, attention, tied_embeddings, top_k, sizes, module, part, kind, category,
        CASE WHEN s.inputs IS NULL THEN 1 ELSE sizes[s.inputs] END AS inputs,
        sizes[s.outputs] AS outputs, sizes[s.instances] AS instances,
        coalesce(sizes[s.bias], 0) AS biases
    FROM _parameter_sizes
    CROSS JOIN module_shapes AS s
)
SELECT
    model, attention, top_k, sizes, module, part, kind, category, inputs, outputs, instances,
    CASE WHEN part = 'head' AND tied_embeddings THEN 0 ELSE instances END AS holders,
    outputs * (inputs + biases) AS instance_parameters
FROM modules
WHERE inputs > 0 AND outputs > 0 AND instances > 0;
