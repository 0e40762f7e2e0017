-- One row per pass of a trace whose model is known, and layer that it may have: the model's layer
-- that runs there. Layers of a pipeline's stage are numbered from 0, but those of the stages before
-- it are in front of them in the model: as many in each, or one more or less, and the last stage
-- ends with the model's last layer. Of a stage whose place in the pipeline is unknown, the layers
-- are the model's last ones if one of them runs experts where the model's first ones have none;
-- else these.
--
-- trace_id    VARCHAR  trace
-- device      INTEGER  device
-- pass_id     BIGINT   pass
-- layer_id    BIGINT   layer of the pass, from 0
-- layer_kind  VARCHAR  kind of the model's layer
CREATE VIEW _pass_layers AS
WITH stages AS (
    SELECT
        p.trace_id, p.device, p.pass_id, m.model, a.num_layers - p.num_layers AS layers_elsewhere,
        CASE
            WHEN coalesce(layers_elsewhere, 0) <= 0 THEN 0
            WHEN t.pp_rank + 1 = t.pp THEN layers_elsewhere
            WHEN t.pp_rank IS NOT NULL THEN least(t.pp_rank * p.num_layers, layers_elsewhere)
        END AS first_layer
    FROM passes AS p
    JOIN traces AS t ON t.trace_id = p.trace_id
    JOIN _trace_models AS m ON m.trace_id = p.trace_id
    JOIN of_passes.architectures AS a ON a.model = m.model
),
later AS (
    SELECT DISTINCT s.trace_id, s.device, s.pass_id
    FROM stages AS s
    JOIN layer_categories AS k
        ON k.trace_id = s.trace_id AND k.device = s.device AND k.pass_id = s.pass_id
    JOIN of_passes.model_layers AS l ON l.model = s.model AND l.layer_id = k.layer_id
    WHERE
        s.first_layer IS NULL AND l.mlp_kind = 'dense'
        AND k.category IN ('moe', 'moe_gemm', 'moe_routing')
)
SELECT
    s.trace_id, s.device, s.pass_id,
    l.layer_id - coalesce(
        s.first_layer, CASE WHEN e.trace_id IS NULL THEN 0 ELSE s.layers_elsewhere END
    ) AS layer_id,
    l.layer_kind
FROM stages AS s
JOIN of_passes.model_layers AS l ON l.model = s.model
LEFT JOIN later AS e
    ON e.trace_id = s.trace_id AND e.device = s.device AND e.pass_id = s.pass_id;
