-- One row per trace: its settings and its model's config.json about layers.
-- trace_id          VARCHAR    trace
-- profile           VARCHAR    profile the user gave, else the first one the config points to
-- is_inferred       BOOLEAN    the profile is from the config
-- num_layers        INTEGER    layers given by the user, else num_hidden_layers, NULL if unknown
-- is_given          BOOLEAN    the user's number, different from the config's
-- anchor            VARCHAR    the user's anchor pattern, NULL if none
-- anchor_role       VARCHAR    the user's role for that anchor, NULL if none
-- blocks_per_layer  INTEGER    the user's anchors per layer, NULL if none
-- compress_ratios   INTEGER[]  ratio per layer, draft layers cut off, NULL if the length is wrong
-- layer_labels      VARCHAR[]  type per layer, NULL if the config gives none
-- is_mlp_only       BOOLEAN    the types tell only which layers have experts
-- num_hash_layers   INTEGER    leading layers with hash-routed experts
CREATE VIEW _layer_settings AS
WITH settings AS (
    SELECT
        m.trace_id, m.profile, coalesce(m.profile_source = 'config', FALSE) AS is_inferred,
        nullif(m.anchor, '') AS anchor, m.anchor_role, m.blocks_per_layer,
        coalesce(m.num_layers, CAST(r.num_layers AS INTEGER)) AS num_layers,
        coalesce(m.num_layers <> r.num_layers, m.num_layers IS NOT NULL) AS is_given,
        TRY_CAST(r.compress_ratios AS INTEGER[]) AS compress_ratios, r.layer_types,
        r.attention_every, r.full_every, r.experts,
        coalesce(TRY_CAST(r.hash_layers AS INTEGER), 0) AS num_hash_layers
    FROM traces AS m
    LEFT JOIN _layer_rules AS r ON r.trace_id = m.trace_id
)
SELECT
    s.trace_id, s.profile, s.is_inferred, s.num_layers,
    s.is_given, s.anchor, s.anchor_role, s.blocks_per_layer, s.compress_ratios,
    CASE
        WHEN s.compress_ratios IS NOT NULL
            THEN [CASE WHEN r = 0 THEN 'FULL_ATTN' ELSE 'C' || r END FOR r IN s.compress_ratios]
        WHEN len(s.layer_types) > 0
            THEN [upper(replace(t, 'attention', 'attn')) FOR t IN s.layer_types]
        WHEN coalesce(s.attention_every, s.full_every) > 0 AND s.num_layers > 0
            THEN [
                CASE
                    WHEN n % coalesce(s.attention_every, s.full_every) = 0 THEN 'FULL_ATTN'
                    WHEN s.attention_every IS NOT NULL THEN 'LINEAR_ATTN'
                    ELSE 'SLIDING_ATTN'
                END
                FOR n IN range(1, s.num_layers + 1)
            ]
        WHEN s.experts IS NOT NULL AND s.num_layers > 0
            THEN [
                upper(config_mlp_kind(
                    n, s.experts.num_experts, s.experts.first_dense_layers, s.experts.step,
                    s.experts.offset, s.experts.dense_layers
                ))
                FOR n IN range(s.num_layers)
            ]
    END AS layer_labels,
    s.compress_ratios IS NULL AND coalesce(len(s.layer_types), 0) = 0
    AND coalesce(s.attention_every, s.full_every, 0) <= 0 AND s.experts IS NOT NULL AS is_mlp_only,
    s.num_hash_layers
FROM settings AS s;
