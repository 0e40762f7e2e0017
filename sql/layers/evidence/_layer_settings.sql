-- One row per trace: its settings and its model's config.json about layers.
-- A field under text_config takes precedence over one at the top level.
-- trace_id          VARCHAR    trace
-- profile           VARCHAR    profile the user gave, else the first one the config points to
-- num_layers        INTEGER    layers given by the user, else num_hidden_layers, NULL if unknown
-- is_given          BOOLEAN    the user's number, different from the config's
-- anchor            VARCHAR    the user's anchor pattern, NULL if none
-- anchor_role       VARCHAR    the user's role for that anchor, NULL if none
-- blocks_per_layer  INTEGER    the user's anchors per layer, NULL if none
-- compress_ratios   INTEGER[]  ratio per layer, draft layers cut off, NULL if the length is wrong
-- layer_labels      VARCHAR[]  type per layer, NULL if the config gives none
-- num_hash_layers   INTEGER    leading layers with hash-routed experts
CREATE VIEW _layer_settings AS
WITH parsed AS (
    SELECT
        trace_id, profile, num_layers, nullif(anchor, '') AS anchor, anchor_role, blocks_per_layer,
        CASE WHEN json_valid(config) THEN CAST(config AS JSON) ELSE CAST('{}' AS JSON) END AS raw
    FROM traces
),
models AS (
    SELECT
        trace_id, profile, num_layers, anchor, anchor_role, blocks_per_layer,
        json_merge_patch(raw, coalesce(raw -> 'text_config', CAST('{}' AS JSON))) AS config
    FROM parsed
),
profile_hints AS (
    SELECT
        m.trace_id, p.profile, p.priority, json_extract(m.config, '$.' || p.config_field) AS hint,
        list_contains(string_split(p.model_types, ','), m.config ->> 'model_type') AS same_type
    FROM models AS m
    CROSS JOIN profiles AS p
    WHERE m.profile IS NULL AND m.anchor IS NULL
),
inferred AS (
    SELECT
        trace_id,
        arg_min(profile, (CASE WHEN same_type IS TRUE THEN 1 ELSE 0 END, priority)) AS profile
    FROM profile_hints
    WHERE json_array_length(hint) > 0 OR TRY_CAST(CAST(hint AS VARCHAR) AS DOUBLE) > 0 OR same_type
    GROUP BY trace_id
),
fields AS (
    SELECT
        trace_id, profile, num_layers, anchor, anchor_role, blocks_per_layer,
        TRY_CAST(config ->> 'num_hidden_layers' AS INTEGER) AS hidden_layers,
        coalesce(TRY_CAST(config ->> 'num_nextn_predict_layers' AS INTEGER), 0) AS draft_layers,
        coalesce(TRY_CAST(config ->> 'num_hash_layers' AS INTEGER), 0) AS num_hash_layers,
        TRY_CAST(config -> 'compress_ratios' AS INTEGER[]) AS ratios,
        TRY_CAST(config -> 'layer_types' AS VARCHAR[]) AS layer_types,
        nullif(TRY_CAST(config ->> 'sliding_window_pattern' AS INTEGER), 0) AS full_every,
        TRY_CAST(config ->> 'first_k_dense_replace' AS INTEGER) AS dense_layers,
        TRY_CAST(coalesce(config ->> 'moe_layer_freq', '1') AS INTEGER) AS moe_every,
        coalesce(
            TRY_CAST(config ->> 'n_routed_experts' AS INTEGER),
            TRY_CAST(config ->> 'num_experts' AS INTEGER),
            TRY_CAST(config ->> 'num_local_experts' AS INTEGER)
        ) AS experts
    FROM models
),
checked AS (
    SELECT
        trace_id, profile, anchor, anchor_role, blocks_per_layer, num_hash_layers, layer_types,
        full_every, CASE WHEN experts > 0 THEN dense_layers END AS dense_layers, moe_every,
        coalesce(num_layers, hidden_layers) AS num_layers,
        coalesce(num_layers <> hidden_layers, num_layers IS NOT NULL) AS is_given,
        CASE
            WHEN len(ratios) = 0 THEN NULL
            WHEN hidden_layers IS NULL OR len(ratios) = hidden_layers THEN ratios
            WHEN len(ratios) = hidden_layers + draft_layers THEN ratios[1:hidden_layers]
        END AS compress_ratios
    FROM fields
)
SELECT
    c.trace_id, coalesce(c.profile, i.profile) AS profile, c.num_layers,
    c.is_given, c.anchor, c.anchor_role, c.blocks_per_layer, c.compress_ratios,
    CASE
        WHEN c.compress_ratios IS NOT NULL
            THEN [CASE WHEN r = 0 THEN 'FULL_ATTN' ELSE 'C' || r END FOR r IN c.compress_ratios]
        WHEN len(c.layer_types) > 0
            THEN [upper(replace(t, 'attention', 'attn')) FOR t IN c.layer_types]
        WHEN c.full_every > 0 AND c.num_layers > 0
            THEN [
                CASE WHEN n % c.full_every = 0 THEN 'FULL_ATTN' ELSE 'SLIDING_ATTN' END
                FOR n IN range(1, c.num_layers + 1)
            ]
        WHEN c.dense_layers IS NOT NULL AND c.moe_every > 0 AND c.num_layers > 0
            THEN [
                CASE WHEN n >= c.dense_layers AND n % c.moe_every = 0 THEN 'MOE' ELSE 'DENSE' END
                FOR n IN range(c.num_layers)
            ]
    END AS layer_labels,
    c.num_hash_layers
FROM checked AS c
LEFT JOIN inferred AS i ON i.trace_id = c.trace_id;
