-- One row per trace and layer of its model whose queries see only some of the keys: the latest ones
-- of a window, or those that an indexer chooses.
--
-- trace_id   VARCHAR  trace
-- layer_id   BIGINT   layer, from 0
-- seen_keys  BIGINT   keys that a query sees at most
CREATE VIEW _layer_windows AS
SELECT
    m.trace_id, l.layer_id,
    CASE WHEN l.attention_kind = 'dsa' THEN a.index_top_k ELSE l.sliding_window END AS seen_keys
FROM _trace_models AS m
JOIN of_passes.architectures AS a ON a.model = m.model
JOIN of_passes.model_layers AS l ON l.model = m.model
WHERE seen_keys IS NOT NULL;
