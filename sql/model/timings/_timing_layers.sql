-- One row per scenario with measured times: the kind of layer that they belong to.
-- request     VARCHAR  scenario
-- layer_kind  VARCHAR  kind of layer
-- layer_id    BIGINT   the layer itself, or the first that fits
-- layers      BIGINT   layers of that kind
-- told_by     VARCHAR  the only kind, layer_id, compress_ratio, or the commonest kind
CREATE VIEW _timing_layers AS
WITH kinds AS (
    SELECT
        model, layer_kind, count(*) AS layers, max(compress_ratio) AS compress_ratio,
        count(*) OVER (PARTITION BY model) AS kinds,
        max(max(compress_ratio)) OVER (PARTITION BY model) > 0 AS compresses
    FROM model_layers
    GROUP BY model, layer_kind
),
fitted AS (
    SELECT
        timings.request, places.layer_kind, places.layer_id, kinds.layers, kinds, compresses,
        -- If none is merged, some profilers write -1.
        coalesce(
            places.compress_ratio = CASE
                WHEN timings.compress_ratio < 0 THEN 0 ELSE timings.compress_ratio
            END,
            FALSE
        ) AS ratio_fits,
        coalesce(places.layer_id = timings.layer_id, FALSE) AS layer_fits
    FROM timing_metadata AS timings
    JOIN scenarios ON scenarios.scenario = timings.request
    JOIN model_layers AS places ON places.model = scenarios.model
    JOIN kinds ON kinds.model = places.model AND kinds.layer_kind = places.layer_kind
)
SELECT
    request, layer_kind, layer_id, layers,
    CASE
        WHEN kinds = 1 THEN 'the only kind'
        WHEN layer_fits THEN 'layer_id'
        WHEN ratio_fits AND compresses THEN 'compress_ratio'
        ELSE 'the commonest kind'
    END AS told_by
FROM fitted
QUALIFY row_number() OVER (
    PARTITION BY request ORDER BY ratio_fits DESC, layer_fits DESC, layers DESC, layer_id
) = 1;
