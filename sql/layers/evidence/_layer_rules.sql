-- One row per trace with a config.json: what it gives about the kinds of its layers, see the macro
-- config_layers, with defaults by model_type.
--
-- stored: meanwhile
--
-- trace_id         VARCHAR    trace
-- num_layers       BIGINT     layers of the model
-- mtp_layers       BIGINT     layers of multi-token prediction
-- hash_layers      BIGINT     leading layers with hash-routed experts
-- compress_ratios  BIGINT[]   ratio per layer, NULL if the length is wrong
-- layer_types      VARCHAR[]  type per layer
-- attention_every  BIGINT     every n-th layer has full attention, the others linear attention
-- full_every       BIGINT     every n-th layer sees all keys, the others a window
-- experts          STRUCT     which layers have experts; NULL: none, or all without a word
CREATE VIEW _layer_rules AS
WITH found AS (
    SELECT trace_id, field, config_entry(TRY_CAST(config AS JSON), names) AS entry
    FROM traces
    CROSS JOIN config_properties
    WHERE config IS NOT NULL
),
given AS (
    SELECT trace_id, map(list(field), list(entry.value)) AS fields
    FROM found
    WHERE entry IS NOT NULL
    GROUP BY trace_id
),
typed AS (
    SELECT trace_id, unnest(config_layers(fields))
    FROM given
)
SELECT
    trace_id, num_layers, mtp_layers, hash_layers,
    CASE
        WHEN len(compress_ratios) = 0 THEN NULL
        WHEN num_layers IS NULL THEN compress_ratios
        WHEN config_ratios_fit(compress_ratios, num_layers, mtp_layers)
            THEN compress_ratios[1:num_layers]
    END AS compress_ratios,
    layer_types, attention_every,
    coalesce(
        t.full_every, CASE WHEN sliding_window IS NOT NULL THEN defaults.full_every END
    ) AS full_every,
    CASE
        WHEN num_experts > 0 AND coalesce(len(moe_layer_list) = num_layers, TRUE)
            AND (
                coalesce(first_dense_layers, moe_layer_step, len(moe_layer_list)) IS NOT NULL
                OR len(dense_layers) > 0
            )
            THEN {
                'num_experts': num_experts, 'first_dense_layers': first_dense_layers,
                'step': moe_layer_step, 'offset': moe_layer_offset, 'dense_layers': dense_layers
            }
    END AS experts
FROM typed AS t
LEFT JOIN model_types AS defaults ON defaults.model_type = t.model_type;
