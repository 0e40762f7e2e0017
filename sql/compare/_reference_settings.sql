-- One row: what the reference analyser takes for a trace where its user does not say it. It knows
-- two profiles; for any other trace it takes the first of three names that four kernels contain.
--
-- `FROM _reference_settings(trace_id, anchor, layers, blocks per layer)`; NULL is not said.
--
-- trace_id          VARCHAR    trace
-- anchor            VARCHAR    text that an anchor's name contains, NULL when nothing is found
-- blocks_per_layer  INTEGER    anchors in one layer
-- num_layers        INTEGER    layers, as said or by the config; NULL when unknown
-- default_layers    INTEGER    layers of the profile's model, 1 without one
-- compress_ratios   INTEGER[]  ratio per layer, draft layers cut off, NULL when the length is wrong
-- num_hash_layers   INTEGER    layers with hash-routed experts, NULL or 0 for none
CREATE MACRO _reference_settings(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
WITH known(profile, anchor, blocks_per_layer, default_layers) AS (
    VALUES
        ('dsv4_csa_hca', 'mhc_post_tilelang', 2, 43),
        ('dsv3_mla', 'flash_fwd_mla_combine', 1, 61)
),
tried(place, anchor) AS (
    VALUES (1, 'mhc_post_tilelang'), (2, 'flash_fwd_mla_combine'), (3, 'AllReduce')
),
detected AS (
    SELECT t.place, t.anchor
    FROM events AS e
    JOIN tried AS t ON contains(e.name, t.anchor)
    WHERE e.trace_id = of_trace AND e.lane = 'device' AND e.category = 'kernel'
    GROUP BY t.place, t.anchor
    HAVING count(*) >= 4
),
said AS (
    SELECT
        trace_id, profile, nullif(anchor, '') AS anchor, blocks_per_layer, num_layers,
        CASE WHEN json_valid(config) THEN CAST(config AS JSON) END AS config
    FROM traces
    WHERE trace_id = of_trace
),
fields AS (
    SELECT
        trace_id, profile, anchor, blocks_per_layer, num_layers,
        TRY_CAST(config ->> 'num_hidden_layers' AS INTEGER) AS hidden_layers,
        coalesce(TRY_CAST(config ->> 'num_nextn_predict_layers' AS INTEGER), 0) AS draft_layers,
        TRY_CAST(config ->> 'num_hash_layers' AS INTEGER) AS num_hash_layers,
        TRY_CAST(config -> 'compress_ratios' AS INTEGER[]) AS ratios
    FROM said
)
SELECT
    f.trace_id,
    coalesce(
        nullif(CAST(of_anchor AS VARCHAR), ''), f.anchor, k.anchor,
        (SELECT arg_min(anchor, place) FROM detected)
    ) AS anchor,
    coalesce(CAST(of_blocks AS INTEGER), f.blocks_per_layer, k.blocks_per_layer, 1)
        AS blocks_per_layer,
    coalesce(nullif(CAST(of_layers AS INTEGER), 0), nullif(f.num_layers, 0)) AS num_layers,
    coalesce(k.default_layers, 1) AS default_layers,
    CASE
        WHEN f.hidden_layers IS NULL OR len(f.ratios) = f.hidden_layers THEN f.ratios
        WHEN len(f.ratios) = f.hidden_layers + f.draft_layers THEN f.ratios[1:f.hidden_layers]
    END AS compress_ratios,
    f.num_hash_layers
FROM fields AS f
LEFT JOIN known AS k ON k.profile = f.profile;
