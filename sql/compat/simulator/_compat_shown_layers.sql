-- One row per scenario of the reference's simulator: the layers that its tables of operators and of
-- kernels show.
-- request      VARCHAR  scenario
-- table_ratio  BIGINT   compress ratio of the layer whose operators are listed: the first of ratio
--                       128, else layer 0
-- flow_ratio   BIGINT   ratio of the layer that a flow of kernels is compared with: the one stated
--                       beside the kernels, 0 where none is, else that of layer 0
CREATE VIEW _compat_shown_layers AS
WITH found AS (
    SELECT
        request,
        max(layers.compress_ratio) FILTER (
            has_ratios AND layers.compress_ratio = 128
        ) AS heavy,
        max(layers.compress_ratio) FILTER (
            layers.compress_ratio = coalesce(timing_metadata.compress_ratio, 0)
        ) AS stated,
        max(layers.compress_ratio) FILTER (layers.layer_id = 0) AS of_first_layer
    FROM _compat_questions
    JOIN compat_model_layers AS layers USING (model)
    LEFT JOIN timing_metadata USING (request)
    GROUP BY request
)
SELECT
    request, coalesce(heavy, of_first_layer) AS table_ratio,
    coalesce(stated, of_first_layer) AS flow_ratio
FROM found;
