-- One row: what the reference analyser takes for a trace by default. It knows
-- two profiles; for any other trace it takes the first of three names that four kernels contain.
--
-- `FROM _compat_settings(trace_id, anchor, layers, blocks per layer)`; NULL is not given.
CREATE MACRO _compat_settings(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
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
given AS (
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
    FROM given
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

-- One row: how many layers the reference analyser reads from the rhythm of the blocks' durations.
--
-- `FROM _compat_period(trace_id, anchor, blocks per layer)`. Scores of longer periods have more
-- terms and are not divided by their number, so the longest period tends to win.
CREATE MACRO _compat_period(of_trace, of_anchor, of_blocks) AS TABLE
WITH blocks AS (
    SELECT block, CAST(sum(dur_ns) AS DOUBLE) AS dur_ns, count(*) OVER () AS block_count
    FROM _compat_kernels(of_trace, of_anchor)
    WHERE is_closed AND block BETWEEN 0 AND 199
    GROUP BY block
),
scores AS (
    SELECT
        b.block - a.block AS period,
        sum(least(a.dur_ns, b.dur_ns) / greatest(a.dur_ns, b.dur_ns))
            FILTER (least(a.dur_ns, b.dur_ns) > 0) AS score
    FROM blocks AS a
    JOIN blocks AS b ON b.block > a.block
    WHERE
        b.block - a.block BETWEEN of_blocks AND 119
        AND 2 * (b.block - a.block) <= a.block_count
        AND a.block < b.block - a.block
        AND a.block_count >= 4
    GROUP BY period
),
best AS (
    SELECT period, score FROM scores ORDER BY score DESC NULLS LAST, period LIMIT 1
)
SELECT
    (SELECT count(*) FROM blocks) AS block_count,
    (SELECT period FROM best WHERE score > 0.7 * period) // of_blocks AS num_layers;

-- One row: how the reference analyser divides a trace into passes, and how many it finds.
--
-- `FROM _compat_plan(trace_id, anchor, layers, blocks per layer)`; NULL is not given.
--
-- trace_id          VARCHAR    trace
-- anchor            VARCHAR    text that an anchor's name contains
-- blocks_per_layer  INTEGER    anchors in one layer
-- num_layers        BIGINT     layers: as given, by the config, by the rhythm, by the profile
-- compress_ratios   INTEGER[]  ratio per layer
-- num_hash_layers   INTEGER    layers with hash-routed experts
-- anchor_count      BIGINT     kernels whose name contains the anchor
-- pass_count        BIGINT     whole passes before the last anchor, -1 without anchors
CREATE MACRO _compat_plan(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
WITH settings AS (
    SELECT * FROM _compat_settings(of_trace, of_anchor, of_layers, of_blocks)
),
planned AS (
    SELECT
        trace_id, anchor, blocks_per_layer, compress_ratios, num_hash_layers,
        coalesce(
            num_layers,
            (
                SELECT p.num_layers
                FROM _compat_period(
                    of_trace, (SELECT anchor FROM settings), (SELECT blocks_per_layer FROM settings)
                ) AS p
            ),
            default_layers
        ) AS num_layers,
        (
            SELECT count(*) FILTER (is_anchor)
            FROM _compat_kernels(of_trace, (SELECT anchor FROM settings))
        ) AS anchor_count
    FROM settings
)
SELECT
    trace_id, anchor, blocks_per_layer, CAST(num_layers AS BIGINT) AS num_layers, compress_ratios,
    num_hash_layers, anchor_count,
    CAST(floor((anchor_count - 1) / (num_layers * blocks_per_layer)) AS BIGINT) AS pass_count
FROM planned;
