-- One row per model whose layers anchors show: the model that shows how its layers begin and end. A
-- pass of one layer, such as a draft's, has nothing but its surroundings on either side: its layer
-- is measured by those of another model of the device with the same anchors, such as the target.
-- trace_id       VARCHAR  trace
-- device         INTEGER  device
-- series         VARCHAR  the model, empty if the trace has only one
-- sample_series  VARCHAR  the model whose layers are compared, usually itself
CREATE VIEW _sample_series AS
SELECT
    p.trace_id, p.device, p.series,
    coalesce(arg_max(s.series, (s.anchor_count, s.series)), p.series) AS sample_series
FROM _anchor_plans AS p
LEFT JOIN _anchor_plans AS s
    ON s.trace_id = p.trace_id AND s.device = p.device AND s.role = p.role
    AND s.num_layers > 1 AND p.num_layers = 1
    AND list_has_any(s.anchor_names, p.anchor_names)
GROUP BY p.trace_id, p.device, p.series;
