-- One row per trace and number of layers that its passes run, if its model has a different number.
--
-- trace_id     VARCHAR  trace
-- layer_count  BIGINT   layers that the passes run
-- pp           INTEGER  pipeline stages of the trace; 1 if not set
-- num_layers   BIGINT   layers of the model
-- model        VARCHAR  model
-- passes       BIGINT   passes
CREATE VIEW _cut_passes AS
SELECT
    s.trace_id, p.layer_count, coalesce(t.pp, 1) AS pp, a.num_layers, a.model, count(*) AS passes
FROM _pass_scenarios AS s
JOIN passes AS p ON p.trace_id = s.trace_id AND p.device = s.device AND p.pass_id = s.pass_id
JOIN traces AS t ON t.trace_id = s.trace_id
JOIN of_passes.architectures AS a ON a.model = s.model
WHERE p.layer_count <> a.num_layers
GROUP BY ALL;
