-- One row: how the reference analyser divides a trace into passes, and how many it finds.
--
-- `FROM _reference_plan(trace_id, anchor, layers, blocks per layer)`; NULL is not said.
--
-- trace_id          VARCHAR    trace
-- anchor            VARCHAR    text that an anchor's name contains
-- blocks_per_layer  INTEGER    anchors in one layer
-- num_layers        BIGINT     layers: as said, by the config, by the rhythm, by the profile
-- compress_ratios   INTEGER[]  ratio per layer
-- num_hash_layers   INTEGER    layers with hash-routed experts
-- anchor_count      BIGINT     kernels whose name contains the anchor
-- pass_count        BIGINT     whole passes before the last anchor, -1 without anchors
CREATE MACRO _reference_plan(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
WITH settings AS (
    SELECT * FROM _reference_settings(of_trace, of_anchor, of_layers, of_blocks)
),
planned AS (
    SELECT
        trace_id, anchor, blocks_per_layer, compress_ratios, num_hash_layers,
        coalesce(
            num_layers,
            (
                SELECT p.num_layers
                FROM _reference_period(
                    of_trace, (SELECT anchor FROM settings), (SELECT blocks_per_layer FROM settings)
                ) AS p
            ),
            default_layers
        ) AS num_layers,
        (
            SELECT count(*) FILTER (is_anchor)
            FROM _reference_kernels(of_trace, (SELECT anchor FROM settings))
        ) AS anchor_count
    FROM settings
)
SELECT
    trace_id, anchor, blocks_per_layer, CAST(num_layers AS BIGINT) AS num_layers, compress_ratios,
    num_hash_layers, anchor_count,
    CAST(floor((anchor_count - 1) / (num_layers * blocks_per_layer)) AS BIGINT) AS pass_count
FROM planned;
