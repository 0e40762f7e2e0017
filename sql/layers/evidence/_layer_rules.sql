-- One row per trace with a config.json: most have none, and _layer_rules is not planned for them.
--
-- stored: meanwhile
CREATE VIEW _config_texts AS
SELECT trace_id, CAST(config AS JSON) AS config FROM traces WHERE json_valid(config);

-- One row per trace with a config.json: what it gives about the kinds of its layers, see the macro
-- config_layers, with defaults by model_type.
--
-- stored: meanwhile
--
-- trace_id         VARCHAR    trace
-- num_layers       BIGINT     layers of the model
-- hash_layers      BIGINT     leading layers with hash-routed experts
-- compress_ratios  BIGINT[]   ratio per layer, NULL if the length is wrong
-- layer_types      VARCHAR[]  type per layer
-- attention_every  BIGINT     every n-th layer has full attention, the others linear attention
-- full_every       BIGINT     every n-th layer sees all keys, the others a window; NULL too if the
--                             config gives its window as null, or does not use it
-- experts          STRUCT     which layers have experts; NULL: no layer, or no rule is given
CREATE VIEW _layer_rules AS
WITH found AS (
    SELECT
        trace_id, field, config_entry(config, names) AS entry,
        list_has_any(
            list_concat(json_keys(config), json_keys(config, '$.text_config')), names
        ) AS is_present
    FROM _config_texts
    CROSS JOIN config_properties
),
given AS (
    SELECT
        trace_id,
        map(
            list(field) FILTER (entry IS NOT NULL), list(entry.value) FILTER (entry IS NOT NULL)
        ) AS fields,
        bool_or(is_present AND field IN ('sliding_window', 'use_sliding_window')) AS has_window_key
    FROM found
    GROUP BY trace_id
    HAVING count(entry) > 0
),
typed AS (
    SELECT
        trace_id, has_window_key, unnest(config_layers(fields, use_sliding_window)),
        defaults.full_every AS default_full_every
    FROM given
    LEFT JOIN model_types AS defaults ON defaults.model_type = config_model_type(fields)
)
SELECT
    trace_id, num_layers, hash_layers,
    CASE
        WHEN len(compress_ratios) = 0 THEN NULL
        WHEN num_layers IS NULL THEN compress_ratios
        WHEN config_ratios_fit(compress_ratios, num_layers, mtp_layers)
            THEN compress_ratios[1:num_layers]
    END AS compress_ratios,
    coalesce(
        layer_types,
        CASE
            WHEN len(full_attention_layers) > 0
                THEN list_transform(
                    range(1, num_layers + 1),
                    lambda n: CASE
                        WHEN list_contains(full_attention_layers, n) THEN 'full_attention'
                        ELSE 'linear_attention'
                    END
                )
        END
    ) AS layer_types,
    attention_every,
    CASE
        WHEN sliding_window > 0 THEN coalesce(full_every, default_full_every)
        -- The pattern alone means windows of unknown width.
        WHEN NOT has_window_key THEN full_every
    END AS full_every,
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
FROM typed;
