WITH typed AS (
    SELECT
        layer.layer_key, layer.trace_key, layer.pass_id, layer.layer_id, layer.layer_type, layer.wall_us,
        median(layer.wall_us) OVER (PARTITION BY layer.trace_key, layer.direction, layer.layer_type) AS median_us
    FROM {{ source('star', 'fact_layer') }} AS layer
    JOIN {{ source('star', 'fact_pass') }} AS pass USING (pass_key)
    WHERE pass.complete
)
SELECT layer_key, trace_key, pass_id, layer_id, layer_type, wall_us, wall_us / median_us AS times_the_median
FROM typed
WHERE wall_us > 1.05 * median_us
